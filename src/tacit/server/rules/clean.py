"""Rules of a server that has some rows it trusts: it compares updates with its own, or
tries them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tacit.rows import Vector
from tacit.server.rules.matrix import Floats, Matrix, along, lengths, mean, smallest, weighted_sum

Gains = Callable[[Matrix], Floats]
"""How much lower each update makes the loss on the server's own rows."""

_PENALTY = 5e-4


@dataclass(frozen=True, kw_only=True)
class Clean:
    """What a server makes of its rows in one round, when it is asked: its own update, and what
    clients' updates gain on them.
    """

    update: Callable[[], Vector]
    gains: Gains


def fltrust(rows: Matrix, own: Vector) -> Vector:
    """Return the mean of the rows at the length of the server's own update, each by its cosine to
    it, if that is positive.

    Edge cases: if no row points the server's way the mean is zero. Guarantees: never longer than
    the server's own update, however many rows are bad. Source: Cao et al. 2021 (FLTrust:
    Byzantine-robust Federated Learning via Trust Bootstrapping), equations 2 to 4.
    """
    length, target = lengths(rows), float(np.linalg.norm(own.astype(np.float64)))
    length[length == 0] = np.inf  # a zero update has no direction, so it has no trust
    if target == 0:
        return np.zeros_like(own)
    trust = np.maximum(along(rows, own) / length / target, 0.0)
    if trust.sum() == 0:
        return np.zeros_like(own)
    return np.asarray(weighted_sum(rows, trust / trust.sum() * target / length), np.float32)


def zeno(rows: Matrix, gains: Gains, bad: int, penalty: float = _PENALTY) -> Vector:
    """Return the mean of all rows but the `bad` with the lowest score: gain less `penalty` times
    squared length.

    Of rows with the same score the first is kept. Source: Xie et al. 2019 (Zeno: Distributed SGD
    with Suspicion-based Fault-tolerance), definition 2; its rate is part of ours.
    """
    scores = gains(rows) - penalty * lengths(rows) ** 2
    return mean(rows[smallest(-scores, max(1, len(rows) - bad))])
