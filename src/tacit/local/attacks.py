"""What a client that means harm sends in place of its honest update, for experiments: the attacks of the literature.

Each function returns one update. Attackers who work together (`alie`, `ipm`, `mimic`) all send the same one, made from the honest
updates they can see: one row each, as a rule those of the attackers themselves.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from tacit.draws import Draws
from tacit.rows import Vector

Matrix = NDArray[np.float32]
"""One update per row."""


def free_rider(own: Vector) -> Vector:
    """Return an update that changes nothing: the client wants the model and does no work for it."""
    return np.zeros_like(own)


def sign_flip(own: Vector, scale: float = 1.0) -> Vector:
    """Return the honest update turned round, `scale` times as long.

    Source: Li et al. 2019 (RSA: Byzantine-Robust Stochastic Aggregation Methods).
    """
    return np.asarray(-scale * own, np.float32)


def gaussian(own: Vector, draws: Draws, scale: float = 1.0) -> Vector:
    """Return noise that knows nothing of the data, on average about `scale` times as long as the honest update.

    Source: Blanchard et al. 2017, with a length that does not depend on the model.
    """
    stddev = scale * float(np.linalg.norm(own)) / np.sqrt(max(1, len(own)))
    return np.asarray(stddev * draws.generator().standard_normal(len(own)), np.float32)


def alie(seen: Matrix, clients: int, attackers: int, spread: float | None = None) -> Vector:
    """Return the mean less `spread` standard deviations per coordinate: small enough to pass, and always to the same side.

    Without a `spread` it is the largest with which enough honest clients are further from the mean for the attackers to look like
    part of a majority of the `clients`, if honest updates are normally distributed; zero where it would be negative.
    Source: Baruch et al. 2019 (A Little Is Enough), algorithm 3.
    """
    if spread is None:
        honest, supporters = max(2, clients - attackers), max(1, clients // 2 + 1 - attackers)
        spread = max(0.0, NormalDist().inv_cdf(max(0.5, (honest - supporters) / honest)))
    return np.asarray(seen.mean(axis=0, dtype=np.float64) - spread * seen.std(axis=0, dtype=np.float64), np.float32)


def ipm(seen: Matrix, scale: float = 0.1) -> Vector:
    """Return the mean turned round, `scale` times as long.

    A short one passes for an honest update near zero, yet the average may point uphill.
    Source: Xie et al. 2020 (Fall of Empires: inner product manipulation).
    """
    return np.asarray(-scale * seen.mean(axis=0, dtype=np.float64), np.float32)


def mimic(seen: Matrix) -> Vector:
    """Return a copy of the update that lies furthest out along the direction in which those seen differ most.

    Nothing in it is false: the copied client counts many times, and what others know counts less.
    Source: Karimireddy et al. 2022 (Byzantine-Robust Learning on Heterogeneous Datasets via Bucketing), section 3.2.
    """
    apart: NDArray[np.float64] = seen - seen.mean(axis=0, dtype=np.float64)
    # The sign of a singular vector is anybody's choice, so the distance along it decides, and not the side.
    along = np.linalg.eigh(apart @ apart.T)[1][:, -1]
    return np.array(seen[int(np.argmax(np.round(np.abs(along), 9)))], np.float32)
