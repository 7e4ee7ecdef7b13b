"""Sum of signs at the coordinates each message speaks of; silent about all others. Exact in any order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class SignSum:
    """A running weighted sum of +1 (bit set) and -1 (bit clear) per coordinate."""

    def __init__(self, dim: int) -> None:
        self.total = np.zeros(dim, np.int64)
        self.weight = 0

    def add(self, payload: NDArray[np.uint8], weight: int, where: NDArray[np.int64] | None = None) -> None:
        """Add one payload whose bits belong to the coordinates `where` (all of them, in order, if None)."""
        places = np.arange(len(self.total)) if where is None else where
        bits = np.unpackbits(payload, count=len(places), bitorder="little").astype(np.int64)
        self.total[places] += weight * (2 * bits - 1)
        self.weight += weight

    def merge(self, other: SignSum) -> None:
        """Add another sum to this one."""
        self.total += other.total
        self.weight += other.weight

    def value(self) -> NDArray[np.int64]:
        """Return the weighted sum of signs."""
        return self.total
