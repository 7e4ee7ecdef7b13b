"""Looking at plans and runs imports no code that a plan names: only training does."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.cli.made_up import tacit
from tests.simulation.small import write_csv

pytest.importorskip("torch")
Capture = pytest.CaptureFixture[str]

MODULE = """
import torch
from pathlib import Path

Path(__file__).with_name("imported").touch()


class Net(torch.nn.Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.out = torch.nn.Linear(inputs, outputs)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        return self.out(rows)
"""
PLAN = """
name = "foreign"
[data]
source = "r.csv"
clients = 4
columns = { text = ["opinion"], label = "stars" }
[features]
buckets = 50
[model]
name = "leaves_a_mark:Net"
[local]
batch = 16
[codec]
name = "plain"
[server]
rounds = 1
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "leaves_a_mark", raising=False)
    write_csv(tmp_path / "r.csv", rows=80)
    (tmp_path / "leaves_a_mark.py").write_text(MODULE)
    (tmp_path / "plan.toml").write_text(PLAN)
    return tmp_path


def test_only_training_imports_what_a_plan_names(capsys: Capture, here: Path) -> None:
    mark = here / "imported"
    assert tacit(capsys, "check", "plan.toml").code == 0
    assert not mark.exists(), "check imported it"
    done = tacit(capsys, "run", "plan.toml", "--quiet")
    assert done.code == 0, done.err
    assert mark.exists(), (
        "the mark is left when the module is imported, or this test could not fail"
    )
    mark.unlink()
    del sys.modules["leaves_a_mark"]
    looking = [
        ("runs",),
        ("runs", "show", "foreign-1"),
        ("runs", "privacy", "foreign-1"),
        ("runs", "compare", "foreign-1", "foreign-1"),
    ]
    for words in (*looking, ("resume", "foreign-1"), ("check", "runs/foreign-1/plan.toml")):
        said = tacit(capsys, *words)
        assert said.code == 0, said.err
        assert not mark.exists(), f"{words[0]} imported it"
        assert "leaves_a_mark" not in sys.modules
