"""What Gaussian noise costs, exactly, and how much of it a loss asks for.

A noise multiplier is the standard deviation over the most that the change of data can move a sum,
in l2. Rounds compose exactly: r releases of multiplier z cost what one of z / sqrt(r) costs. All
figures are rounded to the safe side.

Source: Balle and Wang 2018, *Improving the Gaussian Mechanism for Differential Privacy*, theorem 8,
which is an equality.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

_ROUNDING = 1 + 1e-7
"""More than floating point can take off a delta: logarithms of tails are good to about 1e-13."""


def compute_delta(epsilon: float, noise_multiplier: float) -> float:
    """Return the smallest delta for which noise of a multiplier is (epsilon, delta)-differentially
    private, rounded up.
    """
    from scipy.special import log_ndtr  # heavy to load, and `tacit --help` should not wait for it

    size = 1 / noise_multiplier
    here = float(log_ndtr(size / 2 - epsilon / size))
    there = epsilon + float(log_ndtr(-size / 2 - epsilon / size))
    return math.exp(here) * -math.expm1(min(0.0, there - here)) * _ROUNDING


@lru_cache(maxsize=256)
def compute_epsilon(delta: float, noise_multiplier: float) -> float:
    """Return the smallest epsilon that noise of a multiplier keeps at `delta`, rounded up.

    >>> round(compute_epsilon(1e-3, 1.445), 2)
    2.0
    """
    return _bisect(lambda epsilon: compute_delta(epsilon, noise_multiplier) <= delta)


@lru_cache(maxsize=256)
def calibrate_multiplier(epsilon: float, delta: float) -> float:
    """Return the smallest noise multiplier that keeps an epsilon (per whatever is released once) at
    `delta`, rounded up.

    >>> round(calibrate_multiplier(1.0, 1e-5), 3)
    3.731
    """
    return _bisect(
        lambda multiplier: multiplier > 0 and compute_delta(epsilon, multiplier) <= delta
    ) * (1 + 2**-40)


def _bisect(holds: Callable[[float], bool]) -> float:
    """Return the smallest number from 0 on for which something holds, if it holds for all larger
    ones.
    """
    if holds(0.0):
        return 0.0
    low, high = 0.0, 1.0
    while not holds(high):
        low, high = high, 2 * high
    while low < (middle := (low + high) / 2) < high:
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
