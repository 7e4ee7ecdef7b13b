"""A lower bound on epsilon from outputs alone: if it exceeds the claim, the claim is false."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta


def lower_bound(
    here: NDArray[np.integer],
    there: NDArray[np.integer],
    confidence: float = 1 - 1e-6,
    delta: float = 0.0,
) -> float:
    """Lower bound on epsilon, with the given confidence, from outputs on two neighbouring inputs.

    `delta` is subtracted from the larger probability of each event.

    Each distinct output is an event, tested in both directions; the confidence is divided among all
    of them, so the bound exceeds the epsilon of a correct mechanism with probability at most 1 -
    confidence. Source: Clopper-Pearson intervals on the two probabilities of one event, the largest
    log ratio over events.
    """
    events = np.union1d(here, there)
    risk = (1 - confidence) / (4 * len(events))
    best = 0.0
    for event in events:
        for likely, unlikely in ((here, there), (there, here)):
            low = _lower(int((likely == event).sum()), len(likely), risk)
            high = _upper(int((unlikely == event).sum()), len(unlikely), risk)
            if low > delta:
                best = max(best, math.log((low - delta) / high))
    return best


def _lower(hits: int, trials: int, risk: float) -> float:
    return 0.0 if hits == 0 else float(beta.ppf(risk, hits, trials - hits + 1))


def _upper(hits: int, trials: int, risk: float) -> float:
    return 1.0 if hits == trials else float(beta.ppf(1 - risk, hits + 1, trials - hits))
