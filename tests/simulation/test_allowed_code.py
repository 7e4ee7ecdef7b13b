"""A folder that names code: none of it runs unless the user allows it, and only if it is the code that was recorded."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from pathlib import Path

import polars as pl
import pytest

import tacit
from tacit import extensions, plan, simulation
from tacit.errors import PlanError, RunError
from tacit.extensions import Reference
from tacit.runs import run_folder
from tacit.runs.record import Round
from tests.cli import made_up
from tests.simulation.small import write_csv

pytest.importorskip("torch")
Capture = pytest.CaptureFixture[str]

CODE = """
import torch
from pathlib import Path

Path(__file__).with_name("ran").touch()


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
name = "a_foreign_net:Net"
[local]
batch = 16
[codec]
name = "plain"
[server]
rounds = 2
"""


@pytest.fixture
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of code on the path, a working folder with a finished run, and the class not yet imported."""
    folder, here = tmp_path / "code", tmp_path / "here"
    folder.mkdir()
    here.mkdir()
    (folder / "a_foreign_net.py").write_text(CODE)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.chdir(here)
    sys.modules.pop("a_foreign_net", None)
    write_csv(here / "r.csv", rows=80)
    (here / "plan.toml").write_text(PLAN)
    tacit.run("plan.toml", observer=tacit.Silence())
    forget(folder)
    return folder


def forget(code: Path) -> None:
    sys.modules.pop("a_foreign_net", None)
    (code / "ran").unlink()
    shutil.rmtree(code / "__pycache__", ignore_errors=True)


READERS = [
    ("predict", "foreign-1", "r.csv"),
    ("predict", "runs/foreign-1", "r.csv"),
    ("export", "foreign-1", "--to", "safetensors"),
    ("resume", "foreign-1"),
]


@pytest.mark.parametrize("words", READERS, ids=" ".join)
def test_a_command_runs_code_that_a_folder_names_only_if_it_is_allowed(
    capsys: Capture, code: Path, words: tuple[str, ...]
) -> None:
    if words[0] == "resume":
        stop_after_one_round(Path("runs/foreign-1"))
        forget(code)
    said = made_up.tacit(capsys, *words)
    assert said.code == 6
    assert not (code / "ran").exists()
    for part in (
        "a_foreign_net:Net",
        str(code / "a_foreign_net.py"),
        "--allow-code",
        "allow_code=True",
        "Nothing was run",
    ):
        assert part in said.err
    said = made_up.tacit(capsys, *words, "--allow-code")
    assert said.code == 0, said.err
    assert (code / "ran").exists(), "or this test could not fail"


def stop_after_one_round(folder: Path) -> None:
    """Replace a finished run by one that was stopped after its first round."""
    shutil.rmtree(folder)

    class Stop(simulation.Silence):
        def entry(self, entry: object) -> None:
            if isinstance(entry, Round):
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulation.start(plan.load(Path("plan.toml")), Path("runs"), Stop())


def test_python_runs_code_that_a_folder_names_only_if_it_is_allowed(code: Path) -> None:
    for reads in (
        tacit.load,
        lambda run: tacit.Run(run).predict("r.csv"),
        lambda run: tacit.Run(run).export("safetensors"),
    ):
        with pytest.raises(RunError, match=r"allow_code=True"):
            reads("foreign-1")
        assert not (code / "ran").exists()
    assert len(tacit.load("foreign-1", allow_code=True).predict("r.csv")) == 80
    assert len(tacit.Run("foreign-1", allow_code=True).predict("r.csv")) == 80


def test_an_export_names_its_code_and_runs_none(code: Path) -> None:
    tacit.Run("foreign-1", allow_code=True).export("safetensors", "given-away")
    forget(code)
    with pytest.raises(
        RunError, match=r"given-away.model\.json.*model.name names Python code, 'a_foreign_net:Net'"
    ):
        tacit.load("given-away")
    assert not (code / "ran").exists()


def test_the_run_that_a_plan_of_ones_own_makes_can_be_used_at_once(code: Path) -> None:
    assert len(tacit.run("plan.toml", observer=tacit.Silence()).predict("r.csv")) == 80


def test_code_that_changed_is_refused(capsys: Capture, code: Path) -> None:
    recorded = json.loads(Path("runs/foreign-1/model.json").read_text())["model"][
        "name"
    ].rpartition(":")[2]
    assert recorded == hashlib.sha256(CODE.encode()).hexdigest()
    assert plan.load(Path("runs/foreign-1/plan.toml")).model == plan.OwnModule(
        name=f"a_foreign_net:Net@sha256:{recorded}"
    )
    (code / "a_foreign_net.py").write_text(CODE + "# changed\n")
    said = made_up.tacit(capsys, "predict", "foreign-1", "r.csv", "--allow-code")
    assert said.code == 2
    assert "is not the one that was recorded" in said.err
    assert recorded[:16] in said.err
    assert not (code / "ran").exists(), "changed code ran"


def test_a_plan_may_pin_the_code_it_names(code: Path) -> None:
    pinned = PLAN.replace(':Net"', f':Net@sha256:{"0" * 64}"')
    Path("pinned.toml").write_text(pinned)
    with pytest.raises(PlanError, match="is not the one that was recorded"):
        tacit.run("pinned.toml", observer=tacit.Silence())
    assert not (code / "ran").exists()


def test_the_working_folder_is_not_searched(
    capsys: Capture, code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (code / "a_foreign_net.py").rename("a_foreign_net.py")
    monkeypatch.setattr(
        sys, "path", [place for place in sys.path if place not in ("", str(Path.cwd()))]
    )
    said = made_up.tacit(capsys, "predict", "foreign-1", "r.csv", "--allow-code")
    assert said.code == 2
    assert not Path("ran").exists()
    said = made_up.tacit(capsys, "predict", "foreign-1", "r.csv")
    assert "not installed here" in said.err


def test_finding_code_imports_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "a_noisy_package"
    package.mkdir()
    for name in ("__init__.py", "nets.py"):
        (package / name).write_text("raise AssertionError('it was imported')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    noisy = Reference("a_noisy_package.nets:Net")
    assert extensions.find_code(noisy) == package / "nets.py"
    assert (
        extensions.hash_code(noisy)
        == hashlib.sha256((package / "nets.py").read_bytes()).hexdigest()
    )
    for missing in (
        "a_noisy_package.none:Net",
        "a_noisy_package.nets.deeper:Net",
        "no_such_package.nets:Net",
    ):
        assert extensions.hash_code(Reference(missing)) == ""


def test_a_run_without_code_of_its_own_needs_no_permission(code: Path) -> None:
    text = PLAN.replace('name = "a_foreign_net:Net"', 'name = "logistic"')
    Path("plain.toml").write_text(text)
    run = tacit.run("plain.toml", observer=tacit.Silence())
    assert len(tacit.load(run.folder).predict(pl.read_csv("r.csv"))) == 80
    assert run_folder.read_plan(run.folder).model == plan.Logistic()
