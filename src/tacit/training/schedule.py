"""Which rows each local step uses. Compiled, so that the kernels need not call back into Python."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from tacit import plan

DEFAULT_BATCH = 32


class Pace(NamedTuple):
    """How local steps divide a client's rows; 0 for what the plan does not set."""

    batches: int
    batch: int
    epochs: int
    steps: int


def build_pace(local: plan.Local) -> Pace:
    """Return a plan's pace; one epoch if neither epochs nor steps are set."""
    epochs = local.epochs or (0 if local.steps else 1)
    return Pace(local.batches or 0, local.batch or DEFAULT_BATCH, epochs, local.steps or 0)


def count_full_batch_steps(pace: Pace, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return each client's number of steps if every step uses all of its rows, else 0."""
    parts = np.minimum(pace.batches, rows) if pace.batches else -(-rows // pace.batch)
    return np.where(parts == 1, min(count for count in (pace.epochs, pace.steps) if count), 0)


@numba.njit(nogil=True, cache=True)
def list_batch_ends(pace: Pace, rows: int) -> NDArray[np.int64]:
    """Return the end of each local step's rows in the sequence of shuffled epochs.

    A batch never crosses an epoch: the last batch of an epoch may be smaller.
    """
    if rows == 0:
        return np.empty(0, np.int64)
    parts = min(pace.batches, rows) if pace.batches else -(-rows // pace.batch)
    epochs = pace.epochs if pace.epochs else -(-pace.steps // parts)
    count = parts * epochs
    if pace.steps:
        count = min(count, pace.steps)
    ends = np.empty(count, np.int64)
    for step in range(count):
        part = step % parts + 1
        end = rows * part // parts if pace.batches else min(rows, part * pace.batch)
        ends[step] = step // parts * rows + end
    return ends


@numba.njit(nogil=True, cache=True)
def shuffle_rows(rows: int, length: int, seed: np.uint64) -> NDArray[np.int64]:
    """Return independent permutations of the row numbers, concatenated to at least `length`.

    Fisher-Yates with one SplitMix64 word per swap: no privacy depends on the order of rows.
    """
    epochs = -(-length // rows) if rows else 0
    order = np.empty(rows * epochs, np.int64)
    state = np.uint64(seed)
    for first in range(0, order.size, max(1, rows)):
        for i in range(rows):
            order[first + i] = i
        for i in range(rows - 1, 0, -1):
            state += np.uint64(0x9E3779B97F4A7C15)
            word = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            j = np.int64((word ^ (word >> np.uint64(31))) % np.uint64(i + 1))
            order[first + i], order[first + j] = order[first + j], order[first + i]
    return order
