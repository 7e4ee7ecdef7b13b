"""Sum of signs at the coordinates each message speaks of; silent about all others. Exact in any order."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tacit.draws import Draws
from tacit.errors import WireError


class SignSum:
    """A running weighted sum of +1 (bit set) and -1 (bit clear) per coordinate.

    `places` says which coordinates a message speaks of, from its public randomness.
    """

    def __init__(self, dim: int, places: Callable[[Draws], NDArray[np.int64]]) -> None:
        self.total = np.zeros(dim, np.int64)
        self.weight = 0
        self._places = places

    def add(self, payload: NDArray[np.uint8], weight: int, public: Draws) -> None:
        """Add one payload's signs `weight` times."""
        places = self._places(public)
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

    def packed(self) -> NDArray[np.uint8]:
        """Return the sum as bytes."""
        return self.total.astype("<i8").view(np.uint8)

    def add_packed(self, payload: NDArray[np.uint8], weight: int) -> None:
        """Add a sum that crossed a wire; no sign sum may be larger than its weight."""
        if payload.nbytes != 8 * len(self.total):
            raise WireError(f"sum of signs refused: needs {8 * len(self.total):,} bytes, got {payload.nbytes:,}")
        signs = payload.view("<i8")
        if len(signs) and (signs.min() < -weight or signs.max() > weight):
            raise WireError(f"sum of signs refused: needs values within its weight ±{weight:,}, got others")
        self.total += signs
        self.weight += weight
