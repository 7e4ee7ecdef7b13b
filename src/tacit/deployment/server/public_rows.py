"""Rows of the server's own in a run between sites: the first model and the projection of image
features are fitted on them.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from tacit import data
from tacit.assembly.feature_sources import gather_feature_sources
from tacit.assembly.rows import fit_features
from tacit.column_statistics.statistics import ColumnStatistics
from tacit.features import Projection
from tacit.plan import Plan
from tacit.randomness import Draws


def read_own_rows(plan: Plan, classes: Sequence[str], draws: Draws) -> pl.DataFrame:
    """Read the public rows that a plan names, with the classes of the sites."""
    assert plan.public is not None, "a plan without [public] names no rows"
    return data.read_public_rows(
        plan.public,
        plan.data.columns,
        pl.Enum(classes),
        draws.at("center", "rows"),
        schema=plan.schema,
    )


def fit_own_projection(plan: Plan, statistics: ColumnStatistics, draws: Draws) -> Projection | None:
    """Fit the projection of a plan on the server's public rows; None if it projects nothing."""
    columns = plan.data.columns
    if plan.features.project is None or columns.image is None:
        return None
    classes = plan.agree_values(columns).classes or statistics.classes
    sources = gather_feature_sources(columns, plan.features)
    rows = read_own_rows(plan, classes, draws)
    return fit_features(plan, statistics, columns, sources, rows).projection
