"""The command line: parse, call, print. Each command imports what it needs, so startup is fast."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from tacit.cli import tables
from tacit.cli.exit_codes import CODES, remove_debug, run_command, wants_json
from tacit.cli.help_text import build_command
from tacit.cli.tree import TREE, build_app

app = build_app(
    TREE,
    name="tacit",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=CODES,
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        tables.line(f"tacit {version('tacit')}")
        raise typer.Exit


@app.callback()
def tacit(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
    debug: Annotated[
        bool,
        typer.Option(
            "--debug", help="Show the traceback of an error; may stand before or after the command."
        ),
    ] = False,
) -> None:
    """Federated learning with a privacy guarantee for each person whose data is used.

    \b
    Examples:
      tacit init                      write an example plan
      tacit init --from my.csv        write a plan for your own table
      tacit check plan.toml           check a plan and state its privacy guarantee
      tacit run plan.toml             train a model and write a report
      tacit predict my-1 new.csv      predict new rows with a trained model
      tacit runs privacy my-1         state the privacy guarantee of a run
    """


def execute(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    words, debug = remove_debug(arguments)
    command = build_command(app)
    return run_command(
        lambda: command.main(args=words, prog_name="tacit", standalone_mode=False),
        debug=debug or "TACIT_DEBUG" in os.environ,
        as_json=wants_json(words),
    )


def main() -> None:
    """Run the command line of this process and exit with its code."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character shows a replacement instead of failing.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    sys.exit(execute(sys.argv[1:]))
