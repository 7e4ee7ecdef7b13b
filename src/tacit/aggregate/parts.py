"""A cohort in parts. Parts depend on the cohort alone, never on the number of workers, and are merged in their order, so
that floating-point sums come out the same to the bit with any number of workers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

_PARTS = 16
"""About so many parts: enough to keep any number of cores busy, few enough to merge cheaply."""


def parts_of(cohort: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Yield the cohort's parts, in order."""
    size = max(1, -(-len(cohort) // _PARTS))
    for first in range(0, len(cohort), size):
        yield cohort[first : first + size]
