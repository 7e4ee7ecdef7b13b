"""Sum of 16-bit integers at the coordinates of each message. Exact in any order."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tacit.codecs.sums.checks import check_size
from tacit.codecs.sums.integers import IntegerSum
from tacit.randomness import PublicDraws


class PlacedSum(IntegerSum):
    """A running weighted sum of payloads; `places` computes the coordinates of a message from its
    public randomness.
    """

    def __init__(
        self,
        dim: int,
        largest: int,
        sent: int,
        norm: int,
        places: Callable[[PublicDraws], NDArray[np.int64]],
    ) -> None:
        """A message has `sent` numbers."""
        super().__init__(dim, largest, norm)
        self._sent, self._places = sent, places

    def add(self, payload: NDArray[np.uint8], weight: int, public: PublicDraws) -> None:
        """Add one payload `weight` times; refuse it if a value or its L2 norm exceeds the bounds of
        a client.
        """
        check_size(payload, 2 * self._sent)
        row = payload.view("<i2").astype(np.int64)
        self._check(row, 1, "update")
        places = self._places(public)
        self._count_weight(weight)
        self.total[places] += weight * row
