"""Detect columns that almost determine the label: often a leak of something unknown at prediction
time.
"""

from __future__ import annotations

import polars as pl

from tacit.data.roles.column_kinds import detect_kind, drop_blanks
from tacit.data.table import Table

_LEAST_SHARE, _LEAST_GAIN = 0.98, 0.05
_BINS, _FEWEST_PER_VALUE, _FEWEST_ROWS = 50, 5, 50


def measure_leak(frame: pl.DataFrame, column: str, label: str) -> float | None:
    """The share of rows for which a column's value determines the label, if it is nearly all; else
    None.

    Numbers are binned into fifty ranges. A column with a new value in every row or two shows
    nothing this way.
    """
    pairs = pl.DataFrame(
        {"value": _bin_values(frame[column]), "label": frame[label].cast(pl.String)}
    ).drop_nulls()
    if pairs.height < _FEWEST_ROWS or pairs["value"].n_unique() > pairs.height / _FEWEST_PER_VALUE:
        return None
    counts = pairs.group_by("value", "label").len()
    share = int(counts.group_by("value").agg(pl.col("len").max())["len"].sum()) / pairs.height
    usual = int(counts.group_by("label").agg(pl.col("len").sum())["len"].sort()[-1]) / pairs.height
    return share if share >= _LEAST_SHARE and share - usual >= _LEAST_GAIN else None


def find_leaks(table: Table) -> list[str]:
    """Find the numeric and categorical columns that almost determine the label in the training
    rows.
    """
    columns = table.columns
    if columns.label is None:
        return []
    names = [*columns.numeric, *columns.categorical]
    return [
        name
        for name in names
        if name in table.train.columns
        and measure_leak(table.train, name, columns.label) is not None
    ]


def _bin_values(column: pl.Series) -> pl.Series:
    cells = drop_blanks(column)
    if detect_kind(cells) != "number" or cells.n_unique() <= _BINS:
        return column.cast(pl.String, strict=False)
    numbers = (
        column.cast(pl.String).str.replace(",", ".", literal=True).cast(pl.Float64, strict=False)
    )
    ranges = (numbers.rank("min") - 1) * _BINS / max(1, numbers.len())
    return ranges.floor().cast(pl.String)
