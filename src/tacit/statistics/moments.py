"""Counts, sums, means and correlations: bounded values that are added up."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.plan.tables.statistics.query import Range
from tacit.statistics.answer import Noise, NoisyFigure
from tacit.statistics.block import (
    Entries,
    QueryBlock,
    Result,
    Sums,
    average,
    build_entries,
    join_entries,
)
from tacit.statistics.cells import Batch

_SIMULATIONS = 4000
"""Draws of the noise by which the interval of a correlation is found."""


@dataclass(frozen=True)
class CountBlock(QueryBlock):
    """The number of rows, or of people with a row; with a column, of rows without a number in it."""

    rows_each: int
    people: bool = False
    column: str = ""
    size: int = 1

    def contribute(self, batch: Batch, before: Sums | None, noise: Noise) -> Entries:
        """One for each row or person."""
        owner = batch.owner
        if self.column:
            owner = owner[np.isnan(batch.numbers(self.column))]
        if self.people:
            owner = np.unique(owner)
        return build_entries(owner, np.zeros(len(owner), np.int64), 1 / self._most)

    def answer(self, sums: Sequence[Sums], noise: Noise) -> Result:
        """The count."""
        value = float(average(sums)[0]) * self._most
        label = "people" if self.people else "rows without a number" if self.column else "rows"
        figure = noise.over(len(sums)).build_figure(label, value, self._most)
        return Result((figure,), self._most / math.sqrt(len(sums)))

    @property
    def _most(self) -> int:
        return 1 if self.people else self.rows_each


@dataclass(frozen=True)
class SumBlock(QueryBlock):
    """The sum of the numbers of a column, clamped to a range."""

    column: str
    range: Range
    rows_each: int
    size: int = 1

    def contribute(self, batch: Batch, before: Sums | None, noise: Noise) -> Entries:
        """Each number divided by the largest absolute value of the range."""
        values = np.clip(batch.numbers(self.column), self.range.low, self.range.high)
        known = ~np.isnan(values)
        scaled = values[known] / self._largest / self.rows_each
        return build_entries(batch.owner[known], np.zeros(int(known.sum()), np.int64), scaled)

    def answer(self, sums: Sequence[Sums], noise: Noise) -> Result:
        """The sum."""
        scale = self._largest * self.rows_each
        value = float(average(sums)[0]) * scale
        figure = noise.over(len(sums)).build_figure("sum", value, scale)
        return Result((figure,), self.rows_each / math.sqrt(len(sums)), describe_range(self.range))

    @property
    def _largest(self) -> float:
        return max(abs(self.range.low), abs(self.range.high))


@dataclass(frozen=True)
class MeanBlock(QueryBlock):
    """The mean of the numbers of a column, clamped to a range: a sum and a count."""

    column: str
    range: Range
    rows_each: int
    size: int = 2

    def contribute(self, batch: Batch, before: Sums | None, noise: Noise) -> Entries:
        """One for each number, and the number scaled to -1…1; the norm of both is at most √2."""
        scaled = scale_to_unit(batch.numbers(self.column), self.range)
        known = ~np.isnan(scaled)
        owner, part = batch.owner[known], 1 / (math.sqrt(2) * self.rows_each)
        places = np.zeros(len(owner), np.int64)
        return join_entries(
            [
                build_entries(owner, places, part),
                build_entries(owner, places + 1, scaled[known] * part),
            ]
        )

    def answer(self, sums: Sequence[Sums], noise: Noise) -> Result:
        """The mean, with the interval of a ratio of two Gaussian values by Fieller's theorem."""
        total, scale = average(sums), math.sqrt(2) * self.rows_each
        here = noise.over(len(sums))
        count, unit = float(total[0]), float(total[1])
        low, high = bound_ratio(unit, count, here.deviations * here.stddev)
        middle, half = self.range.low / 2 + self.range.high / 2, self._half
        mean = middle + half * min(1.0, max(-1.0, unit / count)) if count > 0 else None
        figures = (
            NoisyFigure(
                label="mean", value=mean, low=middle + half * low, high=middle + half * high
            ),
            here.build_figure("rows", count * scale, scale),
        )
        return Result(figures, scale / math.sqrt(len(sums)), describe_range(self.range))

    @property
    def _half(self) -> float:
        return self.range.high / 2 - self.range.low / 2


