"""tacit export-metrics: write the figures of a run's record for another program."""

from __future__ import annotations

from typing import Annotated

import typer

from tacit.cli import tables
from tacit.cli.folders import locate_run
from tacit.cli.options import RUNS, AsJson, RunName, Runs

To = Annotated[
    str,
    typer.Option(
        "--to",
        metavar="FORMAT",
        help="tensorboard, mlflow, wandb, csv or parquet.",
        show_default=False,
    ),
]
Place = Annotated[
    str | None,
    typer.Option(
        "--out",
        metavar="FILE",
        help="A folder, a file, or the URI of an MLflow server; RUN-FORMAT by default.",
        show_default=False,
    ),
]


def export_metrics(
    run: RunName, to: To, out: Place = None, runs: Runs = RUNS, as_json: AsJson = False
) -> None:
    """Write the figures of a run's record for another program.

    RUN is a name that `tacit runs` lists, or a folder.
    The same figures as with `tacit run --log`: metrics by round and arm,
    privacy loss, bytes, refusals, settings, the hash of the model. Only the
    record is read. Entries that a resumed run repeated count once.

    \b
    Examples:
      tacit export-metrics my-1 --to csv
      tacit export-metrics my-1 --to tensorboard --out logs
      tacit export-metrics my-1 --to mlflow --out http://127.0.0.1:5000
    """
    from tacit import tracking

    folder = locate_run(run, runs)
    kind = tracking.parse_kind(to)
    place = out or tracking.name_default_place(kind, folder)
    figures = tracking.export_metrics(folder, tracking.TrackerTarget(kind=kind, place=place))
    if as_json:
        tables.print_json("metrics-export/1", {"to": kind, "place": place, "figures": figures})
    else:
        tables.line(f"{figures:,} figures: {place}")
