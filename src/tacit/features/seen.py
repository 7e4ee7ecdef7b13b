"""What features must know of the rows of one place, in the clear; what several places saw can be
put together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from tacit.column_statistics.number_format import Formats, agree_formats
from tacit.errors import DataError
from tacit.features.cells import read_numbers, sort_names


@dataclass(frozen=True, kw_only=True)
class Seen:
    """The classes, the ends of numeric columns without an agreed range, the categories, the size of
    a picture, the numeric columns in which cells lack a number, and how numbers are written, unless
    the plan says so.
    """

    classes: tuple[str, ...]
    ranges: Mapping[str, tuple[float, float]]
    categories: Mapping[str, tuple[str, ...]]
    pixels: int | None = None
    missing: tuple[str, ...] = ()
    formats: Formats = field(default_factory=dict)


def together(parts: Sequence[Seen]) -> Seen:
    """Return what all rows say, from what the rows of each place say."""
    sizes = {part.pixels for part in parts}
    if len(sizes) > 1:
        raise DataError(
            f"features(image) needs pictures of one size at all sites, got {len(sizes)} sizes;"
            " scale them first"
        )
    ranges = {name: [part.ranges[name] for part in parts] for name in parts[0].ranges}
    return Seen(
        classes=_union([part.classes for part in parts]),
        ranges={
            name: (min(low for low, _ in ends), max(high for _, high in ends))
            for name, ends in ranges.items()
        },
        categories={
            name: _union([part.categories[name] for part in parts]) for name in parts[0].categories
        },
        pixels=parts[0].pixels,
        missing=tuple(sorted({name for part in parts for name in part.missing})),
        formats=agree_formats([part.formats for part in parts]),
    )


def _union(parts: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    return sort_names(pl.Series([name for part in parts for name in part], dtype=pl.String))


def range_of(frame: pl.DataFrame, name: str, tail: float = 0.0) -> tuple[float, float]:
    """Return the ends of the column, less a share of its rows at either end; a column without any
    number counts as all zero.

    Edge cases: where what is left has one value only, the ends of the whole column.
    """
    values = read_numbers(frame, name)
    present = values[~np.isnan(values)]
    if not len(present):
        return 0.0, 0.0
    low, high = np.quantile(present, (tail, 1 - tail), method="nearest")
    return (float(low), float(high)) if low < high else (float(present.min()), float(present.max()))
