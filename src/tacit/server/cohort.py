"""Cohort selection."""

from __future__ import annotations

from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from tacit import plan
from tacit.randomness import Draws


def choose_cohort(
    settings: plan.Server, clients: int, draws: Draws, answered: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """Select the round's cohort, in ascending order.

    `answered`, if given, holds the last round of each client; clients that have waited longest are
    asked first, so that participations are evenly spaced.

    Guarantees: in a Poisson cohort each client is included with probability size / clients to
    within 2^-64, from words that cannot be guessed without the server's key, so that privacy
    amplification may rest on it.

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
