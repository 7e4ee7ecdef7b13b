"""Keys for rows that are not a table (images, embeddings), to be named as a quasi-identifier:
similar rows get equal keys.
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
    """Compute one integer per row: on which side of `bits` public random hyperplanes through the
    mean it lies.


    Rows at an angle t (seen from the mean) share each bit with probability 1 - t/pi. Put the key
    into the table as a column, name that column under `data.columns.quasi`, and k-anonymity then
    means: k rows on the same side of every plane. Source: random-hyperplane hashing, Charikar 2002.
    The mean is read from the rows: compute it on public rows, or at each client by itself.

    Edge cases: rows of any shape are flattened; without rows the key is empty.
    """
    if not 1 <= bits <= _MOST_BITS:
        raise DataError(
            f"similarity_key: bits must be between 1 and {_MOST_BITS}, got {bits}; 8 to 16 are"
            " usual"
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
    """Add a column computed by a user's function; rows with equal values count as similar."""
    values = pl.Series(name, key(frame))
    if len(values) != frame.height:
        raise DataError(
            f"add_key_column: key must return one value per row ({frame.height:,}), got"
            f" {len(values):,}"
        )
    return frame.with_columns(values)
