"""The help of every command says what its arguments are, with the names as they are written."""

from __future__ import annotations

import re
from typing import Any

import pytest
import typer

from tacit.cli import app
from tacit.cli.help_text import build_command
from tests.cli.made_up import tacit

NAMES = re.compile(r"\[[a-z][a-z_.]*\]")


def tree(command: Any, *words: str) -> list[tuple[tuple[str, ...], Any]]:
    """Return a command and all commands below it, each with the words that call it."""
    inner = getattr(command, "commands", {})
    return [
        (words, command),
        *(found for name, child in inner.items() for found in tree(child, *words, name)),
    ]


WRITTEN = dict(tree(typer.main.get_command(app)))
"""The commands with their texts as they stand in the source."""

SHOWN = dict(tree(build_command(app)))


def on_screen(capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> str:
    said = tacit(capsys, *words, "--help")
    assert said.code == 0
    assert max(len(line) for line in said.out.splitlines()) <= 80
    return " ".join(re.sub("[│╭╮╰╯─]", " ", said.out).split())


@pytest.fixture(autouse=True)
def eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERMINAL_WIDTH", "80")
    monkeypatch.setenv("NO_COLOR", "1")


@pytest.mark.parametrize("words", list(SHOWN), ids=" ".join)
def test_help_says_what_every_positional_argument_is(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    page = on_screen(capsys, words)
    for parameter in SHOWN[words].params:
        if parameter.param_type_name == "argument":
            assert parameter.help, f"the argument {parameter.name} has no help"
            assert " ".join(parameter.help.split()) in page


@pytest.mark.parametrize("words", list(WRITTEN), ids=" ".join)
def test_help_keeps_names_in_brackets(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    page = on_screen(capsys, words)
    command = WRITTEN[words]
    for text in (
        command.help,
        command.epilog,
        *(getattr(parameter, "help", None) for parameter in command.params),
    ):
        for name in NAMES.findall(text or ""):
            assert name in page
    assert "\\[" not in page


def test_a_table_of_the_plan_is_named_in_the_help_of_deploy(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert "[secure_aggregation]" in on_screen(capsys, ("deploy", "run"))


@pytest.mark.parametrize(
    "words",
    [
        ("predict", "--nosuch"),
        ("nosuch",),
        ("predict",),
        ("plan", "tune", "plan.toml", "--jobs", "many"),
    ],
    ids=" ".join,
)
def test_a_usage_error_has_exit_code_2(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    said = tacit(capsys, *words)
    assert said.code == 2
    assert "--help` has examples" in said.err
    assert "internal error" not in said.err
