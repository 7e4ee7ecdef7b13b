"""The server as one more member of the average: it trains on the rows it was given and counts by
their number.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.rows import Vector


@dataclass(frozen=True, kw_only=True)
class Own:
    """What the server itself learned in a round: its update, the rows behind it, and how much all
    clients weigh beside it.
    """

    update: Vector
    rows: int
    clients_weight: int


def with_own(mean: Vector, own: Own | None) -> Vector:
    """Return the mean over clients and server, each by its rows: (W mean + n_S own) / (W + n_S).

    W is the weight of all clients, whoever reported in this round: a cohort stands for everyone, so
    the server's share does not grow when few clients are asked. Without rows of its own the server
    changes nothing. Source: Fisichella et al. 2022, step 3 of a round.
    """
    if own is None or own.rows == 0:
        return mean
    share = own.rows / (own.rows + own.clients_weight)
    return np.asarray((1 - share) * mean + share * own.update, np.float32)
