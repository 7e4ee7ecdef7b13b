"""L2 norms of updates, summed value by value in order, so that zeros in between do not change a
single bit.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from tacit.rows import Vector


@numba.njit(nogil=True, cache=True)
def sum_squares(row: Vector) -> float:
    """Sum of squares of a row."""
    total = 0.0
    for i in range(row.size):
        total += np.float64(row[i]) * np.float64(row[i])
    return total


@numba.njit(nogil=True, cache=True)
def sum_squares_by_row(values: Vector, starts: NDArray[np.int64]) -> NDArray[np.float64]:
    """`sum_squares` of each of many rows; row n is values[starts[n]:starts[n + 1]].

    Each addition waits for the one before it, so four rows of about the same size are summed at the
    same time.
    """
    count = starts.size - 1
    found = np.zeros(count)
    order = np.argsort(starts[1:] - starts[:-1])
    whole = count // 4 * 4
    for n in range(0, whole, 4):
        one, two, three, four = order[n], order[n + 1], order[n + 2], order[n + 3]
        a, b, c, d = starts[one], starts[two], starts[three], starts[four]
        shortest = starts[one + 1] - a
        w = x = y = z = 0.0
        for i in range(shortest):
            w += np.float64(values[a + i]) * np.float64(values[a + i])
            x += np.float64(values[b + i]) * np.float64(values[b + i])
            y += np.float64(values[c + i]) * np.float64(values[c + i])
            z += np.float64(values[d + i]) * np.float64(values[d + i])
        found[one] = w
        found[two] = _continue_sum(x, values, b + shortest, starts[two + 1])
        found[three] = _continue_sum(y, values, c + shortest, starts[three + 1])
        found[four] = _continue_sum(z, values, d + shortest, starts[four + 1])
    for n in range(whole, count):
        found[order[n]] = _continue_sum(0.0, values, starts[order[n]], starts[order[n] + 1])
    return found


@numba.njit(nogil=True, cache=True)
def _continue_sum(total: float, values: Vector, begin: int, end: int) -> float:
    for i in range(begin, end):
        total += np.float64(values[i]) * np.float64(values[i])
    return total
