"""Command lines of `tacit` in documents and in strings of the source, compared with the command tree."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from tacit.cli import app
from tests.docs.pages import DOCS, ROOT

TREE: Any = typer.main.get_command(app)
SHORT = ("-o", "-q", "-h")
VALUE = "VALUE"
"""Stands for what an f-string inserts."""

_CALL = re.compile(r"(?<![\w./@:'\"-])tacit((?: [^\s`#;,()|\"]+)+)")
_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"`([^`]+)`")


def list_names(command: Any) -> set[str]:
    """The names of all commands and groups below a command."""
    below = getattr(command, "commands", {})
    return set(below) | {name for child in below.values() for name in list_names(child)}


NAMES = list_names(TREE)


def list_sources() -> list[Path]:
    """Files in which people or programs read command lines."""
    code = [ROOT / "src", ROOT / "papers" / "src", ROOT / "bench", ROOT / "examples"]
    files = [*DOCS, *(path for folder in code for path in folder.rglob("*.py"))]
    files += [*ROOT.glob("examples/*.toml"), *ROOT.glob("deploy/*"), ROOT / "Makefile"]
    return sorted(path for path in files if path.is_file())


def read_texts(path: Path) -> Iterator[str]:
    """The texts of a file: strings of a program, with their parts joined; else all of it."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        yield text
        return
    inside = set[int]()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.JoinedStr):
            inside |= {id(part) for part in node.values}
            yield "".join(
                str(part.value) if isinstance(part, ast.Constant) else VALUE for part in node.values
            )
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in inside
        ):
            yield node.value


def find_calls(text: str, *, is_page: bool) -> Iterator[tuple[list[str], bool]]:
    """The words after `tacit`, and whether they are certainly a command line: in a code span, or at
    the beginning of a line of a page.
    """
    for span in _SPAN.findall(_FENCE.sub("", text)):
        joined = " ".join(span.split())
        if joined.startswith("tacit "):
            yield from ((match[1].split(), True) for match in _CALL.finditer(joined))
    for line in text.splitlines():
        for match in _CALL.finditer(line):
            before = line[: match.start()].strip()
            yield match[1].split(), is_page and before in ("", "$", "#")


def find_fault(words: list[str], *, certain: bool) -> str:
    """What is wrong with a command line; empty if the command and its options exist."""
    command, path = TREE, "tacit"
    for place, word in enumerate(words):
        below, ends = getattr(command, "commands", None), word[-1] in ".:?!…"
        word = word.rstrip(".:?!…")
        if below is None:
            return _find_unknown_option(command, path, words[place:])
        if word in below:
            command, path = below[word], f"{path} {word}"
            if ends:
                return ""
        elif not certain and word not in NAMES and not word.startswith("-"):
            return ""  # prose, such as "tacit is installed"
        elif word.startswith("-"):
            alone = getattr(command, "alone", "")
            found = below[alone] if alone else command
            return _find_unknown_option(found, path, words[place:])
        else:
            return f"{path} has no command {word}"
    return ""


def _find_unknown_option(command: Any, path: str, words: list[str]) -> str:
    known = {
        one for parameter in command.params for one in (*parameter.opts, *parameter.secondary_opts)
    }
    for word in words:
        option = re.match(r"--[a-z][a-z-]*", word)
        if option and option[0] not in {*known, "--help", "--debug"}:
            return f"{path} has no option {option[0]}"
    return ""
