"""A number of rows that each client asks for: its own k, which applies to its own rows."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tacit.plan import RowSharing
from tacit.rows import Clients

_NEVER = np.iinfo(np.int64).max


def find_reached_k(
    train: pl.DataFrame, clients: Clients, settings: RowSharing, sizes: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Find the rows, client after client, whose class has as many rows as their client asks for;
    `sizes` are the counted rows of each row's class.

    A client asks for the greatest number in its rows. Edge cases: an empty cell asks for nothing. A
    cell that is no number, or a negative one, keeps all rows of the client: what it asks for is
    unknown.
    """
    assert settings.k_column is not None
    asked = _read_numbers(train[settings.k_column][clients.order])
    owner = np.repeat(np.arange(len(clients)), clients.sizes())
    greatest = np.zeros(len(clients), np.int64)
    np.maximum.at(greatest, owner, asked)
    needed = greatest[owner]
    return np.asarray((needed < _NEVER) & (sizes - settings.other_rows >= needed))


def _read_numbers(column: pl.Series) -> NDArray[np.int64]:
    """The number of each cell, rounded up; 0 for an empty one, `_NEVER` for an unreadable one."""
    cells = column
    if not column.dtype.is_numeric():
        text = column.cast(pl.String).str.strip_chars()
        cells = pl.select(pl.when(text == "").then(None).otherwise(text)).to_series()
    numbers = cells.cast(pl.Float64, strict=False).to_numpy()
    missing = cells.is_null().to_numpy()
    found = np.full(len(numbers), _NEVER, np.int64)
    fits = np.isfinite(numbers) & (numbers >= 0) & (numbers < 2**53)
    found[fits] = np.ceil(numbers[fits]).astype(np.int64)
    found[missing] = 0
    return found
