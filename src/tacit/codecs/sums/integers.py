"""Sum of 32-bit whole numbers, one per coordinate. Exact in any order."""

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
"""Adds updates, as whole numbers, to the sum of all before them, each as often as it weighs."""


class IntegerSum:
    """A running weighted sum of payloads of 32-bit integers, each within ±largest and of an L2 norm
    of at most `norm`.

    A sum of weight w made elsewhere has an L2 norm of at most w · `norm`, by the triangle
    inequality, exactly: both bounds are about integers, so rounding needs no slack. The check is
    exact for all integers (`checks`).
    """

    def __init__(
        self, dim: int, largest: int, norm: int | None = None, adding: AddUpdates | None = None
    ) -> None:
        self.total = np.zeros(dim, np.int64)
        self.weight = 0
        self._largest, self._norm, self._adding = largest, norm, adding

    @classmethod
    def of(cls, numbers: NDArray[np.int64], weight: int) -> IntegerSum:
        """Return a sum that secure aggregation made, with the helpers' noise in it; nothing bounds
        its numbers.

        No party sees a single message there, so a client that ignores the clip cannot be told from
        the others: a bound on the sum would only let that client void the round.
        """
        made = cls(len(numbers), 1)
        made.total, made.weight = numbers, weight
        return made

    def add(self, payload: NDArray[np.uint8], weight: int, public: PublicDraws) -> None:
        """Add one payload `weight` times; refuse it if a number or its L2 norm is larger than any
        client's may be.
        """
        check_size(payload, 4 * len(self.total))
        row = payload.view("<i4")
        self._check(row, 1, "update")
        self._counted(weight)
        self.total += weight * row.astype(np.int64)

    def add_sparse(self, lines: SparseUpdates, weights: NDArray[np.int64]) -> None:
        """Add updates as often as they weigh, unencoded."""
        assert self._adding is not None
        self._counted(int(weights.sum()))
        self._adding(self.total, lines, weights)

    def add_row(self, row: NDArray[np.float32], weight: int) -> None:
        """Add an update `weight` times, unencoded."""
        self.add_sparse(SparseUpdates.of(row), np.array([weight]))

    def is_finite(self) -> bool:
        """Return True: an update that is not finite counts as no change."""
        return True

    def merge(self, other: IntegerSum) -> None:
        """Add another sum to this one."""
        check_dimensions(len(self.total), len(other.total))
        self._counted(other.weight, least=0)
        self.total += other.total

    def value(self) -> NDArray[np.int64]:
        """Return the weighted sum."""
        return self.total

    def pack(self) -> NDArray[np.uint8]:
        """Return the sum as bytes."""
        return self.total.astype("<i8").view(np.uint8)

    def add_packed(self, payload: NDArray[np.uint8], weight: int) -> None:
        """Add a sum that crossed a wire; refuse it if so much weight cannot add up to it."""
        check_size(payload, 8 * len(self.total), "sum of integers")
        sums = payload.view("<i8")
        self._check(sums, weight, "sum of integers")
        self._counted(weight, least=0)
        self.total += sums

    def _check(self, numbers: NDArray[np.signedinteger], weight: int, what: str) -> None:
        """Refuse numbers that no clients of such a weight together can have sent."""
        check_range(numbers, -weight * self._largest, weight * self._largest, what)
        if self._norm is not None:
            check_norm(numbers, (weight * self._norm) ** 2, what)

    def _counted(self, weight: int, *, least: int = 1) -> None:
        """Count what is about to be added; refuse it if the sum might no longer fit 64 bits."""
        check_weight(self.weight, weight, self._largest, least=least)
        self.weight += weight
