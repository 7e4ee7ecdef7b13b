"""Under --json every command prints one JSON object, also if it fails; exit codes are those the documents list."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tacit import errors
from tacit.cli import app, execute
from tacit.cli.exit_codes import CODES, run_command
from tacit.cli.help_text import build_command
from tests.cli.made_up import LENIENT, PEOPLE, tacit

Capture = pytest.CaptureFixture[str]
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "exit-codes.md"


def leaves(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command that does something, with the words that call it."""
    below = getattr(command, "commands", {})
    if not below or getattr(command, "invoke_without_command", False):
        yield words, command
    for name, child in below.items():
        yield from leaves(child, (*words, name))


COMMANDS = {" ".join(words): command for words, command in leaves(build_command(app)) if words}
WITH_JSON = [
    words
    for words, command in COMMANDS.items()
    if any("--json" in one.opts for one in command.params)
]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def wrong_arguments(words: str) -> list[str]:
    """Arguments that name what is not there, one for each that a command needs."""
    needed = [one for one in COMMANDS[words].params if one.required]
    given = [
        word
        for one in needed
        for word in ([] if one.param_type_name == "argument" else [one.opts[0]]) + ["missing"]
    ]
    return given or ["--nonsense"]


def test_most_commands_take_json() -> None:
    assert len(WITH_JSON) >= 20


@pytest.mark.parametrize("words", WITH_JSON)
def test_a_command_that_fails_prints_one_object_with_the_error(words: str, capsys: Capture) -> None:
    said = tacit(capsys, *words.split(), *wrong_arguments(words), "--json")
    # A doctor's check fails, and its exit code 1 is what a container's health check reads.
    assert said.code in ((1,) if words == "site doctor" else (2, 6))
    error = json.loads(said.out)["error"]
    assert error["exit_code"] == said.code
    assert error["kind"] in (
        "PlanError",
        "DataError",
        "RunError",
        "PolicyError",
        "LedgerError",
        "UsageError",
        *(["Missed"] if words == "site doctor" else []),
    )
    assert error["message"].strip() == said.err.strip()


@pytest.mark.parametrize("words", COMMANDS)
def test_a_usage_error_has_exit_code_2(words: str, capsys: Capture) -> None:
    said = tacit(capsys, *words.split(), "--nonsense")
    assert said.code == 2
    assert said.out == ""
    assert "No such option" in said.err


def test_what_a_command_found_stays_beside_the_error(capsys: Capture, tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(PEOPLE)
    (tmp_path / "policy.toml").write_text(LENIENT)
    said = tacit(capsys, "site", "policy", "check", "policy.toml", "plan.toml", "--json")
    found = json.loads(said.out)
    assert said.code == found["error"]["exit_code"] == 3
    assert found["error"]["kind"] == "PolicyError"
    assert found["refusals"]


def test_an_error_nobody_foresaw_is_an_object_that_quotes_nothing(capsys: Capture) -> None:
    def fail() -> None:
        raise KeyError("a cell of the data")

    assert run_command(fail, debug=False, as_json=True) == 70
    said = capsys.readouterr()
    assert json.loads(said.out)["error"]["kind"] == "InternalError"
    assert "a cell" not in said.out + said.err


def test_help_under_json_is_no_error(capsys: Capture) -> None:
    assert execute(["check", "--json", "--help"]) == 0
    assert "error" not in capsys.readouterr().out


def test_every_exit_code_and_kind_is_documented() -> None:
    listed = {
        int(code): row
        for code, row in re.findall(
            r"^\| (\d+) \|(.*)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE
        )
    }
    in_help = {int(code) for code in re.findall(r"(\d+) [a-z]", CODES)}
    assert set(listed) == in_help
    kinds = [
        kind
        for _, kind in inspect.getmembers(errors, inspect.isclass)
        if kind is not errors.TacitError
    ]
    for kind in kinds:
        assert f"`{kind.__name__}`" in listed[kind.exit_code]
