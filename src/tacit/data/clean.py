"""What is missing is dropped, named, or left empty for the features to handle; every such repair is counted.

Nothing that becomes of a row here depends on the value of another row's number: features give a missing number a fixed value.
"""

from __future__ import annotations

import math

import numpy as np
import polars as pl

from tacit.data.column_kinds import without_blanks
from tacit.data.images import as_bytes
from tacit.data.roles import free_name
from tacit.data.table import Habits
from tacit.errors import DataError
from tacit.plan import Columns

MISSING = "(missing)"


def clean(
    train: pl.DataFrame, test: pl.DataFrame, columns: Columns, needs_client: bool
) -> tuple[pl.DataFrame, pl.DataFrame, list[str], Habits]:
    """Return both halves cleaned, a sentence part for each kind of repair, and how numbers were read."""
    assert columns.label is not None, "roles are checked before cleaning"
    half = free_name("train", train.columns)
    both = pl.concat([train.with_columns(pl.lit(True).alias(half)), test.with_columns(pl.lit(False).alias(half))])
    both, repairs = _labelled(both, columns.label)
    if needs_client and columns.client:
        both, more = _without_null(both, columns.client, "without an owner")
        repairs += more
    for name in columns.text:
        both = both.with_columns(as_text(both[name]).fill_null(""))
    for name in columns.categorical:
        both = both.with_columns(_as_enum(as_text(both[name]), MISSING))
    for name in set(columns.quasi) - {*columns.categorical, *columns.numeric, *columns.text, columns.label}:
        both = both.with_columns(as_text(both[name]).fill_null(MISSING))
    commas = dict[str, str]()
    for name in columns.numeric:
        series, more, comma = _as_number(both[name])
        both, repairs = both.with_columns(series), repairs + more
        commas |= {name: comma} if comma else {}
    if columns.image:
        both = both.with_columns(as_bytes(both[columns.image]))
    return both.filter(half).drop(half), both.filter(~pl.col(half)).drop(half), repairs, Habits(commas=commas)


def known_classes(train: pl.DataFrame, test: pl.DataFrame, label: str) -> tuple[pl.DataFrame, pl.DataFrame, list[str]]:
    """Return both halves with the classes of the train rows only: nothing can be learnt about the others."""
    classes = natural_order(train[label].cast(pl.String).unique().to_list())
    kept = test.filter(pl.col(label).cast(pl.String).is_in(classes))
    lost = test.height - kept.height
    as_class = pl.col(label).cast(pl.String).cast(pl.Enum(classes))
    repairs = [f"{lost:,} test rows of classes without train rows were left out"] if lost else []
    return train.with_columns(as_class), kept.with_columns(as_class), repairs


def _labelled(frame: pl.DataFrame, label: str) -> tuple[pl.DataFrame, list[str]]:
    series = frame[label]
    if series.dtype.is_float():
        series = _whole(series)
    text = as_text(series)
    if text.null_count() == len(text):
        raise DataError(f"data.columns.label = {label!r} needs labels, got an empty column; name another column")
    frame, repairs = _without_null(frame.with_columns(text), label, "without a label")
    if frame[label].n_unique() > max(100, frame.height // 2):
        raise DataError(
            f"data.columns.label = {label!r} needs classes that repeat, got {frame[label].n_unique():,} different values in "
            f"{frame.height:,} rows; name a column of classes"
        )
    return frame.with_columns(_as_enum(frame[label], None)), repairs


def _whole(series: pl.Series) -> pl.Series:
    """Return decimal numbers that are all whole as integers; NaN is a missing label."""
    series = series.fill_nan(None)
    if bool((series.drop_nulls() != series.drop_nulls().round()).any()):
        raise DataError(f"data.columns.label = {series.name!r} needs classes, got decimal numbers; name a column of classes")
    return series.cast(pl.Int64)


def _without_null(frame: pl.DataFrame, name: str, what: str) -> tuple[pl.DataFrame, list[str]]:
    kept = frame.filter(pl.col(name).is_not_null())
    lost = frame.height - kept.height
    return kept, [f"{lost:,} rows {what} were dropped"] if lost else []


def as_text(series: pl.Series) -> pl.Series:
    """Return the column as text; cells with nothing but white space are null."""
    if series.dtype.is_nested():
        raise DataError(f"column {series.name!r} needs one value in each cell, got {series.dtype}; give a column of plain values")
    text = series.cast(pl.String)
    return text.set(text.str.strip_chars() == "", None)


def _as_enum(text: pl.Series, missing: str | None) -> pl.Series:
    text = text.str.strip_chars()
    filled = text if missing is None else text.fill_null(missing)
    return filled.cast(pl.Enum(natural_order(filled.unique().to_list())))


def natural_order(words: list[str]) -> list[str]:
    """Return words in alphabetical order, or by value if all of them are numbers."""
    try:
        values = [float(word) for word in words]
    except ValueError:
        return sorted(words)
    # "nan" and "inf" are words here: they have no place among numbers.
    return [word for _, word in sorted(zip(values, words, strict=True))] if all(map(math.isfinite, values)) else sorted(words)


def _as_number(series: pl.Series) -> tuple[pl.Series, list[str], str]:
    """Return the column as finite numbers, null where there is none, what to tell of it, and what commas mean."""
    numbers, comma = parsed(series)
    notes = [f"commas in {series.name!r} were read as {comma} marks"] if comma else []
    if numbers.dtype.is_float():
        numbers = numbers.set(~numbers.is_finite(), None)
    missing, other = numbers.null_count(), len(without_blanks(series.filter(numbers.is_null())))
    if missing == len(numbers) or 2 * other > len(numbers) - missing + other:
        raise DataError(
            f"data.columns.numeric has {series.name!r}, which needs numbers, got none in {missing:,} of {len(numbers):,} cells; "
            "put it under data.columns.categorical or text, or leave it out"
        )
    if missing:
        notes.append(f"{missing:,} cells of {series.name!r} have no number and count as the middle of its range")
    return numbers, notes, comma


def parsed(series: pl.Series, comma: str = "") -> tuple[pl.Series, str]:
    """Return a column as numbers, null where there is none, and what its commas were read as, if it has some.

    `comma` is how they were read before, if they were.
    """
    if series.dtype == pl.Boolean:
        return series.cast(pl.UInt8), ""
    if series.dtype.is_numeric():
        return series.cast(pl.Float64) if series.dtype.is_decimal() else series, ""
    if series.dtype.is_temporal():
        return series.cast(pl.Int64), ""
    text, comma = _with_point(as_text(series).str.strip_chars(), comma)
    numbers = text.cast(pl.Float64, strict=False)
    known = numbers.drop_nulls()
    whole = bool((known == known.round()).all()) and bool((known.abs() < 2**53).all())
    return numbers.cast(pl.Int64) if whole else numbers, comma


def _with_point(text: pl.Series, comma: str) -> tuple[pl.Series, str]:
    """Return numbers that are written with commas as numbers with a point, and how the commas were understood."""
    with_comma = text.filter(text.str.contains(r"^[+-]?\d[\d,]*,\d+(\.\d+)?$"))
    if with_comma.is_empty():
        return text, ""
    thousands = bool(with_comma.str.contains(r"^[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?$").all())
    if comma == "thousands" or (not comma and thousands):
        return text.str.replace_all(",", "", literal=True), "thousands"
    return text.str.replace(r"^([+-]?\d+),(\d+)$", "$1.$2"), "decimal"


def as_float(series: pl.Series) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return a column's numbers, NaN where there is none."""
    return parsed(series)[0].cast(pl.Float64).fill_null(float("nan")).to_numpy()
