"""Exit codes: what a failed command prints on stderr, and the number that tells a script what
happened.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import typer

from tacit.cli.tables import held_json, line, write_json
from tacit.errors import DiskError, TacitError

# Typer up to 0.20 raises the errors of Click, later ones raise their own copies; their base classes
# are not exported.
USAGE_ERROR: type[Any] = typer.BadParameter.__bases__[0]
SHOWN_ERROR: type[Any] = USAGE_ERROR.__bases__[0]

CODES = (
    "Exit codes: 0 ok, 1 a check failed, 2 bad plan, data or usage, 3 refused by policy, 4 budget"
    " exhausted, 5 bad message or peer, 6 run missing, damaged or not readable, 7 a disk, folder or"
    " file that fails, 70 internal error, 130 stopped."
)


EXTRAS = {
    "torch": "torch",
    "transformers": "text",
    "PIL": "image",
    "datasets": "hf",
    "mpyc": "negotiate",
    "flwr": "flower",
    "onnx": "onnx",
    "onnxruntime": "onnx",
    "fastexcel": "excel",
    "google": "flower",
    "httpx": "flower",
    "uvicorn": "flower",
}
"""Packages only some jobs need, and the extra of Tacit that brings each."""


REMEDIES = {
    errno.ENOSPC: "free some space",
    errno.EDQUOT: "free some space",
    errno.EROFS: "choose a place that can be written to",
    errno.EACCES: "check who may read and write it",
    errno.EPERM: "check who may read and write it",
    errno.ENOENT: "it was removed, or the path is wrong",
    errno.EIO: "check the disk",
    errno.EMFILE: "allow more open files (ulimit -n)",
}
"""What to do about the errors of the operating system that people meet most often."""


class Stopped(Exception):  # noqa: N818 - being stopped is no error
    """The user stopped a command; the message says what to do next."""

    exit_code = 130


class Missed(TacitError):  # noqa: N818 - nothing went wrong, a figure did
    """Everything ran, but a figure lies where it should not."""

    exit_code = 1


def without_debug(arguments: Sequence[str]) -> tuple[list[str], bool]:
    """Return the arguments without `--debug`, and whether it was there, before or after the
    command.
    """
    return [word for word in arguments if word != "--debug"], "--debug" in arguments


class Failure(NamedTuple):
    """What went wrong: a word for scripts, a paragraph for people, and the exit code."""

    kind: str
    message: str
    exit_code: int


def wants_json(arguments: Sequence[str]) -> bool:
    """Whether `--json` is among the options of a command line."""
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--json" in options


def exit_code_of(call: Callable[[], object], *, debug: bool, as_json: bool = False) -> int:
    """Return the exit code of a call; whatever it raises becomes one paragraph on stderr.

    With `as_json` stdout gets one JSON object also if the call fails: what the call printed, if
    anything, and `error`.
    """
    if not as_json:
        return _exit_code_of(call, debug=debug, held=None)
    with held_json() as held:
        return _exit_code_of(call, debug=debug, held=held)


def _exit_code_of(
    call: Callable[[], object], *, debug: bool, held: list[dict[str, Any]] | None
) -> int:
    try:
        code = call()
        if held:
            write_json(held.pop())
        # Here rather than at exit, so that a disk that is full is told like any other error.
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of a pipe went away (`| head`): nothing went wrong here.
        sys.stderr.close()
        return 0
    except SystemExit:
        raise
    except BaseException as error:  # what compiled libraries raise when they panic is no Exception
        if debug:
            line(traceback.format_exc(), stderr=True)
        failure = _explain_failure(error)
        if failure.message:
            line(failure.message, stderr=True)
        if held is not None and failure.exit_code:
            _print_failure(failure, held)
        _drop_unwritten()
        code = failure.exit_code
    return code if isinstance(code, int) else 0


def _print_failure(failure: Failure, held: list[dict[str, Any]]) -> None:
    """Print the object that a command has made, if it made one, with what went wrong as `error`."""
    made = held.pop() if held else {}
    with contextlib.suppress(OSError):  # stdout itself may be what failed
        write_json({**made, "error": failure._asdict()})


def _explain_failure(error: BaseException) -> Failure:
    if isinstance(error, TacitError | Stopped):
        return Failure(type(error).__name__, str(error), error.exit_code)
    if isinstance(error, typer.Exit):
        return Failure("Missed", "", error.exit_code)
    if isinstance(error, typer.Abort | KeyboardInterrupt):
        return Failure("Stopped", "stopped", Stopped.exit_code)
    if isinstance(error, USAGE_ERROR):
        where = error.ctx.command_path if error.ctx else "tacit"
        says = _setting_meant(error) or error.format_message()
        return Failure(
            "UsageError", f"{where}: {says} `{where} --help` has examples.", error.exit_code
        )
    if isinstance(error, SHOWN_ERROR):
        return Failure("UsageError", error.format_message(), error.exit_code)
    if isinstance(error, ModuleNotFoundError) and error.name in EXTRAS:
        needs = (
            f"this needs the package {error.name}; pip install 'tacit[{EXTRAS[error.name]}]', or in"
            " a clone: make setup"
        )
        return Failure("MissingPackage", needs, 2)
    if isinstance(error, OSError):
        return Failure(DiskError.__name__, _failed_file(error), DiskError.exit_code)
    # An error nobody foresaw may quote a cell of the data, so its own words are kept for those who
    # ask for them.
    where = f"{type(error).__name__} in {_place(error)}"
    return Failure(
        "InternalError", f"internal error: {where}; run again with --debug to see all of it", 70
    )


def _setting_meant(error: Any) -> str:
    """Return what to say of an option that does not exist if it is the name of a plan's setting;
    else nothing.
    """
    name = str(getattr(error, "option_name", ""))
    takes_settings = error.ctx is not None and any(
        "-o" in parameter.opts for parameter in error.ctx.command.params
    )
    if not name or not takes_settings:
        return ""
    from tacit.plan.key_hints import find_key

    key = find_key(name.lstrip("-").replace("-", "_"))
    return f"No such option {name!r}; it is a setting of the plan: -o {key}=VALUE." if key else ""


def _place(error: BaseException) -> str:
    """Return the file and line where an error was raised, in our own code if it passed
    through it.
    """
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if f"{os.sep}tacit{os.sep}" in frame.filename] or list(frames)
    return (
        f"{os.path.basename(ours[-1].filename)}, line {ours[-1].lineno}"
        if ours
        else "an unknown place"
    )


def _failed_file(error: OSError) -> str:
    """Return one sentence about a file or disk that failed: which, why, and what to do."""
    what = str(error.filename) if error.filename is not None else "a file"
    why = error.strerror or type(error).__name__
    remedy = REMEDIES.get(error.errno or 0, "check the disk and the path")
    return (
        f"{what}: cannot be read or written ({why}); {remedy}; a run that had begun goes on with"
        " `tacit resume RUN`"
    )


def _drop_unwritten() -> None:
    """Forget output that cannot be written, or the interpreter would try again when it exits and
    fail once more.
    """
    try:
        sys.stdout.flush()
    except OSError:
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
