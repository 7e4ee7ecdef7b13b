"""Stability-based disclosure: a class is released if its count plus Laplace noise passes a raised
threshold.

The decision (which classes are released) is differentially private, the released rows are not.
Source: stability-based histograms, Korolova et al. 2009 and Bun, Nissim and Stemmer 2016: count +
Laplace(1/epsilon) >= k + (1/epsilon) ln(1 / (2 delta)).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tacit.errors import DataError
from tacit.randomness import Draws

_STEPS = 2.0**53
_ROUNDING = 2.0**-50
"""Probabilities are compared as 53-bit integers; what this can add to delta is subtracted
beforehand.
"""


def compute_threshold(k: int, epsilon: float, delta: float) -> float:
    """Compute the noisy count that a class must reach."""
    left = delta - (1 + math.exp(epsilon)) * _ROUNDING
    if left <= 0:
        raise DataError(
            f"data.share(epsilon={epsilon:g}, delta={delta:g}): the probabilities of the decision"
            " cannot be drawn that exactly; raise data.share.delta or lower data.share.epsilon"
        )
    return k + math.log(1 / (2 * left)) / epsilon


def compute_disclosure_probability(
    counts: NDArray[np.int64], k: int, epsilon: float, delta: float
) -> NDArray[np.float64]:
    """Compute the probability that each class is disclosed; 0 for an empty class.

    Guarantees: for counts that differ by one, the probabilities of either outcome differ by a
    factor of at most e^epsilon, plus at most delta; a class of a single row is disclosed with
    probability at most delta.
    """
    short = epsilon * (compute_threshold(k, epsilon, delta) - counts)
    tail = 0.5 * np.exp(-np.abs(short))
    return np.where(counts > 0, np.where(short > 0, tail, 1 - tail), 0.0)


def draw_disclosed(
    counts: NDArray[np.int64], k: int, epsilon: float, delta: float, draws: Draws
) -> NDArray[np.bool_]:
    """Draw for each class, in order, whether it is disclosed."""
    coins = draws.words(len(counts)) >> np.uint64(11)
    return np.asarray(
        coins < np.floor(compute_disclosure_probability(counts, k, epsilon, delta) * _STEPS)
    )
