"""The exact output distribution of randomised quantisation, and its privacy loss.

There are m levels B(0) … B(m-1), evenly spaced from -(c + Δ) to c + Δ. The outer two are kept, each
inner one with probability q. A value x in [-c, c] between its kept neighbours B(l) <= x < B(u) is
sent as u with probability (x - B(l)) / (B(u) - B(l)), else as l.

Within one cell [B(j), B(j+1)) the probabilities are linear in x (`compute_exact_distribution`). At
a level the two cells agree: if the level is kept, x itself is sent from either side; if not, the
neighbours are the same. So the distribution is continuous in x, and linear between the *corners*
-c, the levels inside (-c, c), and c. What is drawn is such a distribution in integers: at each
corner P(z) is a number of 2^32 words (`OutputDistribution.counts`), and between two corners one of
them is drawn first, with probability t / 2^32. So every distribution that is drawn from is a
mixture of corner distributions, for any rounding of t.

Why corners are enough. For order a > 1 the sum over z of P(z)^a P'(z)^(1-a) is jointly convex in P
and P', so over mixtures it is largest at a pair of corners. Likewise the ratio of two mixtures at
one z is at most that of two corners. `epsilon` and `curve` are maxima over all pairs of corners in
integers: they bound the program, not only the formula it approximates. They are evaluated in
floating point and rounded up.

Source: Youn, Hu, Ziani, Abernethy 2023, *Randomized Quantization is All You Need for Differential
Privacy in Federated Learning*; the argument about corners is ours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.claim import RenyiCurve

WORD = 1 << 32

Floats = NDArray[np.float64]

_ORDERS = tuple(10 ** (place / 10) for place in range(-50, 15))
"""Orders of the curve, minus 1. Beyond the last one powers of 2^-32 would overflow, and the pure
epsilon is as good.
"""
_SMALL = 0.1
"""Up to this order minus 1, the sum is computed as its distance from 1."""
_SLACK = 1e-10
"""Added to each divergence for floating point; `curve` proves that it is enough."""


@dataclass(frozen=True, kw_only=True, eq=False)
class OutputDistribution:
    """Output distribution for values in [-clip, clip], in integers: its corners, and how many of
    2^32 words give each level there.
    """

    clip: float
    reach: float
    corners: Floats
    counts: NDArray[np.int64]

    @cached_property
    def levels(self) -> Floats:
        """Value of each index."""
        return compute_level_values(self.reach, self.counts.shape[1])

    @cached_property
    def second_moments(self) -> Floats:
        """Mean of the squared output at each corner; it is linear in between."""
        return np.asarray(self.counts / WORD @ self.levels**2)

    @cached_property
    def epsilon(self) -> float:
        """Pure epsilon of one coordinate: the largest log ratio of any output's counts, rounded up."""
        low, high = self.counts.min(axis=0), self.counts.max(axis=0)
        return float(np.log1p((high - low) / low).max()) * (1 + 2**-50)

    @cached_property
    def curve(self) -> RenyiCurve:
        """Rényi divergence of one coordinate, the maximum over all pairs of corners, with its pure
        epsilon.

        With t = order - 1 it is ln(S) / t, where S sums p^(1+t) p'^-t. For small t the distance of
        S from 1 is summed instead: p (p/p')^t - p = p expm1(t ln p) e^(-t ln p') + p expm1(-t ln
        p'). Since p >= 2^-32 and t <= 0.1, the terms of a pair are below 2 · 22.2 t · e^2.3 in all,
        and with at most 256 of them rounding moves ln(S) / t by less than 3e-11; for larger t all
        terms are positive and it moves by less than 1e-12.
        """
        probabilities = self.counts / WORD
        logs = np.log(probabilities)
        found = [float(_find_largest(probabilities, logs, t)) / t + _SLACK for t in _ORDERS]
        rising = np.minimum(np.maximum.accumulate(found), self.epsilon)
        return RenyiCurve(tuple(1 + t for t in _ORDERS), tuple(rising.tolist()), most=self.epsilon)


def _find_largest(probabilities: Floats, logs: Floats, t: float) -> float:
    """Largest ln(S) over pairs of corners; the sum over outputs for all pairs at once is a matrix
    product.
    """
    if t > _SMALL:
        return float(np.log((np.exp((1 + t) * logs) @ np.exp(-t * logs).T).max()))
    above = (probabilities * np.expm1(t * logs)) @ np.exp(-t * logs).T + probabilities @ np.expm1(
        -t * logs
    ).T
    return float(np.log1p(above.max()))


@lru_cache(maxsize=16)
def build_distribution(clip: float, margin: float, levels: int, keep: float) -> OutputDistribution:
    """Build the output distribution in integer numbers of words.

    Guarantees: counts of a corner add up to 2^32 and none is 0, so every output is possible for
    every value; the mean output for x is x to within m 2^-31 (c + Δ). Proof: rounding cumulative
    counts moves the mean by at most (c + Δ) 2^-32; each of at most m - 1 counts that is raised to 1
    moves one word by at most 2 (c + Δ); rounding t moves it by at most (c + Δ) 2^-32.
    """
    reach = clip + margin
    values = compute_level_values(reach, levels)
    inside = values[np.abs(values) < clip * (1 - 1e-9)]  # a level at ±clip is that corner
    corners = np.array([-clip, *inside, clip])
    counts = np.stack(
        [_round_to_words(compute_exact_distribution(x, values, keep)) for x in corners]
    )
    return OutputDistribution(clip=clip, reach=reach, corners=corners, counts=counts)


def compute_level_values(reach: float, levels: int) -> Floats:
    """Values of the levels, evenly spaced over ±reach."""
    return reach * (np.arange(levels) * 2 - (levels - 1)) / (levels - 1)


def compute_exact_distribution(
    x: float, values: Floats, keep: float, cell: int | None = None
) -> Floats:
    """Probability of each level for a value; `cell` is the cell of the value, where that is
    ambiguous.
    """
    last = len(values) - 1
    at = (
        int(np.clip(np.searchsorted(values, x, side="right") - 1, 0, last - 1))
        if cell is None
        else cell
    )
    below, above = np.arange(at + 1), np.arange(at + 1, last + 1)
    lower = np.where(below == 0, 1.0, keep) * (1 - keep) ** (
        at - below
    )  # probability that this is the kept neighbour below
    upper = np.where(above == last, 1.0, keep) * (1 - keep) ** (above - at - 1)
    both = np.outer(lower, upper) / (values[above] - values[below][:, None])
    down, up = both * (values[above] - x), both * (x - values[below])[:, None]
    return np.concatenate([down.sum(axis=1), up.sum(axis=0)])


def _round_to_words(probabilities: Floats) -> NDArray[np.int64]:
    """Round probabilities to numbers of words, none below 1; the largest makes up for the
    difference.
    """
    ends = np.rint(np.cumsum(probabilities) * WORD).astype(np.int64)
    ends[-1] = WORD
    counts = np.maximum(np.diff(ends, prepend=0), 1)
    counts[counts.argmax()] -= int(counts.sum()) - WORD
    return np.asarray(counts, np.int64)


def count_index_bits(levels: int) -> int:
    """Number of bits that hold the index of a level."""
    return math.ceil(math.log2(levels))
