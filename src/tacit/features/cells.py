"""Typed access to the columns of a table.

Errors name columns and row numbers, never the content of a cell.
"""

from __future__ import annotations

import math

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tacit.column_statistics.statistics import sort_naturally
from tacit.errors import DataError, did_you_mean


def get_column(frame: pl.DataFrame, name: str, role: str) -> pl.Series:
    """Select a column; raise a DataError that lists the existing columns if it is missing."""
    if name not in frame.columns:
        raise DataError(
            f"features({role}={name!r}): there is no such column; the columns are"
            f" {', '.join(frame.columns) or 'none'}; correct"
            f" data.columns.{role}.{did_you_mean(name, frame.columns)}"
        )
    return frame[name]


def read_numbers(frame: pl.DataFrame, name: str) -> NDArray[np.float64]:
    """Read a numeric column; a missing cell (empty, null, NaN) is NaN. Text that spells numbers is
    parsed.
    """
    series = get_column(frame, name, "numeric")
    dtype = series.dtype
    if isinstance(dtype, pl.String):
        series = series.str.strip_chars()
        series = series.set(series == "", None)
    elif not (dtype.is_numeric() or isinstance(dtype, (pl.Boolean, pl.Null))):
        raise DataError(
            f"features(numeric={name!r}): the column holds {dtype}, not numbers; give this column"
            " another role"
        )
    values = series.cast(pl.Float64, strict=False)
    _refuse(
        name,
        values.is_null() & series.is_not_null(),
        "text that is no number",
        "clean it, or make the column categorical",
    )
    _refuse(
        name,
        values.is_infinite().fill_null(False),
        "an infinite value",
        "remove the row or cap the value",
    )
    return values.fill_null(math.nan).to_numpy()


def lacks_numbers(frame: pl.DataFrame, name: str) -> bool:
    """Whether a numeric column has missing cells."""
    return bool(np.isnan(read_numbers(frame, name)).any())


def _refuse(name: str, wrong: pl.Series, what: str, remedy: str) -> None:
    if wrong.any():
        row = wrong.arg_true()[0]
        raise DataError(
            f"features(numeric={name!r}): {what} in row {row} (and {wrong.sum()} in all) instead"
            f" of finite numbers; {remedy}"
        )


def read_names(frame: pl.DataFrame, name: str, role: str) -> pl.Series:
    """Read a column of category or class names as text; a missing cell (empty or null) is null."""
    series = get_column(frame, name, role)
    if series.dtype.is_nested() or isinstance(series.dtype, (pl.Binary, pl.Object)):
        raise DataError(
            f"features({role}={name!r}): the column holds {series.dtype}, not one plain value per"
            " row; give this column another role"
        )
    texts = series.cast(pl.String)
    return texts.set(texts == "", None)


def sort_names(values: pl.Series) -> tuple[str, ...]:
    """Distinct names in natural order."""
    return tuple(sort_naturally(values.drop_nulls().unique().to_list()))


def encode_names(values: pl.Series, known: tuple[str, ...]) -> NDArray[np.int32]:
    """Map each name to its index among the known ones, or -1."""
    if not known:
        return np.full(len(values), -1, np.int32)
    places = values.replace_strict(
        list(known), list(range(len(known))), default=-1, return_dtype=pl.Int32
    )
    return places.to_numpy()
