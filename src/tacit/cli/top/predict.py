"""tacit predict: predict new rows with a run's model."""

from __future__ import annotations

import io
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli import tables
from tacit.cli.folders import find_model_folder
from tacit.cli.options import RUNS, AllowCode, AsJson, RunName, Runs
from tacit.errors import DataError, PlanError

if TYPE_CHECKING:
    import polars as pl

    from tacit.models.client_models import UnknownClients
    from tacit.models.predict import Predictions

NewRows = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="New rows, in any format that `tacit run` reads; - reads CSV from stdin.",
        show_default=False,
    ),
]
Proba = Annotated[
    bool, typer.Option("--proba", help="Add a column probability_CLASS for each class.")
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="FILE",
        help="Write to this file (.csv, .parquet or .jsonl) instead of stdout.",
        show_default=False,
    ),
]
Client = Annotated[
    str | None,
    typer.Option(
        "--client-id",
        metavar="ID",
        help="With [private]: the client whose model predicts all rows.",
        show_default=False,
    ),
]
Unknown = Annotated[
    str,
    typer.Option(
        "--unknown-clients",
        metavar="RULE",
        help="With [private], rows of clients without a personal model: refuse, or base.",
    ),
]
STDIN = "-"
KINDS = (".csv", ".parquet", ".jsonl")


def predict(
    run: RunName,
    rows: NewRows,
    proba: Proba = False,
    out: Out = None,
    runs: Runs = RUNS,
    as_json: AsJson = False,
    allow_code: AllowCode = False,
    client: Client = None,
    unknown_clients: Unknown = "refuse",
) -> None:
    """Predict new rows with a run's model; prints CSV.

    RUN is a name that `tacit runs` lists, or a folder.
    Rows keep their order and need no label. Notes on stderr name differences
    from the training rows, such as unknown categories. CSV cells that a
    spreadsheet would run as a formula are prefixed with an apostrophe.
    If the plan has private parameters, the client column says whose model
    predicts a row; at a site, run it on SITE/models/RUN.

    \b
    Examples:
      tacit predict my-1 new.csv > out.csv
      tacit predict my-1 new.parquet --proba --out out.parquet
      cat new.csv | tacit predict my-1 - --json
    """
    from tacit.api import load

    _check_out(out, rows)
    rule = _check_rule(unknown_clients)
    model = load(find_model_folder(run, runs), allow_code=allow_code)
    with _open_rows(rows) as file:
        found = model.predict_rows(file, client, rule)
    table, notes = _add_predictions(found, proba, nested=out is not None and out.suffix != ".csv")
    written = {} if out is None else {"out": str(out), "rows": table.height}
    if out is not None:
        _write(table, out)
    if as_json:
        tables.print_json(
            "predictions/1",
            {"run": run, **(written or _to_json(found, proba)), "notes": found.notes},
        )
        return
    if out is None:
        tables.csv(table)
    else:
        tables.line(f"wrote {out}: {table.height:,} rows")
    for note in [*found.notes, *notes]:
        tables.line(f"note: {note}", stderr=True)


def _check_out(out: Path | None, rows: str) -> None:
    """Raise PlanError if predictions cannot be written to `out`, before anything is loaded."""
    if out is None:
        return
    if out.suffix not in KINDS:
        raise PlanError(f"--out must end in {', '.join(KINDS[:-1])} or {KINDS[-1]}, got {out}")
    if rows != STDIN and out.exists() and Path(rows).exists() and out.samefile(rows):
        raise PlanError(f"--out {out} is the input file; choose another name")
    if not out.parent.is_dir():
        raise PlanError(
            f"--out {out}: folder {out.parent} does not exist; create it or choose another path"
        )


def _check_rule(rule: str) -> UnknownClients:
    """Raise PlanError unless `rule` is one of those for rows of unknown clients."""
    if rule not in ("refuse", "base"):
        raise PlanError(f"--unknown-clients must be refuse or base, got {rule!r}")
    return "base" if rule == "base" else "refuse"


@contextmanager
def _open_rows(rows: str) -> Iterator[str]:
    """Yield the path of the rows; rows from stdin are kept in a temporary file."""
    if rows != STDIN:
        yield rows
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stdin.csv"
        path.write_bytes(sys.stdin.buffer.read())
        try:
            yield str(path)
        except DataError as error:
            raise DataError(str(error).replace(str(path), "stdin")) from None


def _write(table: pl.DataFrame, out: Path) -> None:
    from tacit.files import replace_file

    if out.suffix == ".csv":
        replace_file(out, tables.csv_text(table).encode())
        return
    content = io.BytesIO()
    if out.suffix == ".parquet":
        table.write_parquet(content)
    else:
        table.write_ndjson(content)
    replace_file(out, content.getvalue())


def _to_json(found: Predictions, proba: bool) -> dict[str, object]:
    return {
        "classes": list(found.classes),
        "predictions": found.names.tolist(),
        **({"probabilities": found.probabilities.tolist()} if proba else {}),
    }


def _add_predictions(
    found: Predictions, proba: bool, *, nested: bool
) -> tuple[pl.DataFrame, list[str]]:
    """Add predictions to the rows; also notes about columns that were dropped or renamed."""
    import polars as pl

    kinds = found.table.schema.items()
    unfit = [
        name
        for name, kind in kinds
        if (kind.is_nested() and not nested) or kind in (pl.Binary, pl.Object)
    ]
    table, notes = (
        found.table.drop(unfit),
        [f"column {name!r} is omitted: CSV cannot represent it" for name in unfit],
    )
    wanted: dict[str, Any] = {"prediction": found.names.tolist()}
    if proba:
        wanted |= {
            f"probability_{name}": found.probabilities[:, place]
            for place, name in enumerate(found.classes)
        }
    for wish, values in wanted.items():
        name = wish
        while name in table.columns:
            name += "_"
        if name != wish:
            notes.append(f"the file already has a column {wish!r}; predictions are in {name!r}")
        table = table.with_columns(pl.Series(name, values))
    return table, notes
