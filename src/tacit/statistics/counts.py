"""Counts of stated values, and histograms over a range."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit.plan.tables.statistics.query import Range
from tacit.statistics.answer import Noise
from tacit.statistics.block import Entries, QueryBlock, Result, Sums, average, build_entries
from tacit.statistics.cells import Batch
from tacit.statistics.moments import describe_range


@dataclass(frozen=True)
class CategoriesBlock(QueryBlock):
    """The number of rows with each of some stated values, and with any other."""

    column: str
    values: tuple[str, ...]
    rows_each: int

    @property
    def size(self) -> int:  # type: ignore[override]
        """One coordinate for each value, and one for all others."""
        return len(self.values) + 1

    def contribute(self, batch: Batch, before: Sums | None, noise: Noise) -> Entries:
        """One at the place of each row's value."""
        cells, which = np.unique(batch.texts(self.column), return_inverse=True)
        known = {value.encode(): place for place, value in enumerate(self.values)}
        places = np.array([known.get(bytes(cell), len(known)) for cell in cells], np.int64)
        return build_entries(batch.owner, places[which], 1 / self.rows_each)

    def answer(self, sums: Sequence[Sums], noise: Noise) -> Result:
        """One count for each value."""
        counts, here = average(sums) * self.rows_each, noise.over(len(sums))
        labels = (*self.values, "other values")
        figures = tuple(
            here.build_figure(label, float(count), self.rows_each)
            for label, count in zip(labels, counts, strict=True)
        )
        return Result(figures, self.rows_each / math.sqrt(len(sums)))


@dataclass(frozen=True)
class HistogramBlock(QueryBlock):
    """The number of rows in each of some equally wide bins of a range."""

    column: str
    range: Range
    bins: int
    rows_each: int

    @property
    def size(self) -> int:  # type: ignore[override]
        """One coordinate for each bin."""
        return self.bins

    def contribute(self, batch: Batch, before: Sums | None, noise: Noise) -> Entries:
        """One at the bin of each number."""
        values = batch.numbers(self.column)
        known = ~np.isnan(values)
        places = find_bins(values[known], self.range, self.bins)
        return build_entries(batch.owner[known], places, 1 / self.rows_each)

    def answer(self, sums: Sequence[Sums], noise: Noise) -> Result:
        """One count for each bin."""
        counts, here = average(sums) * self.rows_each, noise.over(len(sums))
        edges = np.linspace(self.range.low, self.range.high, self.bins + 1)
        figures = tuple(
            here.build_figure(f"{low:g} to {high:g}", float(count), self.rows_each)
            for low, high, count in zip(edges[:-1], edges[1:], counts, strict=True)
        )
        return Result(figures, self.rows_each / math.sqrt(len(sums)), describe_range(self.range))


def find_bins(values: Sums, ends: Range, bins: int) -> np.ndarray:
    """The bin of each number; those outside the range are in the first or the last."""
    share = (values / 2 - ends.low / 2) / (ends.high / 2 - ends.low / 2)
    return np.clip(np.floor(share * bins), 0, bins - 1).astype(np.int64)
