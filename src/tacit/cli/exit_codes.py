"""Exit codes: what a failed command prints on stderr, and the number that tells a script what happened."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Sequence

import click

from tacit.errors import TacitError

CODES = (
    "Exit codes: 0 ok, 1 a check failed, 2 bad plan, data or usage, 3 refused by policy, 4 budget exhausted, "
    "5 bad message or peer, 6 run missing or not readable, 70 internal error, 130 stopped."
)


EXTRAS = {"torch": "torch", "gensim": "text", "transformers": "text", "PIL": "image", "datasets": "hf"}
"""Packages only some jobs need, and the extra of Tacit that brings each."""


class Stopped(Exception):  # noqa: N818 - being stopped is no error
    """The user stopped a command; the message says what to do next."""

    exit_code = 130


class Missed(TacitError):  # noqa: N818 - nothing went wrong, a figure did
    """Everything ran, but a figure lies where it should not."""

    exit_code = 1


def without_debug(arguments: Sequence[str]) -> tuple[list[str], bool]:
    """Return the arguments without `--debug`, and whether it was there, before or after the command."""
    return [word for word in arguments if word != "--debug"], "--debug" in arguments


def exit_code_of(call: Callable[[], object], *, debug: bool) -> int:
    """Return the exit code of a call; whatever it raises becomes one paragraph on stderr."""
    try:
        code = call()
    except BrokenPipeError:
        # The reader of a pipe went away (`| head`): nothing went wrong here.
        sys.stderr.close()
        return 0
    except (Exception, KeyboardInterrupt) as error:
        if debug:
            traceback.print_exc()
        message, code = _explained(error)
        if message:
            print(message, file=sys.stderr)
    return code if isinstance(code, int) else 0


def _explained(error: BaseException) -> tuple[str, int]:
    if isinstance(error, TacitError | Stopped):
        return str(error), error.exit_code
    if isinstance(error, click.exceptions.Exit):
        return "", error.exit_code
    if isinstance(error, click.Abort | KeyboardInterrupt):
        return "stopped", Stopped.exit_code
    if isinstance(error, click.UsageError):
        where = error.ctx.command_path if error.ctx else "tacit"
        return f"{where}: {error.format_message()} `{where} --help` has examples.", error.exit_code
    if isinstance(error, click.ClickException):
        return error.format_message(), error.exit_code
    if isinstance(error, ModuleNotFoundError) and error.name in EXTRAS:
        return f"this needs the package {error.name}; pip install 'tacit[{EXTRAS[error.name]}]', or in a clone: make setup", 2
    reason = " ".join(str(error).split())
    return f"internal error: {type(error).__name__}: {reason}; run again with --debug", 70
