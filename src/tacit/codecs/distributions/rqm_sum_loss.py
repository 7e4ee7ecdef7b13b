"""What randomised quantisation costs if the server sees only the sum of many clients' levels:
numerical, not proved.

The law of the sum is that of one client's level, convolved with those of all others. What the
others sent is not known, so the divergence has to be the largest over all their values. It is
convex in the law of each of them, so each may be taken to be at a corner of the law (`rqm_law`). It
is computed with all others at the same corner, for every corner. That no mixture of corners costs
more is not proved (a search by exchanging a few clients at a time found none), so no claim is made
of it and the ledger never adds it up: a run's totals are those of single messages. All others at
-c, 0 or c, as is often taken, is not the worst: a level just within the clip costs up to 7 % more.
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
"""The orders of the curve, less 1; order 2 is among them."""
_SMALL = 0.1
"""Up to this order, less 1, the sum over outputs is computed as its distance from 1."""
_LEAST = 1e-280
"""Sums of levels that are rarer are left out: whatever the ratio there, they would add nothing that
a float holds.
"""


def compute_sum_curve(settings: plan.RQM, clients: int) -> RenyiCurve:
    """Return the Rényi curve of one coordinate of the sum over `clients` clients, one of whom
    replaces all rows.

    Numerical, not proved: see above. It is never above the curve of a single message, which is
    proved, since a sum of messages says no more than they do.
    """
    if clients < 1:
        raise ValueError(f"sum_curve(clients={clients}) needs at least one client")
    law = build_distribution(settings.clip, settings.margin, settings.levels, settings.keep)
    sums = [compute_sum_distributions(law, others, clients - 1) for others in law.corners]
    found = [max(find_largest_divergence(rows, t) for rows in sums) for t in _ABOVE_ONE]
    rising = np.minimum(np.maximum.accumulate(found), law.epsilon)
    return RenyiCurve(tuple(1 + t for t in _ABOVE_ONE), tuple(rising.tolist()), most=law.epsilon)


def compute_sum_distributions(law: OutputDistribution, others: float, count: int) -> Floats:
    """Return the law of the sum for a client at each corner, in rows, with `count` others at one
    value.
    """
    one = np.array([np.interp(others, law.corners, column) for column in law.counts.T]) / WORD
    rest = _convolve_repeatedly(one, count)
    return np.stack([np.convolve(row, rest) for row in law.counts / WORD])


def _convolve_repeatedly(law: Floats, count: int) -> Floats:
    """Return the law of a sum of `count` independent levels; sums of positive terms, so every
    figure keeps its digits.
    """
    total, square = np.ones(1), law
    while count:
        if count & 1:
            total = np.convolve(total, square)
        square, count = np.convolve(square, square) if count > 1 else square, count >> 1
    return total


def find_largest_divergence(rows: Floats, t: float) -> float:
    """Return the largest Rényi divergence between two rows, at order 1 + t.

    With b the smallest probability of an output in any row and r = p / b, the sum of p^(1+t) p'^-t
    is that of b r^(1+t) r'^-t: ratios are moderate where probabilities are far below what a power
    of them could hold.
    """
    kept = rows[:, rows.min(axis=0) > _LEAST]
    logs = np.log(kept / kept.min(axis=0))
    if t > _SMALL:
        return float(np.log(((kept * np.exp(t * logs)) @ np.exp(-t * logs).T).max())) / t
    above = (kept * np.expm1(t * logs)) @ np.exp(-t * logs).T + kept @ np.expm1(-t * logs).T
    return float(np.log1p(above.max())) / t
