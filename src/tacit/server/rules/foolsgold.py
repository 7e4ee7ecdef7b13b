"""FoolsGold: clients whose updates resemble each other lose weight, against one attacker behind
many names.
"""

from __future__ import annotations

import numpy as np

from tacit.rows import Vector
from tacit.server.rules.matrix import Floats, Matrix, compute_products, mean


def foolsgold(rows: Matrix, history: Matrix) -> Vector:
    """The mean of the rows, each weighted by how much its client's history differs from all
    others'.

    `history` is the sum of each client's updates, this round included, in the order of `rows`. Edge
    cases: if all clients are equal, all weights and the mean are zero; a single client has weight
    1. Source: Fung et al. 2020 (The Limitations of Federated Learning in Sybil Settings), algorithm
    1, with a mean in place of its sum.
    """
    return mean(rows, compute_client_weights(history))


def compute_client_weights(history: Matrix) -> Floats:
    """Compute a weight from 0 to 1 for each client."""
    clients = len(history)
    if clients == 1:
        return np.ones(1)
    inner = compute_products(history)
    length = np.sqrt(np.diag(inner))
    length[length == 0] = 1.0
    alike: Floats = inner / length[:, None] / length[None, :]
    np.fill_diagonal(alike, -np.inf)
    most = alike.max(axis=1)
    # An honest client that resembles an attacker is pardoned: the attacker has a double that is
    # nearer still.
    pardon = (most[None, :] > most[:, None]) & (most[None, :] > 0)
    factor = np.where(
        pardon, np.maximum(most[:, None], 0.0) / np.where(pardon, most[None, :], 1.0), 1.0
    )
    np.fill_diagonal(factor, 1.0)
    alpha: Floats = np.clip(1 - (alike * factor).max(axis=1), 0.0, 1.0)
    if alpha.max() == 0:
        return alpha
    alpha /= alpha.max()
    with np.errstate(divide="ignore"):
        return np.asarray(np.clip(np.log(alpha) - np.log1p(-alpha) + 0.5, 0.0, 1.0))
