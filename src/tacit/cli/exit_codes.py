"""Exit codes, and the message that a failed command prints on stderr."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import typer

from tacit.cli.tables import hold_json, line, write_json
from tacit.errors import DiskError, TacitError

# Typer up to 0.20 raises the errors of Click, later ones raise their own copies; their base classes
# are not exported.
USAGE_ERROR: type[Any] = typer.BadParameter.__bases__[0]
SHOWN_ERROR: type[Any] = USAGE_ERROR.__bases__[0]

MEANINGS = {
    0: ("ok", "Success."),
    1: (
        "a check failed",
        "The command ran, but a check failed: a claim does not hold, `tacit site doctor` or `tacit"
        " server doctor` found a problem, or a data set is not on this machine.",
    ),
    2: (
        "bad plan, data or usage",
        "A bad plan, bad data or wrong usage: unknown option, missing argument, missing package; or"
        " versions that cannot work together. Nothing was trained.",
    ),
    3: (
        "refused by policy",
        "A data owner's policy does not allow it, or too few sites of `tacit deploy run` allow it."
        " No data left the sites that refuse.",
    ),
    4: (
        "privacy budget exhausted",
        "A privacy budget is exhausted, or those of too many sites of `tacit deploy run`.",
    ),
    5: (
        "bad message or peer",
        "A message is malformed, must not be answered, the peer cannot be reached or authenticated,"
        " or a server does not allow a call in your role.",
    ),
    6: (
        "run missing, damaged or unreadable",
        "A run or a ledger is missing, damaged or unreadable, or too few sites of `tacit deploy"
        " run` respond for other reasons.",
    ),
    7: ("disk, folder or file error", "A disk, folder or file cannot be read or written."),
    70: (
        "internal error",
        "An internal error. `--debug` shows the traceback, which may quote data.",
    ),
    130: (
        "stopped",
        "Stopped by Ctrl-C. The message gives the command that continues the run: `tacit resume"
        " RUN`, or `tacit deploy run --resume RUN` with its options.",
    ),
}
"""Exit codes: what each means, in a few words for the help and in sentences for the documents."""
CODES = f"Exit codes: {', '.join(f'{code} {short}' for code, (short, _) in MEANINGS.items())}."
OTHER_KINDS = {
    "Missed": 1,
    "UsageError": 2,
    "MissingPackage": 2,
    "InternalError": 70,
    "Stopped": 130,
}
"""Kinds of failures under `--json` that are no class of `tacit.errors`, and their exit codes."""


EXTRAS = {
    "torch": "torch",
    "transformers": "text",
    "PIL": "image",
    "datasets": "hf",
    "mpyc": "negotiate",
    "flwr": "site",
    "onnx": "onnx",
    "onnxruntime": "onnx",
    "fastexcel": "excel",
    "google": "site",
    "httpx": "site",
    "prometheus_client": "metrics",
    "starlette": "ui",
    "tomlkit": "ui",
    "uvicorn": "server",
    "pyarrow": "arrow",
    "sklearn": "sklearn",
    "tensorboardX": "tensorboard",
    "mlflow": "mlflow",
    "wandb": "wandb",
    "ray": "cluster",
}
"""Optional packages, and the extra of Tacit that installs each."""


REMEDIES = {
    errno.ENOSPC: "free some space",
    errno.EDQUOT: "free some space",
    errno.EROFS: "choose a writable path",
    errno.EACCES: "check its permissions",
    errno.EPERM: "check its permissions",
    errno.ENOENT: "it was removed, or the path is wrong",
    errno.EIO: "check the disk",
    errno.EMFILE: "allow more open files (ulimit -n)",
}
"""Remedies for the most common errors of the operating system."""


class Stopped(Exception):  # noqa: N818 - being stopped is no error
    """The user stopped a command; the message says what to do next."""

    exit_code = 130


class Missed(TacitError):  # noqa: N818 - the command worked; its check failed
    """The command ran, but a check failed: a run, a claim, a comparison or a finding."""

    exit_code = 1


def remove_debug(arguments: Sequence[str]) -> tuple[list[str], bool]:
    """The arguments without `--debug`, and whether it was among them."""
    return [word for word in arguments if word != "--debug"], "--debug" in arguments


class Failure(NamedTuple):
    """A failed command: a word for scripts, a paragraph for people, and the exit code."""

    kind: str
    message: str
    exit_code: int


def wants_json(arguments: Sequence[str]) -> bool:
    """Whether a command line contains the option `--json`."""
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--json" in options


def run_command(call: Callable[[], object], *, debug: bool, as_json: bool = False) -> int:
    """Call a command and return its exit code; an exception becomes one paragraph on stderr.

    With `as_json` stdout gets one JSON object even if the call fails: the object that the call
    printed, if any, with `error` added.
    """
    if not as_json:
        return _run_command(call, debug=debug, collected=None)
    with hold_json() as collected:
        return _run_command(call, debug=debug, collected=collected)


def _run_command(
    call: Callable[[], object], *, debug: bool, collected: list[dict[str, Any]] | None
) -> int:
    try:
        code = call()
        if collected:
            write_json(collected.pop())
        # Flush here rather than at exit, so that a full disk is reported like any other error.
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of a pipe went away (`| head`): nothing went wrong here.
        sys.stderr.close()
        return 0
    except SystemExit:
        raise
    except BaseException as error:  # panics of compiled libraries are not Exceptions
        if debug:
            line(traceback.format_exc(), stderr=True)
        failure = _explain_failure(error)
        if failure.message:
            line(failure.message, stderr=True)
        if collected is not None and failure.exit_code:
            _print_failure(failure, collected)
        _discard_unwritten()
        code = failure.exit_code
    return code if isinstance(code, int) else 0


def _print_failure(failure: Failure, collected: list[dict[str, Any]]) -> None:
    """Print the command's JSON object, if there is one, with the failure as `error`."""
    made = collected.pop() if collected else {"schema": "tacit/error/1"}
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
        message = _suggest_setting(error) or error.format_message()
        return Failure(
            "UsageError", f"{where}: {message} `{where} --help` has examples.", error.exit_code
        )
    if isinstance(error, SHOWN_ERROR):
        return Failure("UsageError", error.format_message(), error.exit_code)
    if isinstance(error, ModuleNotFoundError) and error.name in EXTRAS:
        message = (
            f"the package {error.name} is missing; pip install 'tacit[{EXTRAS[error.name]}]', or in"
            " a clone: make setup"
        )
        return Failure("MissingPackage", message, 2)
    if isinstance(error, OSError):
        return Failure(DiskError.__name__, _explain_os_error(error), DiskError.exit_code)
    # The message of an unforeseen error may quote a cell of data, so it is shown only on request.
    where = f"{type(error).__name__} in {_find_place(error)}"
    return Failure(
        "InternalError", f"internal error: {where}; repeat with --debug for the traceback", 70
    )


