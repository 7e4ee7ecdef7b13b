"""Rows to predict, without a label: read as the training rows were, with notes on how they differ."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import polars as pl

from tacit.column_statistics.common_values import MISSING
from tacit.column_statistics.number_format import NumberFormat
from tacit.data.clean import DecimalSetting, detect_number_formats, parse_numbers, to_text
from tacit.data.images import decode_images
from tacit.data.input_rows import from_input_rows
from tacit.data.read import TextFormat, is_file_source, read_file
from tacit.data.table import Habits
from tacit.errors import DataError, did_you_mean
from tacit.plan import Columns, Schema


def list_input_columns(columns: Columns) -> tuple[str, ...]:
    """List the columns that a model reads."""
    return (
        *columns.text,
        *columns.numeric,
        *columns.categorical,
        *((columns.image,) if columns.image else ()),
    )


def read_new_rows(rows: object, columns: Columns) -> tuple[pl.DataFrame, list[str]]:
    """Read new rows as a table; also return notes on repairs.

    Takes the path of a file, whatever `run(rows=...)` takes, or a list of texts where a single text
    column is all that is read.
    """
    if isinstance(rows, str | Path):
        if not is_file_source(str(rows)):
            raise DataError(
                f"predict({str(rows)!r}): unknown file type; convert it to .csv or .parquet"
            )
        named = all(re.fullmatch(r"column_\d+", name) for name in list_input_columns(columns))
        frame, note = read_file(str(rows), TextFormat(header=not named))
        return frame, [note.strip(" ()")] if note else []
    only = columns.text[0] if list_input_columns(columns) == columns.text[:1] else None
    if only and isinstance(rows, Iterable) and not isinstance(rows, Mapping | pl.DataFrame):
        rows = rows if hasattr(rows, "columns") else list(rows)
        if isinstance(rows, list) and all(isinstance(text, str) for text in rows):
            return pl.DataFrame({only: pl.Series(rows, dtype=pl.String)}), []
    return from_input_rows(rows)[0], []


def clean_as_in_training(
    frame: pl.DataFrame,
    columns: Columns,
    habits: Habits,
    categories: Mapping[str, tuple[str, ...]],
    schema: Schema | None = None,
) -> tuple[pl.DataFrame, list[str]]:
    """Select and clean the columns a model reads as in training; also return a sentence for each
    difference.

    Edge cases: a missing text is empty; a cell without a number is null, which features read as the
    middle of the column's range; categories that training did not have count as zero. Rows stay as
    many and in their order. A cell that does not fit the `schema` counts as missing.
    """
    _check_names(frame, columns)
    notes: list[str] = []
    if schema is not None:
        from tacit.data.schema.apply import apply_schema
        from tacit.data.schema.misfit import describe_misfit

        frame, misfits = apply_schema(
            frame.select(list_input_columns(columns)), columns, schema, formats=habits.formats
        )
        notes += [f"{describe_misfit(one)} and counts as missing there" for one in misfits]
    texts = [to_text(frame[name]).fill_null("") for name in columns.text]
    if texts and (
        empty := int(
            pl.DataFrame(texts).select(pl.all_horizontal(pl.all() == "")).to_series().sum()
        )
    ):
        notes.append(f"{empty:,} of {frame.height:,} rows have no text")
    found = [*texts]
    for name in columns.numeric:
        series, more = _clean_numbers(frame[name], habits)
        found, notes = [*found, series], notes + more
    for name in columns.categorical:
        series, more = _clean_categories(frame[name], categories.get(name, ()))
        found, notes = [*found, series], notes + more
    if columns.image:
        found.append(decode_images(frame[columns.image]))
    return pl.DataFrame(found), notes


def _check_names(frame: pl.DataFrame, columns: Columns) -> None:
    lacking = [name for name in list_input_columns(columns) if name not in frame.columns]
    if not lacking:
        return
    have = ", ".join(frame.columns[:40]) + (
        f" and {len(frame.columns) - 40} more" if len(frame.columns) > 40 else ""
    )
    named = ", ".join(map(repr, lacking[:20])) + (
        f" and {len(lacking) - 20} more" if len(lacking) > 20 else ""
    )
    raise DataError(
        f"predict(rows): the columns {named} are missing, and the model reads them; the columns"
        f" are {have}.{did_you_mean(lacking[0], list(frame.columns))}"
    )


def _clean_numbers(series: pl.Series, habits: Habits) -> tuple[pl.Series, list[str]]:
    name = series.name
    if series.dtype.is_nested() or series.dtype in (pl.Binary, pl.Object):
        raise DataError(
            f"predict(rows): {name!r} holds {series.dtype}, and training had numbers; give a"
            " column of numbers"
        )
    trained = habits.formats.get(name, NumberFormat())
    numbers = parse_numbers(series, trained.mark).cast(pl.Float64)
    here = detect_number_formats(
        series.to_frame(), Columns(numeric=(name,)), DecimalSetting()
    ).formats[name]
    notes = []
    if here.unclear and here.comma != trained.comma:
        notes.append(
            f"{name!r} seems to have a decimal {here.mark}; it was read with a decimal"
            f" {trained.mark}, as in training"
        )
    numbers = numbers.set(~numbers.is_finite(), None)
    said = to_text(series).is_not_null() if series.dtype == pl.String else series.is_not_null()
    odd = int((said & numbers.is_null()).sum())
    if odd * 2 > len(series):
        raise DataError(
            f"predict(rows): {name!r} has no number in {odd:,} of {len(series):,} rows, and"
            " training had numbers; check that the column is the one that was trained on"
        )
    if numbers.null_count():
        notes.append(
            f"{numbers.null_count():,} cells of {name!r} have no number and count as the middle of"
            " its range"
        )
    return numbers, notes


def _clean_categories(series: pl.Series, known: tuple[str, ...]) -> tuple[pl.Series, list[str]]:
    text = to_text(series).str.strip_chars().fill_null(MISSING)
    strange = int((~text.is_in(list(known))).sum())
    return text, (
        [f"{strange:,} cells of {series.name!r} hold a category that training did not have"]
        if strange
        else []
    )
