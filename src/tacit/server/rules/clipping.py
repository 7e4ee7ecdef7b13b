"""Rules that clip updates: around zero, or around the previous mean."""

from __future__ import annotations

import numpy as np

from tacit.rows import Vector
from tacit.server.rules.matrix import Floats, Matrix, compute_norms, weighted_sum

_STEPS = 3


def norm_bound(rows: Matrix, weights: Floats | None = None, bound: float | None = None) -> Vector:
    """The mean of rows clipped to L2 norm `bound`; without one, to the median norm.

    Guarantees: a malicious row moves the mean by at most bound / rows. An update within the bound
    is not detected. Source: Sun et al. 2019 (Can You Really Backdoor Federated Learning?), section
    4.
    """
    weights = np.ones(len(rows)) if weights is None else weights
    away = compute_norms(rows)
    kept = _compute_clip_factors(away, float(np.median(away)) if bound is None else bound)
    return np.asarray(weighted_sum(rows, kept * weights / weights.sum()), np.float32)


def centred_clipping(
    rows: Matrix, centre: Vector, bound: float | None = None, steps: int = _STEPS
) -> Vector:
    """Move `centre` for some steps by the mean of the rows' differences from it, clipped to L2 norm
    `bound`.

    The centre is the result of the previous round, or zero. Without a bound it is the median
    distance from the first centre. Guarantees: a malicious row moves the result by at most steps x
    bound / rows. Source: Karimireddy et al. 2021 (Learning from History for Byzantine Robust
    Optimization), equation 4.
    """
    point: Floats = centre.astype(np.float64)
    for _ in range(steps):
        away = compute_norms(rows, point)
        bound = float(np.median(away)) if bound is None else bound
        kept = _compute_clip_factors(away, bound) / len(rows)
        point = point * (1 - kept.sum()) + weighted_sum(rows, kept)
    return np.asarray(point, np.float32)


def _compute_clip_factors(away: Floats, bound: float) -> Floats:
    """The factor that clips each norm to the bound."""
    return np.minimum(1.0, bound / np.maximum(away, np.finfo(np.float64).tiny))
