"""Parse, call, print; no arithmetic. Everything heavy is loaded by the command that needs it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from tacit.cli import advising, auditing, disclosing, papers, planning, reading, running, sets
from tacit.cli.endings import CODES, ending, without_debug

app = typer.Typer(
    name="tacit",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=CODES,
)
data = typer.Typer(no_args_is_help=True, rich_markup_mode="rich", help="Data sets known by name: list them, get them, find them.")
app.add_typer(data, name="data", epilog="Example: tacit data get newsgroups20")
audit = typer.Typer(
    no_args_is_help=True, rich_markup_mode="rich", help="What an attacker gets: reconstruct texts from what is sent."
)
app.add_typer(audit, name="audit", epilog="Example: tacit audit reconstruct examples/fedvocab.toml --page audit.html")

for command in (
    running.run,
    planning.check,
    planning.init,
    running.resume,
    reading.runs,
    reading.show,
    reading.compare,
    reading.privacy,
    advising.advise,
    disclosing.disclose,
    papers.reproduce,
):
    app.command()(command)
data.command("list")(sets.list_sets)
data.command("get")(sets.get_set)
data.command("where")(sets.where_set)
audit.command("reconstruct")(auditing.reconstruct)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"tacit {version('tacit')}")
        raise typer.Exit


@app.callback()
def tacit(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="On an error show the traceback too; before or after the command.")
    ] = False,
) -> None:
    """Train models on data that stays with the people it is about, and say exactly what was promised to them.

    \b
    Examples:
      tacit init                      write a plan to start from
      tacit init --from my.csv        write a plan for a table of your own
      tacit check plan.toml           say whether it can run, without reading data
      tacit run plan.toml             train, and write a report
      tacit privacy newsgroups-1      what the people in the data were promised
    """


def execute(arguments: Sequence[str]) -> int:
    """Return the exit code of one command line."""
    words, debug = without_debug(arguments)
    command = typer.main.get_command(app)
    return ending(
        lambda: command.main(args=words, prog_name="tacit", standalone_mode=False), debug=debug or "TACIT_DEBUG" in os.environ
    )


def main() -> None:
    """Run the command line and leave with its exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character shows a stand-in; that is no reason to fail.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    sys.exit(execute(sys.argv[1:]))
