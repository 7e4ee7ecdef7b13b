"""What a plan states about columns, so that nobody computes it from rows or publishes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tacit.column_statistics.statistics import ColumnStatistics, sort_naturally


@dataclass(frozen=True, kw_only=True)
class AgreedValues:
    """Classes of the label, ranges and categories of columns, and whether a numeric column may have
    missing numbers, as far as the plan's schema states them.
    """

    classes: tuple[str, ...] = ()
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    may_miss: Mapping[str, bool] = field(default_factory=dict)


def complete_statistics(statistics: ColumnStatistics, agreed: AgreedValues) -> ColumnStatistics:
    """Fill in what the plan states. It replaces whatever a site or a server says about it."""
    missing = {name for name in statistics.missing if name not in agreed.may_miss}
    missing |= {name for name, may in agreed.may_miss.items() if may}
    categories = {name: tuple(sort_naturally(known)) for name, known in agreed.categories.items()}
    return replace(
        statistics,
        classes=tuple(sort_naturally(agreed.classes)) or statistics.classes,
        ranges={**statistics.ranges, **agreed.ranges},
        categories={**statistics.categories, **categories},
        missing=tuple(sorted(missing)),
    )
