"""Clean rows: incomplete rows are dropped, missing categories get a name, missing numbers stay
null; repairs are counted.

No result depends on a number in another row: features replace missing numbers by a fixed value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from tacit.column_statistics.common_values import MISSING
from tacit.column_statistics.number_format import TOLD, DecimalMark, NumberFormat
from tacit.column_statistics.statistics import sort_naturally
from tacit.data.decimals import choose_formats, find_decimal_evidence, parse_cells
from tacit.data.images import decode_images
from tacit.data.roles.column_kinds import drop_blanks
from tacit.data.roles.roles import find_free_name, name_publicly
from tacit.data.table import Habits
from tacit.errors import DataError, MisfitError
from tacit.plan import Columns

_EXACT = 2**53
"""Integers below this are exact in floating point."""


class DecimalSetting(NamedTuple):
    """The decimal mark set by a plan or by the file's owner, if any, and which of the two set it.

    `least_clients` is how many clients must write a mark before it decides anything.
    """

    mark: DecimalMark | None = None
    vouched: bool = True
    least_clients: int = 1


def clean(
    train: pl.DataFrame,
    test: pl.DataFrame,
    columns: Columns,
    needs_client: bool,
    decimal: DecimalSetting,
    *,
    refuses: bool = True,
) -> tuple[pl.DataFrame, pl.DataFrame, list[str], Habits]:
    """Clean train and test rows; also return a phrase for each kind of repair, and the number
    formats used. With `refuses`, a numeric column without numbers is an error.
    """
    half = find_free_name("train", train.columns)
    both = pl.concat(
        [train.with_columns(pl.lit(True).alias(half)), test.with_columns(pl.lit(False).alias(half))]
    )
    both, repairs = drop_incomplete_rows(both, columns, needs_client)
    for name in columns.text:
        both = both.with_columns(to_text(both[name]).fill_null(""))
    for name in columns.categorical:
        both = both.with_columns(_to_enum(to_text(both[name]), MISSING))
    for name in set(columns.quasi) - {
        *columns.categorical,
        *columns.numeric,
        *columns.text,
        columns.label,
    }:
        both = both.with_columns(to_text(both[name]).fill_null(MISSING))
    habits = detect_number_formats(both, columns, decimal)
    for name in columns.numeric:
        series, more = _to_numbers(both[name], habits.formats[name], refuses)
        both, repairs = both.with_columns(series), repairs + more
    if columns.image:
        both = both.with_columns(decode_images(both[columns.image]))
    return both.filter(half).drop(half), both.filter(~pl.col(half)).drop(half), repairs, habits


def drop_incomplete_rows(
    frame: pl.DataFrame, columns: Columns, needs_client: bool
) -> tuple[pl.DataFrame, list[str]]:
    """Drop rows without a label and, where each owner is a client, rows without an owner; report
    the counts.
    """
    repairs = list[str]()
    if columns.label is not None:
        frame, repairs = _clean_labels(frame, columns.label)
    if needs_client and columns.client:
        frame, more = _drop_nulls(frame, columns.client, "without an owner")
        repairs += more
    return frame, repairs


def keep_known_classes(
    train: pl.DataFrame, test: pl.DataFrame, label: str, stated: Sequence[str] = ()
) -> tuple[pl.DataFrame, pl.DataFrame, list[str]]:
    """Drop rows whose class does not occur among the train rows, unless the plan states the
    classes.
    """
    classes = sort_naturally(stated or train[label].cast(pl.String).unique().to_list())
    kept = test.filter(pl.col(label).cast(pl.String).is_in(classes))
    lost = test.height - kept.height
    as_class = pl.col(label).cast(pl.String).cast(pl.Enum(classes))
    repairs = [f"{lost:,} test rows of classes without train rows were left out"] if lost else []
    return train.with_columns(as_class), kept.with_columns(as_class), repairs


def _clean_labels(frame: pl.DataFrame, label: str) -> tuple[pl.DataFrame, list[str]]:
    series = frame[label]
    if series.dtype.is_float():
        series = _refuse_fractions(series)
    text = to_text(series)
    if text.null_count() == len(text):
        raise DataError(f"data.columns.label = {label!r}: the column is empty; name another column")
    frame, repairs = _drop_nulls(frame.with_columns(text), label, "without a label")
    if frame[label].n_unique() > max(100, frame.height // 2):
        raise DataError(
            f"data.columns.label = {label!r}: {frame[label].n_unique():,} different values in"
            f" {frame.height:,} rows are not classes; name a column of classes"
        )
    return frame.with_columns(_to_enum(frame[label], None)), repairs


def _refuse_fractions(series: pl.Series) -> pl.Series:
    """Decimal numbers as labels, NaN as a missing one; refused if most have a fraction. A few are
    classes of their own, as in a file of text.
    """
    series = series.fill_nan(None)
    numbers = series.drop_nulls()
    if 2 * int((numbers != numbers.round()).sum()) > len(numbers):
        raise DataError(
            f"data.columns.label = {series.name!r}: decimal numbers are not classes; name a column"
            " of classes"
        )
    return series


def _drop_nulls(frame: pl.DataFrame, name: str, what: str) -> tuple[pl.DataFrame, list[str]]:
    kept = frame.filter(pl.col(name).is_not_null())
    lost = frame.height - kept.height
    return kept, [f"{lost:,} rows {what} were dropped"] if lost else []


def to_text(series: pl.Series) -> pl.Series:
    """Convert a column to text; blank cells become null."""
    if series.dtype.is_nested():
        raise DataError(
            f"column {series.name!r} holds {series.dtype}; give a column with one plain value in"
            " each cell"
        )
    text = series.cast(pl.String)
    if (
        series.dtype.is_float()
    ):  # integers are written alike whether or not another row has a fraction
        whole = series.is_finite() & (series == series.round()) & (series.abs() < _EXACT)
        text = text.zip_with(
            ~whole.fill_null(False), series.cast(pl.Int64, strict=False).cast(pl.String)
        )
    return text.set(text.str.strip_chars() == "", None)


def _to_enum(text: pl.Series, missing: str | None) -> pl.Series:
    text = text.str.strip_chars()
    filled = text if missing is None else text.fill_null(missing)
    return filled.cast(pl.Enum(sort_naturally(filled.unique().to_list())))


def detect_number_formats(frame: pl.DataFrame, columns: Columns, decimal: DecimalSetting) -> Habits:
    """Detect the number format of the numeric columns, and how many clients' cells show it."""
    texts = {name: _strip_cells(frame[name]) for name in columns.numeric if _is_text(frame[name])}
    written = {name: find_decimal_evidence(text) for name, text in texts.items()}
    found = choose_formats(
        written,
        decimal.mark,
        decimal.vouched,
        lambda rows: _count_clients(frame, rows, columns) >= decimal.least_clients,
    )
    commas = (
        sum(
            (one.comma.cast(pl.UInt32) for one in written.values()),
            pl.zeros(frame.height, pl.UInt32, eager=True),
        )
        > 0
    )
    count = _count_clients(frame, commas, columns)
    behind = {
        name: (count, _count_clients(frame, one.unclear, columns)) for name, one in written.items()
    }
    return Habits(
        formats={name: found.get(name, NumberFormat()) for name in columns.numeric},
        behind=behind,
        released=(TOLD,) if texts and decimal.mark is None else (),
    )


