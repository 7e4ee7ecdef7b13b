"""Which clients take part in a round."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit import plan
from tacit.draws import Draws


def choose(settings: plan.Server, clients: int, draws: Draws) -> NDArray[np.int64]:
    """Return the round's cohort, in ascending order.

    Guarantees: in a Poisson cohort each client is taken with the chance size / clients to within 2^-64, from words that nobody
    without the server's key can guess: privacy may rest on it.

    Edge cases: a Poisson cohort may be empty (the round then changes nothing); a fixed count above the number of
    clients takes them all.
    """
    if settings.cohort == "all":
        return np.arange(clients)
    assert settings.cohort_size is not None
    size = min(settings.cohort_size, clients)
    if settings.cohort == "count":
        return np.sort(draws.generator().choice(clients, size, replace=False))
    if size == clients:
        return np.arange(clients)
    return np.flatnonzero(draws.words(clients) < np.uint64((size << 64) // clients))
