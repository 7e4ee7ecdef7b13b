"""Estimates over seeds: mean, standard deviation, intervals, comparisons."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import fmean, stdev
from typing import NamedTuple

from tacit.interval import CONFIDENCE

LEAST_SEEDS = 3
"""Minimum number of seeds for a comparison: two say almost nothing about their own spread."""

POWER = 0.8
"""Probability with which the number of seeds that a comparison needs would decide it."""

MOST_SEEDS = 10_000
"""A comparison that needs more seeds than this has no measured difference to confirm."""

Ends = tuple[float, float]


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds. Zero seeds mean an exact number, such as a count or a size."""

    mean: float
    deviation: float | None  # of single seeds; None where it is not known
    seeds: int
    values: Mapping[int, float] = field(default_factory=dict, compare=False)
    """Seed → value, if single seeds are known: then two estimates are compared seed by seed."""

    @classmethod
    def of(cls, values: list[float], *, drawn: bool = True) -> Estimate:
        """Estimate from values, one per seed; if nothing is drawn at random there is one value, and
        it is exact.
        """
        if not drawn:
            return cls(values[0], 0.0, 0)
        return cls(fmean(values), stdev(values) if len(values) > 1 else None, len(values))

    @classmethod
    def of_seeds(cls, values: Mapping[int, float]) -> Estimate:
        """Estimate from values by seed."""
        plain = cls.of(list(values.values()))
        return cls(plain.mean, plain.deviation, plain.seeds, dict(values))

    def join(self, values: Mapping[int | None, float]) -> Estimate:
        """The estimate over its own seeds and others, which have these values; which value belongs
        to which of its own seeds stays unknown.
        """
        if not values:
            return self
        other = Estimate.of(list(values.values()))
        seeds = self.seeds + other.seeds
        squares = (
            sum((one.seeds - 1) * (one.deviation or 0.0) ** 2 for one in (self, other))
            + self.seeds * other.seeds / seeds * (self.mean - other.mean) ** 2
        )
        mean = (self.seeds * self.mean + other.seeds * other.mean) / seeds
        return Estimate(mean, math.sqrt(squares / (seeds - 1)), seeds)

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
    def width(self) -> float:
        """The width of the interval; zero for an exact number, infinite for one seed."""
        if self.seeds == 0:
            return 0.0
        return math.inf if self.interval is None else self.interval[1] - self.interval[0]

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


class Difference(NamedTuple):
    """One estimate minus another."""

    mean: float
    deviation: float  # of the difference of one seed
    ends: Ends  # the 95 % interval of the mean
    is_paired: bool  # whether it is taken seed by seed


def compare(mine: Estimate, other: Estimate) -> Difference | None:
    """The difference of two estimates, seed by seed if they share at least three seeds, else by
    Welch's t; None if one has too few seeds.
    """
    common = sorted(mine.values.keys() & other.values.keys())
    if len(common) >= LEAST_SEEDS:
        paired = Estimate.of([mine.values[seed] - other.values[seed] for seed in common])
        ends = paired.interval
        if ends is not None and paired.deviation is not None:
            return Difference(paired.mean, paired.deviation, ends, is_paired=True)
    variances = _variances(mine, other)
    if variances is None:
        return None
    half = _welch(variances, (mine.seeds, other.seeds))
    middle = mine.mean - other.mean
    deviation = math.hypot(mine.deviation or 0.0, other.deviation or 0.0)
    return Difference(middle, deviation, (middle - half, middle + half), is_paired=False)


def count_seeds_needed(effect: float, deviation: float) -> int | None:
    """The number of seeds whose 95 % interval excludes zero with a probability of 80 %, if one
    seed's value has this mean and standard deviation; None above `MOST_SEEDS`.
    """
    if not effect:
        return None
    noise = (deviation / effect) ** 2
    needed = max(LEAST_SEEDS, math.floor(noise * _quantile_sum(MOST_SEEDS) ** 2))
    while needed <= MOST_SEEDS and noise * _quantile_sum(needed) ** 2 > needed:
        needed += 1
    return needed if needed <= MOST_SEEDS else None


def _quantile_sum(seeds: int) -> float:
    return _quantile(seeds - 1) + _quantile(seeds - 1, POWER)


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


def _quantile(freedom: float, probability: float = (1 + CONFIDENCE) / 2) -> float:
    from scipy.stats import t

    return float(t.ppf(probability, freedom))
