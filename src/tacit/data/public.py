"""Rows the center has in the clear, taken from the train rows before anybody else gets one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from tacit.data.table import Table
from tacit.draws import Draws
from tacit.errors import DataError
from tacit.plan import Public

_LEAST = 2
"""One row to train on, and one to choose the best pass by."""


def set_aside(table: Table, public: Public, draws: Draws) -> tuple[Table, pl.DataFrame]:
    """Return the table without the rows the center has, and these rows.

    Guarantees: each train row is in one of the two, in its old order.
    """
    rows = table.train.height
    count = round(public.share * rows)
    if count < _LEAST or count >= rows:
        raise DataError(
            f"public.share = {public.share:g} needs at least {_LEAST} rows for the center and some for clients, got {count:,} of "
            f"{rows:,} train rows; choose another share or give more rows"
        )
    chosen = np.zeros(rows, np.bool_)
    chosen[draws.generator().permutation(rows)[:count]] = True
    mask = pl.Series(chosen)
    return replace(table, train=table.train.filter(~mask)), table.train.filter(mask)
