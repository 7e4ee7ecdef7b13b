"""Sum of level indices, packed with a few bits each, at the coordinates of each message. Exact in
any order.
"""

from __future__ import annotations

from collections.abc import Callable

import numba
import numpy as np
from numpy.typing import NDArray

from tacit.codecs.sums.checks import (
    check_dimensions,
    check_kind,
    check_norm,
    check_range,
    check_size,
    check_weight,
)
from tacit.codecs.sums.packing import count_packed_bytes
from tacit.errors import WireError
from tacit.randomness import PublicDraws


class LevelSum:
    """A running weighted sum of 2 z - (levels - 1) per coordinate: the level z, in half steps from
    the middle.

    Two levels are a sign: a set bit counts +1, a clear bit -1.

    `places` computes the `sent` coordinates of a message from its public randomness; without it a
    message has all coordinates.
    """

    def __init__(
        self,
        dim: int,
        levels: int,
        bits: int,
        places: Callable[[PublicDraws], NDArray[np.int64]] | None = None,
        sent: int | None = None,
    ) -> None:
        self.total = np.zeros(dim, np.int64)
        self.weight = 0
        self._levels, self._bits, self._places, self._sent = (
            levels,
            bits,
            places,
            dim if sent is None else sent,
        )

    @classmethod
    def of(cls, half_steps: NDArray[np.int64], weight: int) -> LevelSum:
        """Build a sum from integers, in half steps from the middle; nothing bounds them."""
        made = cls(len(half_steps), 2, 1)
        made.total, made.weight = half_steps, weight
        return made

    def add(self, payload: NDArray[np.uint8], weight: int, public: PublicDraws) -> None:
        """Add one payload's levels `weight` times; refuse it if a level does not exist."""
        check_size(payload, count_packed_bytes(self._sent, self._bits))
        check_weight(self.weight, weight, self._levels - 1)
        places = slice(None) if self._places is None else self._places(public)
        indices = unpack_levels(payload, self._sent, self._bits)
        if len(indices) and indices.max() >= self._levels:
            raise WireError(
                f"update refused: it contains level {indices.max()}; the levels are 0 to"
                f" {self._levels - 1}"
            )
        self.total[places] += weight * (2 * indices.astype(np.int64) - (self._levels - 1))
        self.weight += weight

    def merge(self, other: LevelSum) -> None:
        """Add another sum to this one."""
        check_kind(self, other)
        check_dimensions(len(self.total), len(other.total))
        check_weight(self.weight, other.weight, self._levels - 1, least=0)
        self.total += other.total
        self.weight += other.weight

    def value(self) -> NDArray[np.int64]:
        """The weighted sum, in half steps from the middle."""
        return self.total

    def pack(self) -> NDArray[np.uint8]:
        """Serialise the sum."""
        return self.total.astype("<i8").view(np.uint8)

    def add_packed(self, payload: NDArray[np.uint8], weight: int) -> None:
        """Add a serialised sum, within its weight times the outermost levels.

        Where a message has only `sent` coordinates, the L2 norm is at most √sent times that.
        Otherwise clients may send any levels, so all such sums are possible: there is no tighter
        bound.
        """
        check_size(payload, 8 * len(self.total), "sum of levels")
        sums, most = payload.view("<i8"), weight * (self._levels - 1)
        check_weight(self.weight, weight, self._levels - 1, least=0)
        check_range(sums, -most, most, "sum of levels")
        if self._sent < len(self.total):
            check_norm(sums, self._sent * most * most, "sum of levels")
        self.total += sums
        self.weight += weight


@numba.njit(nogil=True, cache=True)
def unpack_levels(payload: NDArray[np.uint8], count: int, bits: int) -> NDArray[np.uint8]:
    """Read `count` numbers of `bits` (at most 8) bits each, lowest bit first."""
    found = np.empty(count, np.uint8)
    mask = (1 << bits) - 1
    for i in range(count):
        byte, shift = (i * bits) >> 3, (i * bits) & 7
        pair = np.int64(payload[byte])
        if shift + bits > 8:
            pair |= np.int64(payload[byte + 1]) << 8
        found[i] = (pair >> shift) & mask
    return found
