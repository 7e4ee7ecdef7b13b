"""The report on mutants: what is counted, what is not and why, and when the bar is missed."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from tests import mutants

MADE = """
def x_f__mutmut_orig(a):
    if a > 1:
        raise ValueError(f"{a} is too large")
    return run("SELECT 1 FROM t", a)
def x_f__mutmut_1(a):
    if a >= 1:
        raise ValueError(f"{a} is too large")
    return run("SELECT 1 FROM t", a)
def x_f__mutmut_2(a):
    if a > 1:
        raise ValueError(None)
    return run("SELECT 1 FROM t", a)
def x_f__mutmut_3(a):
    if a > 1:
        raise ValueError(f"{a} is too large")
    return run("select 1 from t", a)
def x_f__mutmut_4(a):
    if a > 1:
        raise ValueError(f"{a} is too large")
    return run("XXSELECT 1 FROM tXX", a)
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A group's folder as mutmut leaves it."""
    source = tmp_path / "mutants" / "src" / "tacit" / "protocol" / "messages" / "made.py"
    source.parent.mkdir(parents=True)
    source.write_text(MADE, encoding="utf-8")
    codes = {
        f"tacit.protocol.messages.made.x_f__mutmut_{number}": code
        for number, code in enumerate((0, 1, 0, 36), 1)
    }
    source.with_name("made.py.meta").write_text(
        json.dumps({"exit_code_by_key": codes}), encoding="utf-8"
    )
    return tmp_path


def name(number: int) -> str:
    return f"tacit.protocol.messages.made.x_f__mutmut_{number}"


def test_how_mutants_ended(place: Path) -> None:
    assert mutants.states(place) == {
        name(1): "alive",
        name(2): "killed",
        name(3): "alive",
        name(4): "timeout",
    }
    assert mutants.changes_of(place) == {name(2): "message text", name(3): "equivalent"}


def test_message_text_and_equivalent_ones_are_not_counted(place: Path) -> None:
    found, changes = mutants.states(place), mutants.changes_of(place)
    text, reached = mutants.report(found, changes, {})
    line = next(line for line in text.splitlines() if line.startswith("protocol.messages.made"))
    assert line.split() == ["protocol.messages.made", "0", "1", "1", "1", "1", "0", "50.0%"]
    assert text.splitlines()[-1] == f"  {name(1)}"
    assert not reached
    text, reached = mutants.report(
        found, changes, {"tacit.protocol.messages.made.x_f__mutmut_[1]": "because"}
    )
    assert reached
    assert "alive, without" not in text


def test_a_mutant_that_was_not_run_misses_the_bar(place: Path) -> None:
    found = {**mutants.states(place), name(1): "not run"}
    assert not mutants.report(found, mutants.changes_of(place), {})[1]


def test_the_groups_name_files_that_exist() -> None:
    settings = tomllib.loads((mutants.ROOT / "tests" / "mutants.toml").read_text(encoding="utf-8"))
    for group in settings["groups"].values():
        for path in group["mutate"]:
            assert list((mutants.ROOT / "src" / "tacit").glob(path)), path
        for path in group["tests"]:
            assert (mutants.ROOT / path.partition("::")[0]).exists(), path
    assert all(settings["equivalent"].values())
