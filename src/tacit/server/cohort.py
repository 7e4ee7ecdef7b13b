"""Which clients take part in a round."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit import plan
from tacit.draws import Draws


def choose(settings: plan.Server, clients: int, draws: Draws) -> NDArray[np.int64]:
    """Return the round's cohort, in ascending order.

    Edge cases: a Poisson cohort may be empty (the round then changes nothing); a fixed count above the number of
    clients takes them all.
    """
    if settings.cohort == "all":
        return np.arange(clients)
    assert settings.cohort_size is not None
    size = min(settings.cohort_size, clients)
    if settings.cohort == "count":
        return np.sort(draws.generator().choice(clients, size, replace=False))
    return np.flatnonzero(draws.generator().random(clients) < size / clients)
