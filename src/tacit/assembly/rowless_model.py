"""A plan's model without rows, from merged column statistics: at the server, and at a site that
receives a model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from tacit import features, training
from tacit.assembly.client_side import PrivateParts, build_learner
from tacit.assembly.feature_sources import gather_feature_sources
from tacit.assembly.rows import build_empty_table, encode_tables, fit_features
from tacit.assembly.run_files import StoredFeatures
from tacit.column_statistics.number_format import NumberFormat
from tacit.column_statistics.statistics import ColumnStatistics
from tacit.plan import Plan
from tacit.randomness import Draws
from tacit.rows import Clients, Rows


@dataclass(frozen=True, kw_only=True)
class RowlessModel:
    """A learner over no rows, the features of its inputs, and the function that encodes a table."""

    fitted: features.Fitted
    rows: Rows
    encode: Callable[[pl.DataFrame], Rows]
    learner: training.Learner
    stored_features: StoredFeatures


def build_rowless_model(
    plan: Plan,
    statistics: ColumnStatistics,
    draws: Draws,
    folder: Path,
    projection: features.Projection | None = None,
    secret: bytes = b"",
) -> RowlessModel:
    """Build a plan's learner and features from the statistics of all sites.

    `folder` would hold private parameters of clients, if there were any; it is not created.
    `projection` is the one that the sites of the run received, `secret` the one that their clients
    share; the server has none.
    """
    columns = plan.data.columns
    sources = gather_feature_sources(columns, plan.features, secret, projection=projection)
    fitted = fit_features(plan, statistics, columns, sources)
    # Without rows there are no words, so no public vectors of any are needed.
    wordless = replace(plan, private=replace(plan.private, start="random"))
    empty = build_empty_table(columns, fitted)
    (rows,), lexicon, encode = encode_tables(wordless, columns, (empty,), fitted, sources)
    nobody_here = Clients(order=np.zeros(0, np.int64), starts=np.zeros(1, np.int64))
    parts = PrivateParts(folder=folder, draws=draws, lexicon=lexicon)
    return RowlessModel(
        fitted=fitted,
        rows=rows,
        encode=encode,
        learner=build_learner(plan, rows, nobody_here, parts),
        stored_features=StoredFeatures(
            inputs=rows.inputs.width,
            columns=columns,
            fitted=fitted,
            formats={"decimal": find_decimal_marks(plan, statistics)},
        ),
    )


def find_decimal_marks(plan: Plan, statistics: ColumnStatistics) -> dict[str, str]:
    """The decimal mark of each numeric column for later rows: the plan's, or the one that sites
    agreed on.
    """
    agreed = statistics.formats
    return {
        name: plan.data.decimal or agreed.get(name, NumberFormat()).mark
        for name in plan.data.columns.numeric
    }
