"""Values of a column that enough clients have. Rarer ones could identify people, so they are
neither sent nor stored in a model.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from tacit.printable import is_plain_name

if TYPE_CHECKING:
    import polars as pl

LEAST_CLIENTS = 10
"""Minimum number of clients that have a category, unless a plan or an owner's policy sets another.
"""
MISSING = "(missing)"
"""The category of a cell without one."""


class CommonValues(NamedTuple):
    """The values that enough clients have, sorted, and how many rows have one of them."""

    values: list[str]
    rows: int


def find_common_values(
    frame: pl.DataFrame, name: str, client: str | None, least: int
) -> CommonValues:
    """Values of a column that at least `least` clients have; without a column of clients, rows are
    counted. Nulls do not count.

    A value with control or invisible characters is not a usable name and counts as rare.
    """
    import polars as pl

    owned = client is not None and client in frame.columns
    who = pl.col("who").n_unique() if owned else pl.len()
    pairs = frame.select(
        pl.col(name).cast(pl.String).alias("value"),
        *([pl.col(str(client)).alias("who")] if owned else []),
    )
    counted = (
        pairs.drop_nulls("value")
        .group_by("value")
        .agg(who.alias("clients"), pl.len().alias("rows"))
    )
    plain = pl.Series(
        [is_plain_name(value) for value in counted["value"].to_list()], dtype=pl.Boolean
    )
    found = counted.filter(pl.col("clients") >= least, plain)
    return CommonValues(sorted(found["value"].to_list()), int(found["rows"].sum()))


def count_required(frame: pl.DataFrame, client: str | None, least: int) -> int:
    """Minimum number of clients that must have a value: `least`, or half of all clients if there
    are fewer than twice that number, but at least 2. Without a column of clients, rows are counted,
    and the minimum is `least`.
    """
    if client is None or client not in frame.columns:
        return least
    return min(least, max(2, math.ceil(frame[client].n_unique() / 2)))
