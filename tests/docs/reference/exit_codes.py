"""The page of exit codes, written from the errors and the command line."""

from __future__ import annotations

import inspect

from tacit import errors
from tacit.cli.exit_codes import MEANINGS, OTHER_KINDS

HEAD = """\
# Exit codes

Every command ends with one of these codes. A failed command prints one paragraph on stderr: what is wrong, then what to do.
Under `--json` the output has an `error` with the kind and the code ([JSON outputs](json/index.md)).

| code | meaning | `error.kind` under `--json` |
| --- | --- | --- |
"""
TAIL = """
In Python the same errors are exceptions, all subclasses of `tacit.TacitError` ([errors](python/errors.md)).
"""


def write_pages() -> dict[str, str]:
    """The page by its file name."""
    rows = [
        f"| {code} | {sentences} | {', '.join(f'`{kind}`' for kind in list_kinds(code)) or '–'} |\n"
        for code, (_, sentences) in MEANINGS.items()
    ]
    return {"exit-codes.md": HEAD + "".join(rows) + TAIL}


def list_kinds(code: int) -> list[str]:
    """Kinds of failures that end with an exit code."""
    classes = [kind for _, kind in inspect.getmembers(errors, inspect.isclass)]
    ours = [
        kind.__name__
        for kind in classes
        if kind is not errors.TacitError and kind.exit_code == code
    ]
    return ours + [kind for kind, other in OTHER_KINDS.items() if other == code]
