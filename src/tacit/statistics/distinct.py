"""How many values have more rows than a threshold: an interval that also covers values that no bucket
shows.

A value that stands out has a lane of its own in its bucket. How many share a lane is bounded by the
probability that a public hash puts two values there. Buckets without a slot have at most as many values as
their rows, with the noise, divided by the threshold.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, poisson

from tacit.statistics.answer import NoisyFigure

Numbers = NDArray[np.float64]
_STANDS_OUT = 3.0
_SHOWN = 0.99
"""Share of the values above the threshold that the limit of an upper bound lets through."""


@dataclass(frozen=True, kw_only=True)
class LaneCounts:
    """Estimates in rows. In buckets with a slot, of each lane: all its rows, and those without rarer
    values, each with the standard deviation of its noise. In the first round, of the buckets with and
    without a slot.
    """

    lanes: Numbers
    lane_noise: float
    own: Numbers
    own_noise: Numbers
    chosen: Numbers
    others: Numbers
    bucket_noise: float


def count_distinct(counts: LaneCounts, above: float, confidence: float, label: str) -> NoisyFigure:
    """The number of values with more than `above` rows; a quarter of the error is for each bound."""
    tail = (1 - confidence) / 4
    reach = NormalDist().inv_cdf(1 - tail / max(1, counts.lanes.size))
    low = int((counts.own - reach * counts.own_noise > above).sum())
    stands_out = counts.own > np.maximum(above, _STANDS_OUT * counts.own_noise)
    likely = _bound_seen(counts, above, tail)
    cells = (len(counts.chosen) + len(counts.others)) * counts.lanes.shape[1]
    shared = int(poisson.ppf(1 - tail, likely * (likely - 1) / 2 / cells))
    high = likely + shared + _bound_unseen(counts, above, tail)
    value = min(max(int(stands_out.sum()), low), high)
    return NoisyFigure(label=label, value=float(value), low=float(low), high=float(high))


def _bound_seen(counts: LaneCounts, above: float, tail: float) -> int:
    """The most lanes with more rows than the threshold, given those that noise has not hidden."""
    limit = above - NormalDist().inv_cdf(_SHOWN) * counts.lane_noise
    shown = most = int((counts.lanes > limit).sum())
    while most < counts.lanes.size and binom.cdf(shown, most + 1, _SHOWN) > tail:
        most += 1
    return most


def _bound_unseen(counts: LaneCounts, above: float, tail: float) -> int:
    """The most values that buckets without a slot can have, by each of them and by all together."""
    buckets, inverse = len(counts.chosen) + len(counts.others), NormalDist().inv_cdf
    reach = inverse(1 - tail / 2 / buckets) * counts.bucket_noise
    each = np.maximum(counts.others + reach, 0)
    whole = counts.chosen.sum() + counts.others.sum()
    whole += inverse(1 - tail / 2) * counts.bucket_noise * math.sqrt(buckets)
    rest = max(0.0, float(whole - np.maximum(counts.chosen - reach, 0).sum()))
    return min(int(np.floor(each / above).sum()), int(rest // above))
