"""Byzantine updates from the literature, sent by corrupted clients in experiments.

Each function returns one update. Colluding attackers (`alie`, `ipm`, `mimic`) all send the same
one, computed from the honest updates they can see, one per row; usually these are the attackers'
own.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from tacit.randomness import Draws
from tacit.rows import Vector

Matrix = NDArray[np.float32]
"""One update per row."""


def free_rider(own: Vector) -> Vector:
    """A zero update: the client receives the model and contributes nothing."""
    return np.zeros_like(own)


def sign_flip(own: Vector, scale: float = 1.0) -> Vector:
    """The honest update times `-scale`.

    Source: Li et al. 2019 (RSA: Byzantine-Robust Stochastic Aggregation Methods).
    """
    return np.asarray(-scale * own, np.float32)


def gaussian(own: Vector, draws: Draws, scale: float = 1.0) -> Vector:
    """Gaussian noise with an expected L2 norm of about `scale` times that of the honest
    update.

    Source: Blanchard et al. 2017, with a norm that does not depend on the model.
    """
    stddev = scale * float(np.linalg.norm(own)) / np.sqrt(max(1, len(own)))
    return np.asarray(stddev * draws.generator().standard_normal(len(own)), np.float32)


def alie(seen: Matrix, clients: int, attackers: int, spread: float | None = None) -> Vector:
    """The mean minus `spread` standard deviations per coordinate.

    Without `spread`, use the largest value at which enough honest clients lie further from the mean
    for the attackers to look like part of a majority of the `clients`, assuming normally
    distributed honest updates; at least zero. Source: Baruch et al. 2019 (A Little Is Enough),
    algorithm 3.
    """
    if spread is None:
        honest, supporters = max(2, clients - attackers), max(1, clients // 2 + 1 - attackers)
        spread = max(0.0, NormalDist().inv_cdf(max(0.5, (honest - supporters) / honest)))
    return np.asarray(
        seen.mean(axis=0, dtype=np.float64) - spread * seen.std(axis=0, dtype=np.float64),
        np.float32,
    )


def ipm(seen: Matrix, scale: float = 0.1) -> Vector:
    """The mean of the visible updates, times `-scale`. With a small `scale` it passes for an honest
    update near zero, yet the average may point uphill. Source: Xie et al. 2020 (Fall of Empires:
    inner product manipulation).
    """
    return np.asarray(-scale * seen.mean(axis=0, dtype=np.float64), np.float32)


def mimic(seen: Matrix) -> Vector:
    """A copy of the update furthest out along the direction of largest variance.

    The copied update is honest, but it counts many times and outweighs the others. Source:
    Karimireddy et al. 2022 (Byzantine-Robust Learning on Heterogeneous Datasets via Bucketing),
    section 3.2.
    """
    apart: NDArray[np.float64] = seen - seen.mean(axis=0, dtype=np.float64)
    # The sign of a singular vector is arbitrary, so the distance along it decides, not the side.
    along = np.linalg.eigh(apart @ apart.T)[1][:, -1]
    return np.array(seen[int(np.argmax(np.round(np.abs(along), 9)))], np.float32)
