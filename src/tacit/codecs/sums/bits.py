"""Sum of packed bits: per coordinate, the weighted number of clients that sent a one. Exact in any
order.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from tacit.codecs.sums.checks import (
    check_dimensions,
    check_kind,
    check_range,
    check_size,
    check_weight,
)
from tacit.randomness import PublicDraws

_LANES_FULL = 255

# Entry b holds the eight bits of byte b in the eight bytes of one word, so that one addition counts
# eight coordinates.
_SPREAD = (
    np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
    .astype(np.uint8)
    .view(np.uint64)[:, 0]
    .copy()
)


class BitSum:
    """A running weighted count of ones. Messages of weight one are counted in byte lanes, emptied
    before they overflow.
    """

    def __init__(self, dim: int) -> None:
        self.dim = dim
        self.weight = 0
        self._ones = np.zeros(dim, np.int64)
        self._lanes = np.zeros((dim + 7) // 8, np.uint64)
        self._in_lanes = 0

    @classmethod
    def of(cls, ones: NDArray[np.int64], weight: int) -> BitSum:
        """Build a sum from counts over `weight` messages. Clamp counts to [0, weight]."""
        made = cls(len(ones))
        made._ones, made.weight = np.clip(ones, 0, weight), weight
        return made

    def add(self, payload: NDArray[np.uint8], weight: int, public: PublicDraws) -> None:
        """Count one payload's bits `weight` times."""
        check_size(payload, len(self._lanes))
        check_weight(self.weight, weight)
        if weight == 1:
            count_in_lanes(self._lanes, payload, _SPREAD)
            self._in_lanes += 1
            if self._in_lanes == _LANES_FULL:
                self._empty_lanes()
        else:
            count_weighted(self._ones, payload, weight)
        self.weight += weight

    def merge(self, other: BitSum) -> None:
        """Add another count to this one."""
        check_kind(self, other)
        check_dimensions(self.dim, other.dim)
        check_weight(self.weight, other.weight, least=0)
        self._ones += other.value()
        self.weight += other.weight

    def value(self) -> NDArray[np.int64]:
        """Weighted number of ones per coordinate."""
        self._empty_lanes()
        return self._ones

    def pack(self) -> NDArray[np.uint8]:
        """Serialise the counts."""
        return self.value().astype("<i8").view(np.uint8)

    def add_packed(self, payload: NDArray[np.uint8], weight: int) -> None:
        """Add serialised counts, each of which must be from 0 to their weight.

        Clients may send any bits, so all such counts are possible: there is no tighter bound.
        """
        check_size(payload, 8 * self.dim, "sum of bits")
        ones = payload.view("<i8")
        check_weight(self.weight, weight, least=0)
        check_range(ones, 0, weight, "sum of bits")
        self._ones += ones
        self.weight += weight

    def _empty_lanes(self) -> None:
        if self._in_lanes:
            self._ones += self._lanes.view(np.uint8)[: self.dim]
            self._lanes[:] = 0
            self._in_lanes = 0


@numba.njit(nogil=True, cache=True)
def count_in_lanes(
    lanes: NDArray[np.uint64], payload: NDArray[np.uint8], spread: NDArray[np.uint64]
) -> None:
    """Add the eight bits of each payload byte to the eight byte lanes of its word."""
    for i in range(payload.size):
        lanes[i] += spread[payload[i]]


@numba.njit(nogil=True, cache=True)
def count_weighted(ones: NDArray[np.int64], payload: NDArray[np.uint8], weight: int) -> None:
    """Add weight to the count of every coordinate whose bit is set."""
    for i in range(ones.size):
        ones[i] += weight * ((payload[i >> 3] >> (i & 7)) & 1)