def _suggest_setting(error: Any) -> str:
    """A hint if an unknown option has the name of a plan setting; else an empty string."""
    name = str(getattr(error, "option_name", ""))
    takes_settings = error.ctx is not None and any(
        "-o" in parameter.opts for parameter in error.ctx.command.params
    )
    if not name or not takes_settings:
        return ""
    from tacit.plan.key_hints import find_key

    key = find_key(name.lstrip("-").replace("-", "_"))
    return f"No such option {name!r}; it is a setting of the plan: -o {key}=VALUE." if key else ""


def _find_place(error: BaseException) -> str:
    """File and line where an error was raised, in Tacit's own code if possible."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if f"{os.sep}tacit{os.sep}" in frame.filename] or list(frames)
    return (
        f"{os.path.basename(ours[-1].filename)}, line {ours[-1].lineno}"
        if ours
        else "an unknown place"
    )


def _explain_os_error(error: OSError) -> str:
    """One sentence about a file or disk error: which file, why, and what to do."""
    what = str(error.filename) if error.filename is not None else "a file"
    why = error.strerror or type(error).__name__
    remedy = REMEDIES.get(error.errno or 0, "check the disk and the path")
    return (
        f"{what} cannot be read or written ({why}); {remedy}; `tacit resume RUN` continues a run"
        " that had started, `tacit deploy run --resume RUN` one between sites"
    )


def _discard_unwritten() -> None:
    """Discard output that cannot be written; the interpreter would fail on it again at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
