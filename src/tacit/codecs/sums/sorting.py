"""Sorts many rows at every coordinate in ascending order, so that a cohort's tokens no longer show
who sent which.

Rows are compared whole, two at a time, in a fixed order that sorts any input (Batcher's merge
exchange), so that one processor instruction orders many coordinates. A block of coordinates of all
rows stays in the cache until it is sorted.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

Unsigned = NDArray[Any]
"""Unsigned integers of any width."""

_BLOCK = 200_000  # bytes of a block of coordinates: they fit into the second-level cache
_LEAST = 1 << 20  # numbers worth a second thread
_THREADS = min(4, os.cpu_count() or 1)


def sort_columns(rows: Sequence[Unsigned], into: Unsigned) -> None:
    """Copy the rows into a matrix of their type, sorted in ascending order at each coordinate."""
    count, dim = into.shape
    threads = _THREADS if count * dim >= _LEAST else 1
    lanes = max(64, _BLOCK // max(1, count * into.itemsize) // 64 * 64)
    pairs = list_exchanges(count)

    def sort(start: int, stop: int) -> None:
        for row, target in zip(rows, into, strict=True):
            target[start:stop] = row[start:stop]
        sort_block(into, pairs, (start, stop), lanes)

    bounds = np.linspace(0, dim, threads + 1).astype(np.int64).tolist()
    if threads == 1:
        return sort(0, dim)
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(sort, bounds[:-1], bounds[1:]))
    return None


@lru_cache(maxsize=32)
def list_exchanges(count: int) -> NDArray[np.int64]:
    """Pairs of `count` rows to compare, in order, until all are sorted.

    Source: Knuth, The Art of Computer Programming 3, algorithm 5.2.2 M.
    """
    pairs, run = list[tuple[int, int]](), 1
    while run < count:
        apart = run
        while apart:
            starts = range(apart % run, count - apart, 2 * apart)
            near = (
                low for start in starts for low in range(start, min(start + apart, count - apart))
            )
            pairs += [
                (low, low + apart) for low in near if low // (2 * run) == (low + apart) // (2 * run)
            ]
            apart //= 2
        run *= 2
    return np.array(pairs, np.int64).reshape(-1, 2)


@numba.njit(nogil=True, cache=True)
def sort_block(
    rows: Unsigned, pairs: NDArray[np.int64], between: tuple[int, int], lanes: int
) -> None:
    """Sort the columns between two coordinates, a block at a time."""
    block = np.empty((rows.shape[0], lanes), rows.dtype)
    for start in range(between[0], between[1], lanes):
        width = min(lanes, between[1] - start)
        for n in range(rows.shape[0]):
            copy(rows[n, start : start + width], block[n, :width])
        for n in range(pairs.shape[0]):
            exchange(block[pairs[n, 0]], block[pairs[n, 1]])
        for n in range(rows.shape[0]):
            copy(block[n, :width], rows[n, start : start + width])


@numba.njit(nogil=True, cache=True)
def copy(given: Unsigned, into: Unsigned) -> None:
    """Copy part of a row; a loop of its own, because the compiler turns it into wide moves."""
    for i in range(given.size):
        into[i] = given[i]


@numba.njit(nogil=True, cache=True)
def exchange(low: Unsigned, high: Unsigned) -> None:
    """Put the smaller of two numbers into `low` and the larger into `high`, at each coordinate."""
    for i in range(low.size):
        one, other = low[i], high[i]
        low[i] = min(one, other)
        high[i] = max(one, other)
