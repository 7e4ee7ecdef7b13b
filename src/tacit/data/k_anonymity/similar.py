"""Rows that are no table: a key under which similar rows fall together, to be named as a
quasi-identifier.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tacit.errors import DataError
from tacit.randomness import Draws

_MOST_BITS = 32


def similarity_key(rows: NDArray[Any], bits: int, draws: Draws) -> pl.Series:
    """Return one whole number per row: on which side of `bits` public random planes through the
    rows' middle it lies.

    Rows at an angle t (seen from the middle) share each bit with probability 1 - t/pi. Put the key
    into the table as a column, name that column under `data.columns.quasi`, and "k look alike"
    means: k rows on the same side of every plane. Source: random-hyperplane hashing, Charikar 2002.
    The middle is read from the rows: compute it on public rows, or at each client by itself.

    Edge cases: rows of any shape are flattened; without rows the key is empty.
    """
    if not 1 <= bits <= _MOST_BITS:
        raise DataError(
            f"similarity_key(bits={bits}) needs 1 to {_MOST_BITS} bits, got another number; 8 to 16"
            " are usual"
        )
    flat = (
        np.asarray(rows, np.float32).reshape(len(rows), -1)
        if len(rows)
        else np.zeros((0, 1), np.float32)
    )
    planes = draws.at("planes").generator().standard_normal((flat.shape[1], bits), dtype=np.float32)
    sides = (flat - (flat.mean(axis=0) if len(flat) else 0)) @ planes > 0
    return pl.Series(
        "key", sides @ (np.uint64(1) << np.arange(bits, dtype=np.uint64)), dtype=pl.UInt64
    )


def add_key_column(
    frame: pl.DataFrame, key: Callable[[pl.DataFrame], Any], name: str = "key"
) -> pl.DataFrame:
    """Return the frame with one more column: what a function of your own gives for its rows. Equal
    values look alike.
    """
    values = pl.Series(name, key(frame))
    if len(values) != frame.height:
        raise DataError(
            f"keyed(key) needs one value per row ({frame.height:,}), got {len(values):,}; return as"
            " many as there are rows"
        )
    return frame.with_columns(values)
