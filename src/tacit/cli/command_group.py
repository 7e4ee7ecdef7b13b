"""A group of commands: its order in the help, its own command, and hints for unknown commands."""

from __future__ import annotations

import difflib
from typing import Any

import typer

from tacit.cli import tables
from tacit.cli.exit_codes import USAGE_ERROR

_MOST_HINTS = 3


class CommandGroup(typer.core.TyperGroup):
    """A group that lists its commands in a fixed order and names the nearest of unknown ones."""

    order: tuple[str, ...] = ()
    alone = ""
    """The command that is called if none is given; empty to print the help."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of the commands in their order."""
        return [name for name in self.order if name in self.commands]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Call the group's own command if none is given; without one, print the help, exit code 2."""
        if self.alone and (not args or args[0].startswith("-")) and not _asks_help(ctx, args):
            args = [self.alone, *args]
        elif not args:
            if text := ctx.get_help():  # empty if Rich has printed it
                tables.line(text)
            raise typer.Exit(USAGE_ERROR.exit_code)
        return list(super().parse_args(ctx, args))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find a command; a usage error for an unknown one names the nearest in the whole tree."""
        if self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            raise USAGE_ERROR(f"No such command '{args[0]}'.{_hint(self, args[0], ctx)}", ctx=ctx)
        return super().resolve_command(ctx, args)


def _asks_help(ctx: Any, args: list[str]) -> bool:
    return any(word in ctx.help_option_names for word in args[:1])


def _hint(group: Any, word: str, ctx: Any) -> str:
    """Name the nearest commands: those of the same name, near ones here, near ones elsewhere."""
    here = ctx.command_path
    everywhere = sorted(_list_paths(ctx.find_root().command, "tacit"), key=len)
    below = [f"{here} {name}" for name in group.commands]
    found = [path for path in everywhere if path.split()[-1] == word]
    found += _find_near(word, below) or (
        [] if found or "." in word else _find_near(word, everywhere)
    )
    named = [f"`{path}`" for path in dict.fromkeys(found)][:_MOST_HINTS]
    return f" Did you mean {' or '.join(named)}?" if named else ""


def _list_paths(command: Any, path: str) -> list[str]:
    """The full names of all commands and groups below a command."""
    return [
        found
        for name, child in getattr(command, "commands", {}).items()
        for found in (f"{path} {name}", *_list_paths(child, f"{path} {name}"))
    ]


def _find_near(word: str, paths: list[str]) -> list[str]:
    """The paths whose last word is near a word, nearest first."""
    names = {path.split()[-1] for path in paths}
    near = difflib.get_close_matches(word, sorted(names), n=_MOST_HINTS)
    return [path for name in near for path in paths if path.split()[-1] == name]
