"""Exact privacy loss of Gaussian noise, and calibration of its noise multiplier.

The noise multiplier is the standard deviation divided by the L2 sensitivity. Rounds compose
exactly: r releases with multiplier z are equivalent to one with z / sqrt(r). All results are
rounded in the safe direction.

Source: Balle and Wang 2018, *Improving the Gaussian Mechanism for Differential Privacy*, theorem 8,
which is an equality.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

_ROUNDING = 1 + 1e-7
"""Rounding margin: more than floating point can take off a delta (logarithms of tails are accurate
to about 1e-13).
"""


def compute_delta(epsilon: float, noise_multiplier: float) -> float:
    """Smallest delta for which Gaussian noise is (epsilon, delta)-differentially private, rounded
    up.
    """
    from scipy.special import log_ndtr  # heavy to load, and `tacit --help` should not wait for it

    size = 1 / noise_multiplier
    here = float(log_ndtr(size / 2 - epsilon / size))
    there = epsilon + float(log_ndtr(-size / 2 - epsilon / size))
    return math.exp(here) * -math.expm1(min(0.0, there - here)) * _ROUNDING


@lru_cache(maxsize=256)
def compute_epsilon(delta: float, noise_multiplier: float) -> float:
    """Smallest epsilon of Gaussian noise at `delta`, rounded up.

    >>> round(compute_epsilon(1e-3, 1.445), 2)
    2.0
    """
    return _bisect(lambda epsilon: compute_delta(epsilon, noise_multiplier) <= delta)


@lru_cache(maxsize=256)
def calibrate_multiplier(epsilon: float, delta: float) -> float:
    """Smallest noise multiplier of one release with this epsilon at `delta`, rounded up.

    >>> round(calibrate_multiplier(1.0, 1e-5), 3)
    3.731
    """
    return _bisect(
        lambda multiplier: multiplier > 0 and compute_delta(epsilon, multiplier) <= delta
    ) * (1 + 2**-40)


def _bisect(holds: Callable[[float], bool]) -> float:
    """Smallest non-negative number for which a monotone condition holds."""
    if holds(0.0):
        return 0.0
    low, high = 0.0, 1.0
    while not holds(high):
        low, high = high, 2 * high
    while low < (middle := (low + high) / 2) < high:
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
