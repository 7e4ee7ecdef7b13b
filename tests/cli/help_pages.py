"""The help of every command at 80 columns, one file: `python -m tests.cli.help_pages` writes it."""

from __future__ import annotations

import contextlib
import io
import os
from pathlib import Path
from typing import Any
from unittest import mock

from tacit.cli import app, execute
from tacit.cli.help_text import build_command

FILE = Path(__file__).with_name("help.txt")
WRITE = "python -m tests.cli.help_pages"


def list_commands(command: Any, *words: str) -> list[tuple[str, ...]]:
    """The words of a command and of all commands below it, in the order of the help."""
    inner = getattr(command, "commands", {})
    names = command.list_commands(None) if inner else []
    return [words, *(found for name in names for found in list_commands(inner[name], *words, name))]


def render_pages() -> str:
    """The help of all commands, each below a line with its name."""
    narrow = {"COLUMNS": "80", "TERMINAL_WIDTH": "80", "NO_COLOR": "1", "TERM": "dumb"}
    pages = []
    with mock.patch.dict(os.environ, narrow):
        for words in list_commands(build_command(app)):
            shown = io.StringIO()
            with contextlib.redirect_stdout(shown):
                execute([*words, "--help"])
            lines = (line.rstrip() for line in shown.getvalue().strip("\n").splitlines())
            pages.append("\n".join([f"$ {' '.join(['tacit', *words])} --help", *lines]).rstrip())
    return "\n\n".join(pages) + "\n"


if __name__ == "__main__":
    FILE.write_text(render_pages(), encoding="utf-8")