@dataclass(frozen=True)
class CorrelationBlock(QueryBlock):
    """Pearson's correlation of two columns, each clamped to a range: six moments."""

    columns: tuple[str, str]
    ranges: tuple[Range, Range]
    rows_each: int
    size: int = 6

    def contribute(self, batch: Batch, before: Sums | None, noise: Noise) -> Entries:
        """1, x, y, x², y² and xy for each row with both numbers, scaled to -1…1: norm at most √6."""
        x, y = (
            scale_to_unit(batch.numbers(column), ends)
            for column, ends in zip(self.columns, self.ranges, strict=True)
        )
        known = ~(np.isnan(x) | np.isnan(y))
        x, y, owner = x[known], y[known], batch.owner[known]
        part = 1 / (math.sqrt(6) * self.rows_each)
        moments = (np.ones(len(x)), x, y, x * x, y * y, x * y)
        return join_entries(
            [
                build_entries(owner, np.full(len(owner), place), moment * part)
                for place, moment in enumerate(moments)
            ]
        )

    def answer(self, sums: Sequence[Sums], noise: Noise) -> Result:
        """The correlation; its interval holds the correlations of the moments that the noise
        allows, found by drawing it again.
        """
        total, here = average(sums), noise.over(len(sums))
        scale = math.sqrt(6) * self.rows_each
        drawn = np.random.default_rng(0).normal(0, here.stddev, (_SIMULATIONS, 6))
        found = _correlate(total[None] - drawn)
        known = found[~np.isnan(found)]
        value = float(_correlate(total[None])[0])
        low, high = -1.0, 1.0
        if not math.isnan(value) and len(known) > 0.99 * _SIMULATIONS:
            tail = (1 - here.confidence) / 2
            low, high = (float(end) for end in np.quantile(known, [tail, 1 - tail]))
        estimate = None if math.isnan(value) else value
        figures = (
            NoisyFigure(label="correlation", value=estimate, low=low, high=high),
            here.build_figure("rows", float(total[0]) * scale, scale),
        )
        note = "; ".join(
            f"{column}: {describe_range(ends)}"
            for column, ends in zip(self.columns, self.ranges, strict=True)
        )
        return Result(figures, scale / math.sqrt(len(sums)), note)


def _correlate(moments: NDArray[np.float64]) -> NDArray[np.float64]:
    """Correlations from rows of six moments; NaN where a variance is not positive."""
    with np.errstate(all="ignore"):
        count = np.where(moments[:, 0] > 0, moments[:, 0], np.nan)
        x, y, xx, yy, xy = (moments[:, place] / count for place in range(1, 6))
        spread = (xx - x * x, yy - y * y)
        product = np.where((spread[0] > 0) & (spread[1] > 0), spread[0] * spread[1], np.nan)
        return np.clip((xy - x * y) / np.sqrt(product), -1, 1)


def scale_to_unit(values: NDArray[np.float64], ends: Range) -> NDArray[np.float64]:
    """Numbers clamped to a range and scaled to -1…1."""
    middle, half = ends.low / 2 + ends.high / 2, ends.high / 2 - ends.low / 2
    return (np.clip(values, ends.low, ends.high) - middle) / half


def bound_ratio(top: float, bottom: float, half: float) -> tuple[float, float]:
    """The interval of top / bottom within -1…1, if each has independent noise whose interval has half
    the width `half`: all r with |top - r bottom| <= half √(1 + r²).
    """
    a, b, c = bottom**2 - half**2, top * bottom, top**2 - half**2
    square = b * b - a * c
    if bottom <= 0 or a <= 0 or square < 0:
        return -1.0, 1.0
    root = math.sqrt(square)
    low, high = (min(1.0, max(-1.0, (b + end) / a)) for end in (-root, root))
    return low, high


def describe_range(ends: Range) -> str:
    """What happens to numbers outside a range."""
    return f"numbers below {ends.low:g} or above {ends.high:g} count as these"
