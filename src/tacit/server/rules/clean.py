"""Aggregation rules for a server with trusted rows: it compares updates with its own, or evaluates
them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tacit.rows import Vector
from tacit.server.rules.matrix import (
    Floats,
    Matrix,
    compute_norms,
    find_smallest,
    mean,
    project,
    weighted_sum,
)

Gains = Callable[[Matrix], Floats]
"""How much lower each update makes the loss on the server's own rows."""

_PENALTY = 5e-4


@dataclass(frozen=True, kw_only=True)
class TrustedReference:
    """Lazy results on the server's trusted rows in one round: its own update, and the gain of
    clients' updates.
    """

    update: Callable[[], Vector]
    gains: Gains


def fltrust(rows: Matrix, own: Vector) -> Vector:
    """The mean of the rows, rescaled to the L2 norm of the server's own update and weighted by
    positive cosine similarity to it.

    Edge case: if no row has a positive cosine the mean is zero. Guarantees: the L2 norm never
    exceeds that of the server's own update, however many rows are malicious. Source: Cao et al.
    2021 (FLTrust: Byzantine-robust Federated Learning via Trust Bootstrapping), equations 2 to 4.
    """
    length, target = compute_norms(rows), float(np.linalg.norm(own.astype(np.float64)))
    length[length == 0] = np.inf  # a zero update has no direction, so it has no trust
    if target == 0:
        return np.zeros_like(own)
    trust = np.maximum(project(rows, own) / length / target, 0.0)
    if trust.sum() == 0:
        return np.zeros_like(own)
    return np.asarray(weighted_sum(rows, trust / trust.sum() * target / length), np.float32)


def zeno(rows: Matrix, gains: Gains, bad: int, penalty: float = _PENALTY) -> Vector:
    """The mean of all rows but the `bad` with the lowest score: gain minus `penalty` times the
    squared L2 norm.

    Of rows with the same score the first is kept. Source: Xie et al. 2019 (Zeno: Distributed SGD
    with Suspicion-based Fault-tolerance), definition 2; its rate is part of ours.
    """
    scores = gains(rows) - penalty * compute_norms(rows) ** 2
    return mean(rows[find_smallest(-scores, max(1, len(rows) - bad))])
