"""What integers under Skellam noise reveal: no more than under Gaussian noise with almost the same
standard deviation.

**Setting.** X is Skellam noise of variance v: p(z) = P(X = z) = e^-v I_z(v). A client moves the sum
of a coordinate by an integer k. What all other clients add shifts both distributions alike. More
noise, and the modulus, are post-processing.

**1. Transport to a Gaussian.** Let Y be a standard Gaussian and define a_z by P(Y > a_z) = P(X >=
z). Let μ be the largest gap a_(z+1) - a_z. p is log-concave, so the most powerful tests of X + k
against X, k > 0, are thresholds. At the level P(Y > a_z) they have the power P(X >= z - k) = P(Y >
a_(z-k)). A Gaussian with shift k μ has the power P(Y > a_z - k μ) there, which is at least as
large, since k gaps are at most k μ. Between thresholds the ROC curve of X is a chord, while that of
a Gaussian is concave. So Gaussian noise with shift |k| μ dominates, in both directions by symmetry.
Integers whose squares add up to Δ² therefore reveal no more than one Gaussian release with shift μ
Δ. Rounds compose exactly, also adaptively.

**2. The largest gap.** For variances below `_LARGE` all gaps are computed. Otherwise let G be the
largest gap, at z, and A = a_z. The gaps next to it are no larger. So with c(y) = P(y < Y < y + G):
p(z) = c(A), p(z-1) <= c(A - G) and p(z+1) <= c(A + G). Now -(log c)'' = 1 - V, where V is the
variance of a Gaussian truncated to an interval of length G. It is at most G²/π² (Payne and
Weinberger 1960). With K(z) = log p(z)² / (p(z-1) p(z+1)) this gives

    G² (1 - G²/π²) <= K(z) <= K(0) = 2 log(I_0(v) / I_1(v)).

The last step: p(z) / p(0) = E exp(-z² U / 2) for a random variable U > 0 (Hartman and Watson 1974).
So L(y) = -log E exp(-y² U / 2) has L'(y) = y m(y) and L''(y) <= m(y) for y > 0, with m decreasing.
Hence K(z) <= m(1) for z >= 2. K(0) is twice the integral of y m(y) from 0 to 1, which is at least
m(1). K(1) is the integral from 1 to 2, at most 3/2 m(1), less K(0)/2; so K(1) <= K(0).

G² is thus at most the smaller root of the quadratic, or at least the larger one. G is continuous in
v, and at `_LARGE` it is below the smaller root, so it is for all larger v. The bound exceeds 1/v by
a factor of about 1 + 0.6/v.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

_LARGE = 1000.0
"""Variances from here on are bounded by the curvature of p at 0."""
_SMALLEST = 1e-290
"""Smaller P(X >= z) are left out: gaps decrease there. For a_z >= 36, a gap is at most log(P(X >=
z) / P(X >= z+1)) / a_z (Mills).
"""
_ROUNDING = 1 + 1e-9


@lru_cache(maxsize=4096)
def bound_shift(variance: float) -> float:
    """Shift of the dominating Gaussian per unit of an integer's change, in standard deviations.

    >>> [round(bound_shift(variance) * math.sqrt(variance), 4) for variance in (10.0, 100.0, 1e4)]
    [1.0177, 1.0017, 1.0]
    """
    if variance < _LARGE:
        return _find_largest_gap(variance) * _ROUNDING
    curvature = _bound_curvature(variance)
    return math.sqrt(2 * curvature / (1 + math.sqrt(1 - 4 * curvature / math.pi**2))) * _ROUNDING


def _find_largest_gap(variance: float) -> float:
    from scipy.special import ive, ndtri  # heavy to load

    sizes = np.arange(math.ceil(40 * math.sqrt(variance)) + 80)
    beyond = np.cumsum(ive(sizes, variance)[:0:-1])[::-1]  # P(X >= z) from z = 1 on
    edges = -ndtri(beyond[beyond > _SMALLEST])
    return float(max(2 * edges[0], np.diff(edges).max(initial=0.0)))


def _bound_curvature(variance: float) -> float:
    """K(0), rounded up; for a large variance by a lower bound on I_1 / I_0 (Amos 1974)."""
    from scipy.special import i0e, i1e

    if variance < 1e6:
        return 2 * math.log(float(i0e(variance)) / float(i1e(variance)) * (1 + 1e-15))
    return 2 * math.log1p((0.5 + 2.25 / (math.sqrt(variance**2 + 2.25) + variance)) / variance)
