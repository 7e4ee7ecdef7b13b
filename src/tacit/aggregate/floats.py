"""Sum of float32 updates in float64. Merging in a fixed order gives the same bits whatever the number of workers."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray


class FloatSum:
    """A running weighted sum of float32 payloads. Memory is written when the first one comes, not before."""

    def __init__(self, dim: int) -> None:
        self.total = np.empty(dim, np.float64)
        self.weight = 0
        self._unwritten = True

    def add(self, payload: NDArray[np.uint8], weight: int, where: NDArray[np.int64] | None = None) -> None:
        """Add one payload `weight` times; `where` lists the spans (start, stop) outside which it is zero."""
        row = payload.view(np.float32)
        if where is not None:
            add_spans(self.value(), row, where, float(weight))
        elif self._unwritten:
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

    def value(self) -> NDArray[np.float64]:
        """Return the weighted sum."""
        if self._unwritten:
            self.total[:] = 0
            self._unwritten = False
        return self.total


@numba.njit(nogil=True, cache=True)
def add_whole(total: NDArray[np.float64], row: NDArray[np.float32], weight: float) -> None:
    """Add weight * row to total."""
    for i in range(total.size):
        total[i] += weight * row[i]


@numba.njit(nogil=True, cache=True)
def add_spans(total: NDArray[np.float64], row: NDArray[np.float32], spans: NDArray[Any], weight: float) -> None:
    """Add weight * row to total inside the given spans."""
    for k in range(0, spans.size, 2):
        for i in range(spans[k], spans[k + 1]):
            total[i] += weight * row[i]
