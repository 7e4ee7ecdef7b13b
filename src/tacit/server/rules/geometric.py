"""Geometric median: the point with the smallest sum of distances to all updates."""

from __future__ import annotations

import numpy as np

from tacit.rows import Vector
from tacit.server.rules.coordinates import median
from tacit.server.rules.matrix import Floats, Matrix, compute_norms, weighted_sum

_TINY = 1e-6
"""Lower bound on distances as a share of the median one, so that a point that equals a row causes
no division by zero.
"""

_CLOSE, _MOST_STEPS = 1e-6, 100
"""The iteration ends when a step is shorter than this share of the median distance, or after this
number of steps.
"""


def geometric_median(rows: Matrix, weights: Floats | None = None) -> Vector:
    """The geometric median by smoothed Weiszfeld steps, starting at the coordinate-wise median.

    Guarantees: stays bounded while bad rows have less than half of the weight.
    Edge cases: rows that are all the same give that row.
    Source: Pillutla et al. 2022 (Robust Aggregation for Federated Learning), algorithm 2.
    """
    weights = np.ones(len(rows)) if weights is None else weights
    point: Floats = median(rows).astype(np.float64)
    away = compute_norms(rows, point)
    scale = float(np.median(away))
    for _ in range(_MOST_STEPS):
        pull = weights / np.maximum(away, _TINY * scale or 1.0)
        nearer = weighted_sum(rows, pull / pull.sum())
        step = float(np.linalg.norm(nearer - point))
        point = nearer
        if step <= _CLOSE * scale:
            break
        away = compute_norms(rows, point)
    return np.asarray(point, np.float32)
