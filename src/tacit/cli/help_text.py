"""Build the command line with complete help under every supported version of Typer.

Two things would get lost otherwise. Typer 0.20 with Click 8.5 drops the help of positional
arguments. Rich reads `[secure_aggregation]` as markup and prints nothing in its place.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, get_type_hints

import typer
from rich.markup import escape


def build_command(app: typer.Typer) -> Any:
    """Build the command tree of `app`, with the help of every argument and with literal brackets."""
    command = typer.main.get_command(app)
    _complete(command, render_markup=bool(typer.core.HAS_RICH))
    return command


def _complete(command: Any, *, render_markup: bool) -> None:
    """Complete the help of a command and of its subcommands, in place."""
    helps = _argument_helps(command.callback)
    for parameter in command.params:
        parameter.help = getattr(parameter, "help", None) or helps.get(parameter.name)
    if render_markup:
        for described in (command, *command.params):
            for field in ("help", "short_help", "epilog"):
                if text := getattr(described, field, None):
                    setattr(described, field, escape(text))
    for child in getattr(command, "commands", {}).values():
        _complete(child, render_markup=render_markup)


def _argument_helps(callback: Callable[..., Any] | None) -> dict[str, str]:
    """Help of each positional argument, by parameter name, from a function's annotations."""
    if callback is None:
        return {}
    hints = get_type_hints(inspect.unwrap(callback), include_extras=True)
    return {
        name: note.help
        for name, hint in hints.items()
        for note in getattr(hint, "__metadata__", ())
        if isinstance(note, typer.models.ArgumentInfo) and note.help
    }
