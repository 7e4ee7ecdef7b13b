"""tacit check: what it reads of a file, and what it refuses or warns of before a run would."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.made_up import tacit

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table of 100 rows of which 40 have no label, and the plan that `init` writes for it."""
    monkeypatch.chdir(tmp_path)
    rows = [f"{k % 7},{k % 5},{'' if k % 5 < 2 else 'yes' if k % 2 else 'no'}" for k in range(100)]
    (tmp_path / "my.csv").write_text("\n".join(["a,b,label", *rows]) + "\n")
    return tmp_path


def test_the_plan_of_init_has_the_clients_there_can_be(capsys: Capture) -> None:
    assert tacit(capsys, "init", "--from", "my.csv").code == 0
    said = tacit(capsys, "check", "plan.toml", "-o", "baselines=[]")
    assert said.code == 0
    assert "48 clients" in said.out
    assert "48 train and 12 test rows" in said.out


def test_more_clients_than_rows_are_refused_with_the_number_that_fits(capsys: Capture) -> None:
    tacit(capsys, "init", "--from", "my.csv")
    said = tacit(capsys, "check", "plan.toml", "-o", "data.clients=80")
    assert said.code == 2
    assert "data.clients = 80 is too many" in said.err
    assert "set data.clients to 48 or less" in said.err
    assert "40 rows without a label were dropped" in said.err
    assert (
        tacit(capsys, "run", "plan.toml", "-o", "data.clients=80", "--quiet").err.strip()
        == said.err.strip()
    )


def test_without_data_the_plan_alone_is_checked(capsys: Capture, here: Path) -> None:
    tacit(capsys, "init", "--from", "my.csv")
    assert tacit(capsys, "check", "plan.toml", "-o", "data.clients=80", "--no-data").code == 0
    (here / "my.csv").unlink()
    said = tacit(capsys, "check", "plan.toml")
    assert said.code == 0
    assert "not read: the file is not on this machine" in said.out


def test_too_few_people_are_said_before_a_run(capsys: Capture) -> None:
    tacit(capsys, "init", "--from", "my.csv")
    assert "too few" not in tacit(capsys, "check", "plan.toml").out
    said = json.loads(
        tacit(capsys, "check", "plan.toml", "-o", "privacy.epsilon=0.1", "--json").out
    )
    assert "48 clients are too few for epsilon 0.1 per run" in said["summary"]["warning"]
