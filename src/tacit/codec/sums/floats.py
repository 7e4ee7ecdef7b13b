"""Sum of float32 updates in float64. Merging in a fixed order gives the same bits whatever the number of workers."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from tacit.draws import Draws
from tacit.errors import WireError
from tacit.rows import Lines


class FloatSum:
    """A running weighted sum of float32 payloads. Memory is written when the first one comes, not before."""

    def __init__(self, dim: int) -> None:
        self.total = np.empty(dim, np.float64)
        self.weight = 0
        self._unwritten = True

    def add(self, payload: NDArray[np.uint8], weight: int, public: Draws) -> None:
        """Add one payload `weight` times; refuse it if a value is not finite, for one such value would spoil the sum."""
        row = payload.view(np.float32)
        if not finite(row):
            raise WireError("update refused: needs finite values, got NaN or infinite ones")
        self.add_row(row, weight)

    def add_lines(self, lines: Lines, weights: NDArray[np.int64]) -> None:
        """Add updates as often as they weigh, unchecked."""
        add_lines(self.value(), lines, weights.astype(np.float64))
        self.weight += int(weights.sum())

    def add_row(self, row: NDArray[np.float32], weight: int) -> None:
        """Add an update `weight` times, unchecked."""
        if self._unwritten:
            np.multiply(row, float(weight), out=self.total, dtype=np.float64)
        else:
            add_whole(self.total, row, float(weight))
        self._unwritten = False
        self.weight += weight

    def merge(self, other: FloatSum) -> None:
        """Add another sum to this one; the other is used up."""
        if self._unwritten:
            self.total, self._unwritten = other.total, other._unwritten
        else:
            self.total += other.value()
        self.weight += other.weight

    def is_finite(self) -> bool:
        """Return whether every value is finite: no update with another value was added."""
        return self._unwritten or bool(finite(self.total))

    def packed(self) -> NDArray[np.uint8]:
        """Return the sum as bytes."""
        return self.value().astype("<f8").view(np.uint8)

    def add_packed(self, payload: NDArray[np.uint8], weight: int) -> None:
        """Add a sum that crossed a wire."""
        if payload.nbytes != 8 * len(self.total):
            raise WireError(f"sum refused: needs {8 * len(self.total):,} bytes, got {payload.nbytes:,}")
        other = FloatSum(len(self.total))
        other.total, other.weight, other._unwritten = payload.view("<f8").copy(), weight, False
        if not other.is_finite():
            raise WireError("sum refused: needs finite values, got NaN or infinite ones")
        self.merge(other)

    def value(self) -> NDArray[np.float64]:
        """Return the weighted sum."""
        if self._unwritten:
            self.total[:] = 0
            self._unwritten = False
        return self.total


@numba.njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def finite(row: NDArray[Any]) -> bool:
    """Return whether every value is finite: x - x is zero for those alone."""
    off = row.dtype.type(0)
    for i in range(row.size):
        off += row[i] - row[i]
    return bool(off == 0)


@numba.njit(nogil=True, cache=True)
def add_whole(total: NDArray[np.float64], row: NDArray[np.float32], weight: float) -> None:
    """Add weight * row to total."""
    for i in range(total.size):
        total[i] += weight * row[i]


@numba.njit(nogil=True, cache=True)
def add_lines(total: NDArray[np.float64], lines: Lines, weights: NDArray[np.float64]) -> None:
    """Add updates to total, in order, each times its weight."""
    width, end = lines.width, lines.end
    for n in range(weights.size):
        weight, values = weights[n], lines.values[lines.starts[n] : lines.starts[n + 1]]
        named = lines.named[lines.name_starts[n] : lines.name_starts[n + 1]]
        for m in range(named.size):
            target, source = total[named[m] * width : (named[m] + 1) * width], values[m * width : (m + 1) * width]
            for k in range(width):
                target[k] += weight * source[k]
        rest = values[named.size * width :]
        for i in range(total.size - end):
            total[end + i] += weight * rest[i]
