"""Sum of integers modulo a power of two, packed with a few bits each: what secure aggregation adds
up. Exact in any order.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.codecs.sums.checks import check_dimensions, check_range, check_size, check_weight
from tacit.codecs.sums.packing import count_packed_bytes, unpack_integers
from tacit.randomness import PublicDraws


class ModularSum:
    """A running weighted sum modulo 2^bits (at most 32). Any payload of the right size is valid.

    There is no bound on the norm of a sum: it contains every client's noise and wraps around by
    design.
    """

    def __init__(self, dim: int, bits: int) -> None:
        self.total = np.zeros(dim, np.uint64)
        self.weight = 0
        self._bits = bits

    @classmethod
    def of(cls, numbers: NDArray[np.int64], weight: int, bits: int) -> ModularSum:
        """Build a sum from integers modulo 2^bits or a multiple of it."""
        made = cls(len(numbers), bits)
        made.total, made.weight = numbers.astype(np.uint64), weight
        return made

    def add(self, payload: NDArray[np.uint8], weight: int, public: PublicDraws) -> None:
        """Add one payload `weight` times."""
        check_size(payload, count_packed_bytes(len(self.total), self._bits))
        check_weight(self.weight, weight)
        self.total += unpack_integers(payload, len(self.total), self._bits).astype(
            np.uint64
        ) * np.uint64(weight)
        self.weight += weight

    def merge(self, other: ModularSum) -> None:
        """Add another sum to this one."""
        check_dimensions(len(self.total), len(other.total))
        check_weight(self.weight, other.weight, least=0)
        self.total += other.total
        self.weight += other.weight

    def value(self) -> NDArray[np.int64]:
        """The representative nearest to 0: from -2^(bits-1) to 2^(bits-1) - 1."""
        unused = np.int64(64 - self._bits)
        return (self.total.view(np.int64) << unused) >> unused

    def pack(self) -> NDArray[np.uint8]:
        """Serialise the sum."""
        return self.value().astype("<i8").view(np.uint8)

    def add_packed(self, payload: NDArray[np.uint8], weight: int) -> None:
        """Add a serialised sum within the range of its modulus, and zero if its weight is zero."""
        check_size(payload, 8 * len(self.total), "sum of integers")
        check_weight(self.weight, weight, least=0)
        half = 1 << (self._bits - 1) if weight else 0
        sums = payload.view("<i8")
        check_range(sums, -half, max(0, half - 1), "sum of integers")
        self.total += sums.astype(np.uint64)
        self.weight += weight
