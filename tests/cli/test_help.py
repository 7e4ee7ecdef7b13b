"""The help of every command says what its arguments are, with the names as they are written."""

from __future__ import annotations

import re
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import typer

from tacit.cli import app
from tacit.cli.help_text import build_command
from tests.cli import help_pages
from tests.cli.made_up import tacit

ROOT = Path(__file__).parents[2]
MAY_DIFFER = {
    "--out": {(False, "FILE"), (False, "DIR")},
}
"""Options whose value differs: `--out` names what a command writes, a file or a folder."""

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


def test_help_is_as_it_was_reviewed() -> None:
    pinned = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    for package in ("typer", "rich", "click"):
        if f"\n{package}=={version(package)}\n" not in pinned:
            pytest.skip(f"{package} {version(package)} draws help in its own way")
    written = help_pages.FILE.read_text(encoding="utf-8")
    assert help_pages.render_pages() == written, f"read the new help, then run: {help_pages.WRITE}"


def test_an_option_has_one_meaning_in_all_commands() -> None:
    kinds: dict[str, set[tuple[bool, str]]] = {}
    for words, command in SHOWN.items():
        for parameter in command.params if words else ():
            for option in parameter.opts if parameter.param_type_name == "option" else ():
                kinds.setdefault(option, set()).add(
                    (bool(parameter.is_flag), str(parameter.metavar or ""))
                )
    assert {option: found for option, found in kinds.items() if len(found) > 1} == MAY_DIFFER


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("show", "my-1"), "Did you mean `tacit runs show` or `tacit site ledger show`?"),
        (("site", "jion"), "Did you mean `tacit site join`?"),
        (("certs", "renew"), "Did you mean `tacit server certs`?"),
        (("deploy", "plan.toml"), "No such command 'plan.toml'. `tacit deploy --help`"),
    ],
    ids=" ".join,
)
def test_an_unknown_command_is_answered_with_the_nearest(
    words: tuple[str, ...], hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said = tacit(capsys, *words)
    assert said.code == 2
    assert hint in said.err


def test_a_group_alone_prints_its_commands(capsys: pytest.CaptureFixture[str]) -> None:
    said = tacit(capsys, "site")
    assert said.code == 2
    assert "Take part" in said.out
    assert said.err == ""
    assert tacit(capsys, "runs").code == 0
