"""Sum of 32-bit whole numbers, one per coordinate. Exact in any order."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tacit.draws import PublicDraws
from tacit.errors import WireError
from tacit.rows import Lines

Adding = Callable[[NDArray[np.int64], Lines, NDArray[np.int64]], None]
"""Adds updates, as whole numbers, to the sum of all before them, each as often as it weighs."""


class WholeSum:
    """A running weighted sum of payloads of 32-bit whole numbers, each within ±largest; `length` bounds their root of squares."""

    def __init__(self, dim: int, largest: int, length: int | None = None, adding: Adding | None = None) -> None:
        self.total = np.zeros(dim, np.int64)
        self.weight = 0
        self._largest, self._length, self._adding = largest, length, adding

    @classmethod
    def of(cls, numbers: NDArray[np.int64], weight: int) -> WholeSum:
        """Return a sum somebody else made; nothing bounds its numbers."""
        made = cls(len(numbers), 1)
        made.total, made.weight = numbers, weight
        return made

    def add(self, payload: NDArray[np.uint8], weight: int, public: PublicDraws) -> None:
        """Add one payload `weight` times; refuse it if it is longer than any client's may be."""
        row = payload.view("<i4").astype(np.int64)  # wide enough for their squares, too
        if len(row) and np.abs(row).max() > self._largest:
            raise WireError(f"update refused: needs whole numbers within ±{self._largest:,}, got others")
        if self._length is not None and int(np.square(row).sum()) > self._length**2:
            raise WireError(f"update refused: needs a length of at most {self._length:,} steps, got more")
        self._counted(weight)
        self.total += weight * row

    def add_lines(self, lines: Lines, weights: NDArray[np.int64]) -> None:
        """Add updates as often as they weigh, unencoded."""
        assert self._adding is not None
        self._counted(int(weights.sum()))
        self._adding(self.total, lines, weights)

    def add_row(self, row: NDArray[np.float32], weight: int) -> None:
        """Add an update `weight` times, unencoded."""
        self.add_lines(Lines.of(row), np.array([weight]))

    def is_finite(self) -> bool:
        """Return True: an update that is not finite counts as no change."""
        return True

    def merge(self, other: WholeSum) -> None:
        """Add another sum to this one."""
        self._counted(other.weight)
        self.total += other.total

    def value(self) -> NDArray[np.int64]:
        """Return the weighted sum."""
        return self.total

    def packed(self) -> NDArray[np.uint8]:
        """Return the sum as bytes."""
        return self.total.astype("<i8").view(np.uint8)

    def add_packed(self, payload: NDArray[np.uint8], weight: int) -> None:
        """Add a sum that crossed a wire; none may be further from 0 than its weight of largest numbers."""
        if payload.nbytes != 8 * len(self.total):
            raise WireError(f"sum of whole numbers refused: needs {8 * len(self.total):,} bytes, got {payload.nbytes:,}")
        sums, most = payload.view("<i8"), weight * self._largest
        if len(sums) and (sums.min() < -most or sums.max() > most):
            raise WireError(f"sum of whole numbers refused: needs values within ±{most:,}, got others")
        self._counted(weight)
        self.total += sums

    def _counted(self, weight: int) -> None:
        """Count what is about to be added; refuse it if the sum might no longer fit 64 bits."""
        if (self.weight + weight) * self._largest >= 1 << 63:
            raise WireError(f"update refused: needs a total weight below {(1 << 63) // self._largest:,}, got more")
        self.weight += weight
