"""Estimates over seeds: mean, standard deviation, intervals, comparisons."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean, stdev

from tacit.interval import CONFIDENCE

LEAST_SEEDS = 3
"""Minimum number of seeds for a comparison: two say almost nothing about their own spread."""

Ends = tuple[float, float]


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds. Zero seeds mean an exact number, such as a count or a size."""

    mean: float
    deviation: float | None  # of single seeds; None where it is not known
    seeds: int

    @classmethod
    def of(cls, values: list[float], *, drawn: bool = True) -> Estimate:
        """Estimate from values, one per seed; if nothing is drawn at random there is one value, and
        it is exact.
        """
        if not drawn:
            return cls(values[0], 0.0, 0)
        return cls(fmean(values), stdev(values) if len(values) > 1 else None, len(values))

    @property
    def is_comparable(self) -> bool:
        """Whether there are enough seeds for a comparison."""
        return self.deviation is not None and (self.seeds == 0 or self.seeds >= LEAST_SEEDS)

    @property
    def interval(self) -> Ends | None:
        """The 95 % confidence interval of the mean by Student's t; None for fewer than two seeds or
        an exact number.
        """
        if self.deviation is None or self.seeds < 2:
            return None
        half = _quantile(self.seeds - 1) * self.deviation / self.seeds**0.5
        return self.mean - half, self.mean + half

    @property
    def prediction_interval(self) -> Ends | None:
        """The 95 % prediction interval of one more seed; None for fewer than three seeds."""
        if not self.is_comparable or self.deviation is None:
            return None
        half = (
            _quantile(self.seeds - 1) * self.deviation * math.sqrt(1 + 1 / self.seeds)
            if self.seeds
            else 0.0
        )
        return self.mean - half, self.mean + half


def difference(mine: Estimate, other: Estimate) -> Ends | None:
    """The 95 % interval of `mine` minus `other` by Welch's t; None if one has too few seeds."""
    variances = _variances(mine, other)
    if variances is None:
        return None
    half = _welch(variances, (mine.seeds, other.seeds))
    return mine.mean - other.mean - half, mine.mean - other.mean + half


def ratio(mine: Estimate, other: Estimate) -> Ends | None:
    """The prediction interval of the ratio of one more seed of each, to first order; None if one
    has too few seeds or is zero.
    """
    if (
        not (mine.is_comparable and other.is_comparable)
        or mine.deviation is None
        or other.deviation is None
        or not other.mean
    ):
        return None
    value = mine.mean / other.mean
    shares = [
        (
            (one.deviation or 0.0) ** 2 / one.mean**2 * (1 + 1 / one.seeds)
            if one.seeds and one.mean
            else 0.0
        )
        for one in (mine, other)
    ]
    seeds = [one.seeds for one in (mine, other) if one.seeds]
    half = abs(value) * sum(shares) ** 0.5 * (_quantile(min(seeds) - 1) if seeds else 0.0)
    return value - half, value + half


def _variances(mine: Estimate, other: Estimate) -> tuple[float, float] | None:
    if not (mine.is_comparable and other.is_comparable):
        return None
    first, second = ((one.deviation or 0.0) ** 2 / max(1, one.seeds) for one in (mine, other))
    return first, second


def _welch(variances: tuple[float, float], seeds: tuple[int, int]) -> float:
    total = sum(variances)
    if not total:
        return 0.0
    below = sum(
        variance**2 / (number - 1)
        for variance, number in zip(variances, seeds, strict=True)
        if variance
    )
    return _quantile(total**2 / below) * math.sqrt(total)


def _quantile(freedom: float) -> float:
    from scipy.stats import t

    return float(t.ppf((1 + CONFIDENCE) / 2, freedom))
