"""Sum of 16-bit whole numbers at the coordinates each message speaks of. Exact in any order."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tacit.codec.sums.wholes import WholeSum
from tacit.draws import PublicDraws
from tacit.errors import WireError


class PlacedSum(WholeSum):
    """A running weighted sum of payloads; `places` says which coordinates a message speaks of, from its public randomness."""

    def __init__(self, dim: int, largest: int, places: Callable[[PublicDraws], NDArray[np.int64]]) -> None:
        super().__init__(dim, largest)
        self._places = places

    def add(self, payload: NDArray[np.uint8], weight: int, public: PublicDraws) -> None:
        """Add one payload `weight` times; refuse it if a number is larger than any client's may be."""
        row = payload.view("<i2").astype(np.int64)
        if len(row) and np.abs(row).max() > self._largest:
            raise WireError(f"update refused: needs whole numbers within ±{self._largest:,}, got others")
        self._counted(weight)
        self.total[self._places(public)] += weight * row
