"""Sum of float32 updates in float64. Merging in a fixed order gives the same bits whatever the number of workers."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray


class FloatSum:
    """A running weighted sum of float32 payloads."""

    def __init__(self, dim: int) -> None:
        self.total = np.zeros(dim, np.float64)
        self.weight = 0

    def add(self, payload: NDArray[np.uint8], weight: int, where: NDArray[np.int64] | None = None) -> None:
        """Add one payload `weight` times; `where` lists the spans (start, stop) outside which it is zero."""
        spans = np.array([0, len(self.total)]) if where is None else where
        add_spans(self.total, payload.view(np.float32), spans, float(weight))
        self.weight += weight

    def merge(self, other: FloatSum) -> None:
        """Add another sum to this one."""
        self.total += other.total
        self.weight += other.weight

    def value(self) -> NDArray[np.float64]:
        """Return the weighted sum."""
        return self.total


@numba.njit(nogil=True, cache=True)
def add_spans(total: NDArray[np.float64], row: NDArray[np.float32], spans: NDArray[Any], weight: float) -> None:
    """Add weight * row to total inside the given spans."""
    for k in range(0, spans.size, 2):
        for i in range(spans[k], spans[k + 1]):
            total[i] += weight * row[i]
