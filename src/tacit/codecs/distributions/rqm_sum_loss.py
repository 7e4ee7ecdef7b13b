"""Privacy loss of randomised quantisation if the server sees only the sum of many clients' levels:
numerical, not proved.

The distribution of the sum is that of one client's level, convolved with those of all others. The
others' values are unknown, so the divergence has to be the maximum over all of them. It is convex
in the distribution of each other client, so each may be assumed at a corner of the output
distribution (`rqm_output`). It is computed with all others at the same corner, for every corner. It
is not proved that no mixture of corners has a larger loss (a search by exchanging a few clients at
a time found none). So no claim is based on it and the ledger never adds it up: a run's totals are
those of single messages. The common assumption of all others at -c, 0 or c is not the worst case: a
level just within the clip has up to 7 % more loss.
"""

from __future__ import annotations

import numpy as np

from tacit import plan
from tacit.codecs.distributions.rqm_output import (
    WORD,
    Floats,
    OutputDistribution,
    build_distribution,
)
from tacit.privacy.claim import RenyiCurve

_ABOVE_ONE = tuple(10 ** (place / 5) for place in range(-20, 8))
"""Orders of the curve, minus 1; order 2 is among them."""
_SMALL = 0.1
"""Up to this order minus 1, the sum over outputs is computed as its distance from 1."""
_LEAST = 1e-280
"""Rarer sums of levels are left out: for any ratio there, they would add nothing that a float
holds.
"""


def compute_sum_curve(settings: plan.RQM, clients: int) -> RenyiCurve:
    """Rényi curve of one coordinate of the sum over `clients` clients, one of which replaces all
    its rows.

    Numerical, not proved: see above. It is never above the curve of a single message, which is
    proved, since a sum of messages reveals no more than they do.
    """
    if clients < 1:
        raise ValueError(f"clients must be at least 1, got {clients}")
    law = build_distribution(settings.clip, settings.margin, settings.levels, settings.keep)
    sums = [compute_sum_distributions(law, others, clients - 1) for others in law.corners]
    found = [max(find_largest_divergence(rows, t) for rows in sums) for t in _ABOVE_ONE]
    rising = np.minimum(np.maximum.accumulate(found), law.epsilon)
    return RenyiCurve(tuple(1 + t for t in _ABOVE_ONE), tuple(rising.tolist()), most=law.epsilon)


def compute_sum_distributions(law: OutputDistribution, others: float, count: int) -> Floats:
    """Distribution of the sum for a client at each corner, in rows, with `count` others at one
    value.
    """
    one = np.array([np.interp(others, law.corners, column) for column in law.counts.T]) / WORD
    rest = _convolve_repeatedly(one, count)
    return np.stack([np.convolve(row, rest) for row in law.counts / WORD])


def _convolve_repeatedly(law: Floats, count: int) -> Floats:
    """Distribution of a sum of `count` independent levels; all terms are positive, so every figure
    keeps its digits.
    """
    total, square = np.ones(1), law
    while count:
        if count & 1:
            total = np.convolve(total, square)
        square, count = np.convolve(square, square) if count > 1 else square, count >> 1
    return total


def find_largest_divergence(rows: Floats, t: float) -> float:
    """Largest Rényi divergence between two rows, at order 1 + t.

    With b the smallest probability of an output in any row and r = p / b, the sum of p^(1+t) p'^-t
    is that of b r^(1+t) r'^-t: ratios are moderate where powers of the probabilities would
    underflow.
    """
    kept = rows[:, rows.min(axis=0) > _LEAST]
    logs = np.log(kept / kept.min(axis=0))
    if t > _SMALL:
        return float(np.log(((kept * np.exp(t * logs)) @ np.exp(-t * logs).T).max())) / t
    above = (kept * np.expm1(t * logs)) @ np.exp(-t * logs).T + kept @ np.expm1(-t * logs).T
    return float(np.log1p(above.max())) / t