def _count_clients(frame: pl.DataFrame, rows: pl.Series, columns: Columns) -> int:
    return frame[columns.client].filter(rows).n_unique() if columns.client else int(rows.sum())


def _is_text(series: pl.Series) -> bool:
    return not (
        series.dtype.is_numeric() or series.dtype.is_temporal() or series.dtype == pl.Boolean
    )


def _strip_cells(series: pl.Series) -> pl.Series:
    return to_text(series).str.strip_chars()


def _to_numbers(
    series: pl.Series, written: NumberFormat, refuses: bool
) -> tuple[pl.Series, list[str]]:
    """Convert a column to finite numbers, null where there is none; also return notes for the
    owner.
    """
    numbers = parse_numbers(series, written.mark)
    notes = [f"numbers in {series.name!r} were read with a decimal comma"] if written.comma else []
    if (
        not written.comma
        and _is_text(series)
        and bool(series.cast(pl.String).str.contains(",", literal=True).any())
    ):
        notes.append(f"commas in {series.name!r} were read as thousands separators")
    if numbers.dtype.is_float():
        numbers = numbers.set(~numbers.is_finite(), None)
    missing, other = numbers.null_count(), len(drop_blanks(series.filter(numbers.is_null())))
    if refuses and (missing == len(numbers) or 2 * other > len(numbers) - missing + other):
        raise MisfitError(
            f"data.columns.numeric: {series.name!r} has no number in {missing:,} of"
            f" {len(numbers):,} cells; put it under data.columns.categorical or text, or leave it"
            " out",
            f"{name_publicly((), series.name)} not a number",
        )
    if missing:
        notes.append(
            f"{missing:,} cells of {series.name!r} have no number and count as the middle of its"
            " range"
        )
    return numbers, notes


def parse_numbers(series: pl.Series, mark: DecimalMark) -> pl.Series:
    """Convert a column to numbers, null where there is none. Dates and times become seconds."""
    if series.dtype == pl.Boolean:
        return series.cast(pl.UInt8)
    if series.dtype.is_numeric():
        return series.cast(pl.Float64) if series.dtype.is_decimal() else series
    if series.dtype.is_temporal():
        return _to_seconds(series)
    return parse_cells(_strip_cells(series), mark)


def _to_seconds(series: pl.Series) -> pl.Series:
    if series.dtype in (pl.Date, pl.Datetime):
        return series.cast(pl.Datetime("us")).cast(pl.Int64) / 1e6
    return series.cast(pl.Duration("us")).cast(pl.Int64) / 1e6


def to_float(series: pl.Series) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Convert a column to floats, NaN where there is none."""
    formats = (
        choose_formats({"": find_decimal_evidence(_strip_cells(series))}, None, True)
        if _is_text(series)
        else {"": NumberFormat()}
    )
    return (
        parse_numbers(series, formats[""].mark).cast(pl.Float64).fill_null(float("nan")).to_numpy()
    )
