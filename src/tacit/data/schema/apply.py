"""Apply a schema to a table: cells become the values that the plan means, misfits are counted.

Each cell of the result depends on its own cell, the schema and the decimal mark only. No cell is
quoted in an error.
"""

from __future__ import annotations

from typing import NamedTuple, assert_never

import polars as pl

from tacit.column_statistics.common_values import MISSING
from tacit.column_statistics.number_format import DecimalMark, Formats
from tacit.data.clean import DecimalSetting, detect_number_formats, to_text
from tacit.data.decimals import parse_cells
from tacit.data.schema.misfit import Misfit, MisfitKind
from tacit.plan import Columns, ColumnSchema, Schema
from tacit.plan.tables.rows.schema.column import BOOLEANS

_SECONDS_PER_DAY = 86_400.0


class MappedTable(NamedTuple):
    """A table with the values that the plan means, null where a cell does not fit, and the misfits."""

    frame: pl.DataFrame
    misfits: tuple[Misfit, ...]


class _Cells(NamedTuple):
    """Values of a column, and the kinds of misfit, one boolean per row each."""

    values: pl.Series
    wrong: dict[MisfitKind, pl.Series]


def apply_schema(
    frame: pl.DataFrame,
    columns: Columns,
    schema: Schema,
    decimal: DecimalSetting | None = None,
    formats: Formats | None = None,
) -> MappedTable:
    """Map the cells of a table to the values of the schema; columns that it lacks are skipped.

    `formats` are the number formats of numeric columns, where they are known already; otherwise
    they are detected, with the mark that `decimal` states. Numbers in text cells stay text, so that
    sites can still agree on a decimal mark.
    """
    decimal = decimal or DecimalSetting()
    found = {name: one for name, one in schema.columns.items() if name in frame.columns}
    frame = frame.with_columns(
        _replace_codes(frame[name], one, keep=name in columns.text) for name, one in found.items()
    )
    numbers = tuple(name for name in columns.numeric if name in frame.columns)
    if formats is None:
        client = columns.client if columns.client in frame.columns else None
        roles = Columns(numeric=numbers, client=client)
        formats = detect_number_formats(frame, roles, decimal).formats
    misfits = list[Misfit]()
    for name, one in found.items():
        mark = formats[name].mark if name in formats else decimal.mark or "point"
        cells = _read_column(frame[name], one, mark, is_number=name in columns.numeric)
        frame = frame.with_columns(cells.values.alias(name))
        misfits += [Misfit(name, kind, rows) for kind, rows in cells.wrong.items() if rows.any()]
    return MappedTable(frame, tuple(misfits))


def _replace_codes(series: pl.Series, column: ColumnSchema, *, keep: bool) -> pl.Series:
    """Cells with missing values as null and mapped cells as what they mean; `keep`: other cells stay
    as they are.
    """
    if not (column.mapping or column.missing_values) and not _is_text(series):
        return series
    cells = _to_cells(series)
    missing = cells.is_in([*map(_normalise, column.missing_values), MISSING])
    if column.is_number:
        codes = [float(code) for code in column.missing_values if _is_number(code)]
        missing |= parse_cells(cells, "point").is_in(codes).fill_null(False)
    meaning = {_normalise(cell): value for cell, value in column.mapping.items()}
    mapped = cells.replace(list(meaning), list(meaning.values())) if meaning else cells
    return (series if keep else mapped).set(missing.fill_null(False), None).alias(series.name)


def _read_column(
    series: pl.Series, column: ColumnSchema, mark: DecimalMark, *, is_number: bool
) -> _Cells:
    """The values of one column, null where a cell does not fit."""
    present = _find_present(series)
    match column.type:
        case "number" | "integer":
            cells = _read_numbers(series, column, mark, is_number=is_number)
        case "string":
            cells = _read_names(series, column)
        case "boolean":
            cells = _read_booleans(series, is_number=is_number)
        case "date":
            cells = _read_dates(series, column, is_number=is_number)
        case _:
            assert_never(column.type)
    wrong = {kind: (rows & present).fill_null(False) for kind, rows in cells.wrong.items()}
    if column.required:
        wrong["empty"] = ~present
    values = cells.values
    for rows in wrong.values():
        values = values.set(rows, None)
    return _Cells(values, wrong)


