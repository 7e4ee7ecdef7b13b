"""Rows given in Python: data frames, mappings, and Hugging Face data sets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from tacit.data.roles.roles import check_column_names, find_free_name
from tacit.errors import DataError


def from_input_rows(rows: object) -> tuple[pl.DataFrame, str | None]:
    """Convert rows given in Python to a table; also return the split column if they came in named
    parts.

    Takes a polars or pandas DataFrame, a pyarrow Table, a Hugging Face Dataset or DatasetDict, a
    mapping of columns, or any iterable of mappings.
    """
    frame, split = _to_table(rows)
    return check_column_names(frame, "the table of rows"), split


def _to_table(rows: object) -> tuple[pl.DataFrame, str | None]:
    kind = type(rows).__module__.partition(".")[0]
    if isinstance(rows, pl.LazyFrame):
        return rows.collect(), None
    if isinstance(rows, pl.DataFrame):
        return rows, None
    if kind == "datasets":
        return _from_datasets(rows)
    if kind == "pandas" and hasattr(rows, "columns"):
        return _from_pandas(rows), None
    if kind == "pyarrow":
        return _from_arrow(rows), None
    if isinstance(rows, Mapping):
        return _build_frame(dict(rows)), None
    if (
        isinstance(rows, Iterable)
        and not isinstance(rows, str | bytes)
        and not _is_one_column(rows)
    ):
        return _build_frame(_collect_mappings(rows)), None
    if isinstance(rows, str):
        raise DataError(
            "rows must be a table, got a text; for a file, `tacit.starter_plan(path)` makes a plan"
        )
    raise DataError(
        "rows must be a DataFrame, an arrow Table, a Dataset or an iterable of dicts, got"
        f" {type(rows).__name__}; pass the rows, or name a data.source"
    )


def check_label(frame: pl.DataFrame, label: str | None) -> None:
    """Raise DataError if a table given in Python has no rows, or no values in the label column."""
    if label is not None and not isinstance(label, str):
        raise DataError(f"label must be the name of a column, got {type(label).__name__} {label!r}")
    if not frame.height or not frame.width:
        raise DataError(
            f"rows: the table has {frame.height:,} rows and {frame.width:,} columns; pass at least"
            " a few rows"
        )
    if label in frame.columns and _is_empty(frame[label]):
        raise DataError(
            f"label = {label!r} has no value in any row, so there is nothing to learn from; name"
            " another column"
        )


def _is_empty(column: pl.Series) -> bool:
    return column.null_count() == len(column) or (
        column.dtype.is_float() and bool(column.is_nan().fill_null(True).all())
    )


def _is_one_column(rows: object) -> bool:
    """Whether an object is a series, that is, values without column names."""
    return isinstance(rows, pl.Series) or type(rows).__name__ == "Series"


def _from_pandas(rows: Any) -> pl.DataFrame:
    try:
        return pl.from_pandas(rows)
    except ModuleNotFoundError:
        raise DataError(
            "rows: reading a pandas table requires pyarrow; pip install 'tacit[arrow]', or pass"
            " polars.DataFrame(rows.to_dict('list'))"
        ) from None
    except (
        Exception
    ) as error:  # pyarrow, pandas and polars each raise their own for cells of mixed kinds
        raise DataError(
            f"rows: a column mixes kinds of values ({type(error).__name__}); convert columns of"
            " mixed kinds to text"
        ) from None


def from_hub(name: str) -> tuple[pl.DataFrame, str | None]:
    """Load a Hugging Face data set: a folder written by save_to_disk, or a name ("name" or
    "name:configuration").
    """
    try:
        import datasets
    except ImportError:
        raise DataError(
            f"data.source = 'hf:{name}' requires the datasets package; pip install 'tacit[hf]'"
        ) from None
    folder = Path(name).expanduser()
    try:
        if folder.is_dir() and any(
            (folder / mark).exists()
            for mark in ("dataset_info.json", "dataset_dict.json", "state.json")
        ):
            found = datasets.load_from_disk(str(folder))
        else:
            path, _, configuration = name.partition(":")
            found = datasets.load_dataset(path, configuration or None)
        frame, split = _from_datasets(found)
        return check_column_names(frame, f"data.source = 'hf:{name}'"), split
    except DataError:
        raise
    except (
        Exception,
        pl.exceptions.PanicException,
    ) as error:  # the hub's client raises many kinds; each means the same to the user
        raise DataError(
            f"data.source = 'hf:{name}' could not be loaded: {type(error).__name__}; check name and"
            " network"
        ) from None


def _from_datasets(rows: Any) -> tuple[pl.DataFrame, str | None]:
    if not isinstance(rows, Mapping):
        return _from_dataset(rows), None
    if not rows:
        raise DataError("the Hugging Face DatasetDict has no splits; check the data set")
    parts = {str(name): _from_dataset(part) for name, part in rows.items()}
    split = find_free_name("split", [column for part in parts.values() for column in part.columns])
    marked = [part.with_columns(pl.lit(name).alias(split)) for name, part in parts.items()]
    return pl.concat(marked, how="diagonal_relaxed"), split


def _from_dataset(rows: Any) -> pl.DataFrame:
    if not hasattr(rows, "with_format"):
        raise DataError(
            f"data must be a datasets.Dataset or DatasetDict, got {type(rows).__name__}; load all"
            " rows first"
        )
    frame = _from_arrow(rows.with_format("arrow")[:])
    # Class numbers of -1 are the hub's way of saying that a row has no label.
    unlabelled = [
        name for name, feature in rows.features.items() if type(feature).__name__ == "ClassLabel"
    ]
    return frame.with_columns(
        [pl.when(pl.col(name) >= 0).then(pl.col(name)).alias(name) for name in unlabelled]
    )


def _from_arrow(rows: Any) -> pl.DataFrame:
    frame = pl.from_arrow(rows)
    return frame.to_frame() if isinstance(frame, pl.Series) else frame


def _collect_mappings(rows: Iterable[object]) -> list[dict[str, object]]:
    found = []
    for number, row in enumerate(rows, 1):
        if not isinstance(row, Mapping):
            raise DataError(
                f"row {number:,} is {type(row).__name__} and has no column names; pass dicts or a"
                " DataFrame"
            )
        found.append(dict(row))
    if not found:
        raise DataError("rows is empty; pass at least a few")
    return found


def _build_frame(rows: Any) -> pl.DataFrame:
    try:
        return pl.DataFrame(rows, infer_schema_length=None, strict=False)
    except (pl.exceptions.PolarsError, TypeError, ValueError) as error:
        raise DataError(
            f"rows must have columns of plain values and equal length ({type(error).__name__});"
            " check the rows"
        ) from None
