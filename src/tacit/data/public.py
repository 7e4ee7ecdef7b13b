"""Public rows that the server may see: those of another source, or some train rows set aside before
clients get theirs.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from tacit.data.download.fetch import Progress
from tacit.data.load import load
from tacit.data.named.catalogue import load_own_data_set
from tacit.data.named.entry import NamedDataSet
from tacit.data.read import is_file_source
from tacit.data.table import Table
from tacit.errors import DataError
from tacit.extensions import Reference
from tacit.plan import Columns, Data, Public, Schema
from tacit.randomness import Draws

_LEAST = 2
"""Minimum number of public rows: one to train on, and one to choose the best pass by."""


def set_aside(
    table: Table,
    public: Public,
    draws: Draws,
    progress: Progress | None = None,
    *,
    schema: Schema | None = None,
) -> tuple[Table, pl.DataFrame]:
    """Split the table into the clients' rows and the server's public rows; rows of another source
    leave the table unchanged.

    Guarantees: each train row is in one of the two, in its old order.
    """
    if public.source:
        classes = table.train.schema[table.columns.label or ""]
        assert isinstance(classes, pl.Enum), "a loaded table's label is an Enum"
        return table, read_public_rows(
            public, table.columns, classes, draws, progress, schema=schema
        )
    rows = table.train.height
    count = round(public.share * rows)
    if count < _LEAST or count >= rows:
        raise DataError(
            f"public.share = {public.share:g} gives the server {count:,} of {rows:,} train rows;"
            f" it must have at least {_LEAST}, and clients must keep some; change the share or give"
            " more rows"
        )
    chosen = np.zeros(rows, np.bool_)
    chosen[draws.generator().permutation(rows)[:count]] = True
    mask = pl.Series(chosen)
    return replace(table, train=table.train.filter(~mask)), table.train.filter(mask)


def read_public_rows(
    public: Public,
    columns: Columns,
    classes: pl.Enum,
    draws: Draws,
    progress: Progress | None = None,
    *,
    schema: Schema | None = None,
) -> pl.DataFrame:
    """Read some train rows of another source, with the clients' columns, classes and schema."""
    source, label = public.source or "", columns.label or ""
    needed = [
        *columns.text,
        *columns.numeric,
        *columns.categorical,
        *([columns.image] if columns.image else []),
        label,
    ]
    asked = (
        replace(columns, client=None, split=None, quasi=()) if _takes_roles(source) else Columns()
    )
    # A file is public as a whole; a named data set has test rows, which are evaluated on.
    settings = Data(source=source, columns=asked, test=0.0 if _takes_roles(source) else Data.test)
    rows = load(settings, draws, progress=progress, schema=schema).train
    missing = [name for name in needed if name not in rows.columns]
    if missing:
        raise DataError(
            f"public.source = {source!r} lacks columns of the clients' rows: {', '.join(missing)};"
            " rename its columns"
        )
    known = sorted(classes.categories.to_list())
    others = [
        name for name in rows[label].cast(pl.String).unique().sort().to_list() if name not in known
    ]
    if others:
        raise DataError(
            f"public.source = {source!r} has labels that the clients do not have:"
            f" {', '.join(others[:20])}; rename them to {', '.join(known[:20])}"
        )
    rows = rows.select(
        pl.col(name).cast(pl.String).cast(classes) if name == label else name for name in needed
    )
    return _draw_share(rows, public.share, draws)


def _takes_roles(source: str) -> bool:
    """Whether rows get the column roles of the clients' rows: those of a file, or of a function."""
    if isinstance(source, Reference):
        return not isinstance(load_own_data_set(source, "public.source"), NamedDataSet)
    return is_file_source(source)


def _draw_share(rows: pl.DataFrame, share: float, draws: Draws) -> pl.DataFrame:
    count = max(_LEAST, round(share * rows.height))
    return rows[np.sort(draws.generator().permutation(rows.height)[:count])]
