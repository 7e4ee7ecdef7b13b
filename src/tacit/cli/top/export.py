"""tacit export: write a run's model in another format."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli import tables
from tacit.cli.folders import locate_run
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
        help="A new folder; RUN-FORMAT by default.",
        show_default=False,
    ),
]
TestRows = Annotated[
    str | None,
    typer.Option(
        "--test",
        metavar="FILE",
        help="Test rows to compare predictions on, instead of synthetic ones.",
        show_default=False,
    ),
]
Client = Annotated[
    str | None,
    typer.Option(
        "--client-id",
        metavar="ID",
        help="With [private]: the client whose model is exported, with its private part.",
        show_default=False,
    ),
]


def export(
    run: RunName,
    to: To,
    out: Out = None,
    test: TestRows = None,
    runs: Runs = RUNS,
    as_json: AsJson = False,
    allow_code: AllowCode = False,
    client: Client = None,
) -> None:
    """Export a run's model, its features and a model card.

    RUN is a name that `tacit runs` lists, or a folder.
    The model card states the privacy guarantee. The export is compared with
    the run's own model on 1,000 synthetic rows or on yours, and the largest
    difference between their probabilities is printed.

    \b
    Examples:
      tacit export my-1 --to onnx
      tacit export my-1 --to sklearn --out my-pipeline
      tacit export my-1 --to torch --test new.csv --json
    """
    from tacit.api import Run

    done = Run(locate_run(run, runs), allow_code=allow_code).export(
        to, out, rows=test, client=client
    )
    if as_json:
        tables.print_json(
            "export/1",
            {
                "folder": str(done.folder),
                "to": to,
                "largest_difference": done.difference,
                "rows": done.rows,
            },
        )
        return
    kind = "" if test else " synthetic"
    tables.say(
        f"largest difference from the probabilities of the run's model, on {done.rows:,}{kind}"
        f" rows: {done.difference:.1e}"
    )
    for path in sorted(done.folder.iterdir()):
        tables.line(str(path))
