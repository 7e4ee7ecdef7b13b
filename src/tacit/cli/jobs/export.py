"""tacit export: a run's model in the formats of others."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli import tables
from tacit.cli.folders import folder_of
from tacit.cli.options import RUNS, AllowCode, AsJson, RunName, Runs

To = Annotated[
    str,
    typer.Option(
        "--to",
        metavar="FORMAT",
        help="safetensors, onnx, torch, sklearn or hub.",
        show_default=False,
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="DIR",
        help="A new folder; RUN-FORMAT if none is named.",
        show_default=False,
    ),
]
TriedOn = Annotated[
    str | None,
    typer.Option(
        "--rows",
        metavar="FILE",
        help="Try it on these rows instead of made-up ones.",
        show_default=False,
    ),
]


def export(
    run: RunName,
    to: To,
    out: Out = None,
    rows: TriedOn = None,
    runs: Runs = RUNS,
    as_json: AsJson = False,
    allow_code: AllowCode = False,
) -> None:
    """Write a run's model in another format, with its features inside, and a card that says what
    was promised.

    RUN is a name that `tacit runs` lists, or a folder.
    The export is tried beside the run's own model, on 1,000 made-up rows or on
    your own, and the largest difference of a probability is printed.

    \b
    Examples:
      tacit export my-1 --to onnx
      tacit export my-1 --to sklearn --out my-pipeline
      tacit export my-1 --to torch --rows new.csv --json
    """
    from tacit.api import Run

    done = Run(folder_of(run, runs), allow_code=allow_code).export(to, out, rows=rows)
    if as_json:
        tables.print_json(
            {
                "folder": str(done.folder),
                "to": to,
                "largest_difference": done.difference,
                "rows": done.rows,
            }
        )
        return
    whose = "" if rows else " made-up"
    tables.say(
        f"largest difference of a probability to the run's, on {done.rows:,}{whose} rows:"
        f" {done.difference:.1e}"
    )
    for path in sorted(done.folder.iterdir()):
        tables.line(str(path))
