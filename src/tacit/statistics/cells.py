"""The cells that queries read, as one array of records: numbers, names of values, texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tacit.plan.tables.statistics.query import Query
from tacit.rows import Dense, Rows

LONGEST_NAME = 32
"""Bytes of a value's name in UTF-8; longer ones count as other values."""

Records = NDArray[Any]


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Rows of some people that count, as records; `owner` is the number of each row's person.

    `draws` are random numbers of each person, `rows_each` and `words_each` the largest numbers of
    rows and of different words of a person.
    """

    records: Records
    owner: NDArray[np.int64]
    people: int
    rows_each: int
    words_each: int
    draws: Sequence[np.random.Generator] = ()

    def numbers(self, column: str) -> NDArray[np.float64]:
        """A column of numbers; NaN where a cell has none."""
        return np.asarray(self.records[f"number {column}"], np.float64)

    def texts(self, column: str) -> NDArray[np.object_]:
        """A column of names or texts, in UTF-8."""
        return np.asarray(self.records[f"text {column}"])


def encode_cells(table: pl.DataFrame, queries: Sequence[Query]) -> Rows:
    """Encode the columns that some queries read, one record for each row of a table."""
    kinds: dict[str, str] = {}
    for query in queries:
        kind = "number" if query.role == "numeric" else "text"
        kinds |= {f"{kind} {column}": column for column in query.columns}
    parts: dict[str, NDArray[Any]] = {
        kind: _read_numbers(table[column])
        if kind.startswith("number ")
        else _read_texts(table[column])
        for kind, column in kinds.items()
    }
    fields: list[tuple[str, np.dtype[Any]]] = [(kind, part.dtype) for kind, part in parts.items()]
    records = np.zeros(table.height, fields or [("none", np.dtype(np.uint8))])
    for kind, part in parts.items():
        records[kind] = part
    return Rows(
        inputs=Dense(matrix=records, width=len(parts)),
        labels=np.zeros(table.height, np.int32),
        classes=(),
    )


def _read_numbers(column: pl.Series) -> NDArray[np.float64]:
    """Numbers; NaN where a cell has none that is finite."""
    values = column.cast(pl.Float64, strict=False).to_numpy().astype(np.float64)
    return np.where(np.isfinite(values), values, np.nan)


def _read_texts(column: pl.Series) -> NDArray[np.object_]:
    """Cells as UTF-8; an integer is written alike in every column type."""
    if column.dtype.is_float():
        is_integer = (column == column.round()) & (column.abs() < 2**53)
        text = column.cast(pl.String).zip_with(
            ~is_integer.fill_null(False), column.cast(pl.Int64, strict=False).cast(pl.String)
        )
    else:
        text = column.cast(pl.String)
    cells = np.empty(len(text), object)  # a fixed width would be that of the longest cell of all
    cells[:] = [value.encode() for value in text.fill_null("(missing)").to_list()]
    return cells