def _read_numbers(
    series: pl.Series, column: ColumnSchema, mark: DecimalMark, *, is_number: bool
) -> _Cells:
    """Numbers within the range or the list; as text where the role needs names or a decimal mark is
    still to be agreed.
    """
    typed = series.dtype.is_numeric() or series.dtype == pl.Boolean
    numbers = series.cast(pl.Float64) if typed else parse_cells(_to_cells(series), mark)
    numbers = numbers.set(~numbers.is_finite().fill_null(True), None)
    wrong: dict[MisfitKind, pl.Series] = {"not a number": numbers.is_null()}
    if column.type == "integer":
        wrong["not an integer"] = (numbers != numbers.round()).fill_null(False)
    wrong["out of range"] = _find_outside(numbers, column)
    names = to_text(numbers)
    if column.enum:
        known = [float(value) for value in column.enum]
        wrong["unknown value"] = ~numbers.is_in(known) & numbers.is_not_null()
        names = numbers.replace_strict(
            known, list(column.enum), default=None, return_dtype=pl.String
        )
    if not is_number:
        return _Cells(names.alias(series.name), wrong)
    return _Cells(series if typed else _to_cells(series), wrong)


def _read_names(series: pl.Series, column: ColumnSchema) -> _Cells:
    """Values of the list, in its spelling; any text without a list."""
    if not column.enum:
        return _Cells(series, {})
    spelling = {_normalise(value): value for value in column.enum}
    names = _to_cells(series).replace_strict(
        list(spelling), list(spelling.values()), default=None, return_dtype=pl.String
    )
    return _Cells(names, {"unknown value": names.is_null()})


def _read_booleans(series: pl.Series, *, is_number: bool) -> _Cells:
    cells = _to_cells(series).str.to_lowercase()
    names = cells.replace_strict(
        list(BOOLEANS), list(BOOLEANS.values()), default=None, return_dtype=pl.String
    )
    values = (names == "true").cast(pl.Float64) if is_number else names
    return _Cells(values.alias(series.name), {"not a boolean": names.is_null()})


def _read_dates(series: pl.Series, column: ColumnSchema, *, is_number: bool) -> _Cells:
    """Days, as seconds since 1970 in a numeric column and as 2000-01-31 elsewhere; a column of
    decimal numbers holds seconds already.
    """
    if series.dtype in (pl.Date, pl.Datetime):
        days = series.cast(pl.Date)
    elif series.dtype.is_float():
        days = (series / _SECONDS_PER_DAY).floor().cast(pl.Int32, strict=False).cast(pl.Date)
    else:
        days = _to_cells(series).str.to_date(column.date_format, strict=False)
    seconds = days.cast(pl.Int32).cast(pl.Float64) * _SECONDS_PER_DAY
    values = seconds if is_number else days.cast(pl.String)
    wrong: dict[MisfitKind, pl.Series] = {"not a date": days.is_null()}
    wrong["out of range"] = _find_outside(seconds, column)
    return _Cells(values.alias(series.name), wrong)


def _find_outside(numbers: pl.Series, column: ColumnSchema) -> pl.Series:
    low, high = column.ends
    outside = pl.repeat(False, len(numbers), dtype=pl.Boolean, eager=True)
    if low is not None:
        outside |= (numbers < low).fill_null(False)
    if high is not None:
        outside |= (numbers > high).fill_null(False)
    return outside


def _find_present(series: pl.Series) -> pl.Series:
    """Which cells hold a value."""
    if _is_text(series):
        series = _to_cells(series)
    return (series.fill_nan(None) if series.dtype.is_float() else series).is_not_null()


def _is_text(series: pl.Series) -> bool:
    return series.dtype in (pl.String, pl.Categorical, pl.Enum)


def _to_cells(series: pl.Series) -> pl.Series:
    """Cells as text without surrounding blanks, with composed letters; null where they are blank."""
    text = to_text(series.fill_nan(None) if series.dtype.is_float() else series)
    return text.str.strip_chars().str.normalize("NFC").alias(series.name)


def _normalise(value: str) -> str:
    return str(pl.Series([value]).str.normalize("NFC").str.strip_chars()[0])


def _is_number(code: str) -> bool:
    try:
        float(code)
    except ValueError:
        return False
    return True
