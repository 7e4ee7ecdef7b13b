"""Which clients take part in a round."""

from __future__ import annotations

from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from tacit import plan
from tacit.randomness import Draws


def choose(
    settings: plan.Server, clients: int, draws: Draws, answered: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """Return the round's cohort, in ascending order.

    Where clients answer rarely, `answered` says in which round each did last: those who have waited
    longest are asked first, so that all are asked as often and as far apart as can be.

    Guarantees: in a Poisson cohort each client is taken with the chance size / clients to within
    2^-64, from words that nobody without the server's key can guess: privacy may rest on it.

    Edge cases: a Poisson cohort may be empty (the round then changes nothing); a fixed count above
    the number of clients takes them all.
    """
    size = clients if settings.cohort_size is None else min(settings.cohort_size, clients)
    match settings.cohort:
        case "all":
            return np.arange(clients)
        case "count":
            if answered is not None:
                return np.sort(np.lexsort((draws.words(clients), answered))[:size])
            return np.sort(draws.generator().choice(clients, size, replace=False))
        case "poisson":
            if size == clients:
                return np.arange(clients)
            return np.flatnonzero(draws.words(clients) < np.uint64((size << 64) // clients))
        case _:
            assert_never(settings.cohort)
