"""The largest number of clients that a table allows, counted on the rows that remain for training."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.data.clean import to_float
from tacit.data.table import Table
from tacit.errors import DataError
from tacit.plan import Data

Values = NDArray[np.float64]


def find_most_clients(table: Table, data: Data) -> int:
    """Find the largest number of clients, up to `data.clients`, for which `data.partition` leaves
    none empty.

    With `partition = "client"` each owner of a train row is a client. A loaded table no longer
    contains test and validation rows, rows without a label or an owner, rows of another split, or
    rows beyond `data.limit`.
    """
    if data.partition == "client":
        return table.train[table.columns.client or ""].n_unique()
    if data.partition in ("quantile", "interval"):
        values = np.sort(to_float(table.train[data.by or ""]))
        return (
            find_most_ranges(values, data)
            if np.isfinite(values).all()
            else min(data.clients, len(values))
        )
    return min(data.clients, table.train.height)


def find_most_ranges(values: Values, data: Data) -> int:
    """Find the largest number of non-empty ranges of sorted values, up to `data.clients`; equal
    values stay together.
    """
    distinct = np.unique(values)
    for count in range(min(data.clients, len(distinct)), 1, -1):
        starts = compute_range_starts(values, count, data.partition == "quantile")
        if len(np.unique(assign_ranges(distinct, starts))) == count:
            return count
    return 1


def compute_range_starts(values: Values, count: int, is_quantile: bool) -> Values:
    """Compute the lower end of each client's range; `values` are sorted if ranges are equal in
    size.
    """
    if is_quantile:
        return values[np.arange(count) * len(values) // count]
    low, high = float(values.min()), float(values.max())
    # An integer stands for itself up to the next one: ages 17 to 90 span 74 years.
    span = high - low + (1.0 if bool((values == np.round(values)).all()) else 0.0)
    return low + span * np.arange(count) / count


def assign_ranges(values: Values, starts: Values) -> NDArray[np.int64]:
    """Assign each value to its range; values below the first range belong to it."""
    return np.maximum(np.searchsorted(starts, values, side="right") - 1, 0).astype(np.int64)


def require_room(table: Table, data: Data) -> None:
    """Raise DataError, naming the largest possible number, if the plan has more clients than the
    train rows allow.
    """
    most = find_most_clients(table, data)
    if data.partition == "client" or most >= data.clients:
        return
    why, other = f"{table.train.height:,} train rows are left", ""
    if data.partition in ("quantile", "interval"):
        why = f"equal values stay together in {data.by!r}"
        other = (
            f", or data.partition to {'quantile' if data.partition == 'interval' else 'interval'!r}"
        )
    raise DataError(
        f"data.clients = {data.clients:,} is too many: each client must have a train row, and"
        f" {why}; set data.clients to {most} or less{other}. {table.source}".rstrip()
    )


def require_test_rows(table: Table, data: Data) -> None:
    """Raise DataError if there is no test row."""
    if not table.test.height:
        raise DataError(
            f"data.test = {data.test:g} leaves no test rows; raise data.test or data.validation"
            " above 0, or name a split column that marks test rows"
        )
