"""tacit predict: what a run's model says of new rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli import tables
from tacit.cli.folders import model_folder
from tacit.cli.options import RUNS, AllowCode, AsJson, RunName, Runs

if TYPE_CHECKING:
    import polars as pl

    from tacit.engine.predict import Predicted

NewRows = Annotated[
    str, typer.Argument(metavar="FILE", help="New rows, in a file of any kind that `tacit run` reads.", show_default=False)
]
Proba = Annotated[bool, typer.Option("--proba", help="Add a column probability_CLASS for each class.")]


def predict(
    run: RunName, rows: NewRows, proba: Proba = False, runs: Runs = RUNS, as_json: AsJson = False, allow_code: AllowCode = False
) -> None:
    """Predict new rows with a run's model: the file's columns and `prediction`, as CSV on stdout.

    RUN is a name that `tacit runs` lists, or a folder.
    Rows keep their order and need no label. What is unlike the training rows is
    said on stderr, such as categories the model does not know. A cell that a
    spreadsheet would take for a formula has an apostrophe before it.

    \b
    Examples:
      tacit predict my-1 new.csv > out.csv
      tacit predict my-1 new.parquet --proba > out.csv
      tacit predict my-1 new.csv --json
    """
    from tacit.engine.predict import load

    found = load(model_folder(run, runs), allow_code=allow_code).predicted(rows)
    if as_json:
        tables.print_json({"run": run, **_as_json(found, proba)})
        return
    table, notes = _with_predictions(found, proba)
    tables.csv(table)
    for note in [*found.notes, *notes]:
        tables.line(f"note: {note}", stderr=True)


def _as_json(found: Predicted, proba: bool) -> dict[str, object]:
    return {
        "classes": list(found.classes),
        "predictions": found.names.tolist(),
        **({"probabilities": found.probabilities.tolist()} if proba else {}),
        "notes": found.notes,
    }


def _with_predictions(found: Predicted, proba: bool) -> tuple[pl.DataFrame, list[str]]:
    """Return the rows with their predictions, and which columns a CSV cannot hold or had the name already."""
    import polars as pl

    nested = [name for name, kind in found.table.schema.items() if kind.is_nested() or kind in (pl.Binary, pl.Object)]
    table, notes = found.table.drop(nested), [f"column {name!r} is left out: a CSV cannot hold it" for name in nested]
    wanted: dict[str, Any] = {"prediction": found.names.tolist()}
    if proba:
        wanted |= {f"probability_{name}": found.probabilities[:, place] for place, name in enumerate(found.classes)}
    for wish, values in wanted.items():
        name = wish
        while name in table.columns:
            name += "_"
        if name != wish:
            notes.append(f"the file has a column {wish!r}; the model's is {name!r}")
        table = table.with_columns(pl.Series(name, values))
    return table, notes
