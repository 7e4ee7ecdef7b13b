"""Rows to arrays from a plan, for simulator, site, server and stored models alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import polars as pl

from tacit import data, features
from tacit.assembly.feature_sources import FeatureSources
from tacit.assembly.token_rows import encode_token_rows
from tacit.column_statistics.statistics import ColumnStatistics
from tacit.plan import Columns, Features, Plan, Statistics
from tacit.rows import Inputs, Lexicon, Rows
from tacit.statistics import encode_cells


class EncodedTables(NamedTuple):
    """Tables as arrays, in their order, the words that token numbers stand for (None without
    tokens), and the function that encodes a further table in the same way.
    """

    tables: tuple[Rows, ...]
    lexicon: Lexicon | None
    encode: Callable[[pl.DataFrame], Rows]


def fit_features(
    plan: Plan,
    statistics: ColumnStatistics,
    columns: Columns,
    sources: FeatureSources,
    public: pl.DataFrame | None = None,
) -> features.Fitted:
    """Fit features on merged column statistics; `public` are the rows a projection is fitted on.

    What the plan's schema states replaces what the statistics say. Queries need no features.
    """
    if plan.statistics is not None:
        return features.Fitted(classes=(), ranges={}, categories={})
    return features.fit_statistics(
        statistics,
        columns,
        plan.features,
        sources.secret,
        sources.reader,
        public,
        sources.listed_words,
        plan.agree_values(columns),
        sources.projection,
    )


def encode_tables(
    plan: Plan,
    columns: Columns,
    tables: Sequence[pl.DataFrame],
    fitted: features.Fitted,
    sources: FeatureSources,
    progress: data.Progress | None = None,
) -> EncodedTables:
    """Encode tables with labels. Words are numbered over all tables; the first holds the training
    rows, in which rare words are counted.
    """
    if plan.statistics is not None:
        return _encode_cells(plan.statistics, tables)
    if plan.features.text in ("words", "pieces"):
        reading = (columns, fitted, sources.secret)
        return EncodedTables(*encode_token_rows(plan, tables, *reading, progress))

    def encode(table: pl.DataFrame) -> Rows:
        return features.encode(
            table, columns, plan.features, fitted, sources.secret, sources.reader
        )

    return EncodedTables(tuple(map(encode, tables)), None, encode)


def _encode_cells(settings: Statistics, tables: Sequence[pl.DataFrame]) -> EncodedTables:
    """Encode the cells that queries read."""
    queries = list(settings.parse().values())

    def encode(table: pl.DataFrame) -> Rows:
        return encode_cells(table, queries)

    return EncodedTables(tuple(map(encode, tables)), None, encode)


def encode_inputs(
    table: pl.DataFrame,
    columns: Columns,
    settings: Features,
    fitted: features.Fitted,
    sources: FeatureSources,
) -> Inputs:
    """Encode a table without labels, for a model without a word table."""
    return features.encode_inputs(table, columns, settings, fitted, sources.secret, sources.reader)


def build_empty_table(columns: Columns, fitted: features.Fitted) -> pl.DataFrame:
    """A table without rows whose columns have the types of a loaded table."""
    types: dict[str, pl.DataType] = {
        name: pl.String() for name in (*columns.text, *columns.quasi, *columns.categorical)
    }
    types |= {name: pl.Float64() for name in columns.numeric}
    if columns.image:
        types[columns.image] = pl.Array(pl.UInt8, fitted.pixels or 0)
    if columns.label:
        types[columns.label] = pl.Enum(list(dict.fromkeys(fitted.classes)))
    return pl.DataFrame(schema=types)


def keep_classes(table: pl.DataFrame, label: str, classes: Sequence[str]) -> pl.DataFrame:
    """Keep the rows of some classes; the label becomes an Enum of these classes, in their order."""
    names = pl.col(label).cast(pl.String)
    known = table.filter(names.is_in(list(classes)))
    return known.with_columns(names.cast(pl.Enum(list(classes))))
