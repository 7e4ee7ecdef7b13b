"""Sum of 32-bit integers, one per coordinate. Exact in any order."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tacit.codecs.sums.checks import (
    check_dimensions,
    check_norm,
    check_range,
    check_size,
    check_weight,
)
from tacit.randomness import PublicDraws
from tacit.rows import SparseUpdates

AddUpdates = Callable[[NDArray[np.int64], SparseUpdates, NDArray[np.int64]], None]
"""Adds updates, as integers times their weights, to a sum."""


class IntegerSum:
    """A running weighted sum of 32-bit integer payloads, each within ±largest and of L2 norm at
    most `norm`.

    A received sum of weight w has an L2 norm of at most w · `norm`, by the triangle inequality.
    Both bounds are about integers, so rounding needs no slack, and the check is exact (`checks`).
    """

    def __init__(
        self, dim: int, largest: int, norm: int | None = None, adding: AddUpdates | None = None
    ) -> None:
        self.total = np.zeros(dim, np.int64)
        self.weight = 0
        self._largest, self._norm, self._add_updates = largest, norm, adding

    @classmethod
    def of(cls, numbers: NDArray[np.int64], weight: int) -> IntegerSum:
        """Build a sum from the result of secure aggregation, with the helpers' noise in it; nothing
        bounds its values.

        No party sees a single message there, so nobody can identify a client that ignores the clip.
        A bound on the sum would only let that client void the round.
        """
        made = cls(len(numbers), 1)
        made.total, made.weight = numbers, weight
        return made

    def add(self, payload: NDArray[np.uint8], weight: int, public: PublicDraws) -> None:
        """Add one payload `weight` times; refuse it if a value or its L2 norm exceeds the bounds of
        a client.
        """
        check_size(payload, 4 * len(self.total))
        row = payload.view("<i4")
        self._check(row, 1, "update")
        self._count_weight(weight)
        self.total += weight * row.astype(np.int64)

    def add_sparse(self, lines: SparseUpdates, weights: NDArray[np.int64]) -> None:
        """Add unencoded updates times their weights."""
        assert self._add_updates is not None
        self._count_weight(int(weights.sum()))
        self._add_updates(self.total, lines, weights)

    def add_row(self, row: NDArray[np.float32], weight: int) -> None:
        """Add an unencoded update `weight` times."""
        self.add_sparse(SparseUpdates.of(row), np.array([weight]))

    def is_finite(self) -> bool:
        """Always True: an update that is not finite counts as zero."""
        return True

    def merge(self, other: IntegerSum) -> None:
        """Add another sum to this one."""
        check_dimensions(len(self.total), len(other.total))
        self._count_weight(other.weight, least=0)
        self.total += other.total

    def value(self) -> NDArray[np.int64]:
        """The weighted sum."""
        return self.total

    def pack(self) -> NDArray[np.uint8]:
        """Serialise the sum."""
        return self.total.astype("<i8").view(np.uint8)

    def add_packed(self, payload: NDArray[np.uint8], weight: int) -> None:
        """Add a serialised sum; refuse it if clients of that weight cannot add up to it."""
        check_size(payload, 8 * len(self.total), "sum of integers")
        sums = payload.view("<i8")
        self._check(sums, weight, "sum of integers")
        self._count_weight(weight, least=0)
        self.total += sums

    def _check(self, numbers: NDArray[np.signedinteger], weight: int, what: str) -> None:
        """Refuse values that clients of this total weight cannot have sent."""
        check_range(numbers, -weight * self._largest, weight * self._largest, what)
        if self._norm is not None:
            check_norm(numbers, (weight * self._norm) ** 2, what)

    def _count_weight(self, weight: int, *, least: int = 1) -> None:
        """Add to the weight; refuse if the sum might no longer fit 64 bits."""
        check_weight(self.weight, weight, self._largest, least=least)
        self.weight += weight
