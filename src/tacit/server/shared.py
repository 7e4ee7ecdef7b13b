"""The server as one more participant: it trains on the rows disclosed to it and is weighted by
their number.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.rows import Vector


@dataclass(frozen=True, kw_only=True)
class ServerUpdate:
    """The server's own update in a round, the number of rows behind it, and the total weight of all
    clients.
    """

    update: Vector
    rows: int
    clients_weight: int


def add_server_update(mean: Vector, own: ServerUpdate | None) -> Vector:
    """The mean over clients and server, weighted by rows: (W mean + n_S own) / (W + n_S).

    W is the weight of all clients, not of this round's cohort: a cohort represents everyone, so the
    server's share does not grow when few clients are asked. Without rows the server changes
    nothing. Source: Fisichella et al. 2022, step 3 of a round.
    """
    if own is None or own.rows == 0:
        return mean
    share = own.rows / (own.rows + own.clients_weight)
    return np.asarray((1 - share) * mean + share * own.update, np.float32)
