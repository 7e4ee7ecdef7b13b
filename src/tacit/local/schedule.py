"""Which rows each local step sees."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from tacit import plan
from tacit.draws import Draws

DEFAULT_BATCH = 32


def batch_ends(local: plan.Local, rows: int) -> NDArray[np.int64]:
    """Return where each local step's rows end in the sequence of shuffled epochs; one entry a step.

    A batch never crosses an epoch: the last batch of an epoch may be smaller. Without epochs or steps: one epoch.
    """
    if rows == 0:
        return np.empty(0, np.int64)
    if local.batches:
        parts = min(local.batches, rows)
        epoch = np.array([rows * (part + 1) // parts for part in range(parts)], np.int64)
    else:
        size = local.batch or DEFAULT_BATCH
        epoch = np.append(np.arange(size, rows, size), rows).astype(np.int64)
    epochs = local.epochs or (-(-local.steps // len(epoch)) if local.steps else 1)
    ends = (epoch[None, :] + rows * np.arange(epochs)[:, None]).ravel()
    return ends[: local.steps] if local.steps else ends


def row_order(rows: int, epochs: int, draws: Draws) -> NDArray[np.int64]:
    """Return `epochs` independent shuffles of the row numbers, one after the other."""
    order = np.empty(rows * epochs, np.int64)
    if rows:
        shuffle(order, rows, draws.words(rows * epochs))
    return order


@numba.njit(nogil=True, cache=True)
def shuffle(order: NDArray[np.int64], rows: int, words: NDArray[np.uint64]) -> None:
    """Fill `order` with shuffles of 0..rows-1 (Fisher-Yates, one word a swap)."""
    for first in range(0, order.size, rows):
        for i in range(rows):
            order[first + i] = i
        for i in range(rows - 1, 0, -1):
            j = np.int64(words[first + i] % np.uint64(i + 1))
            order[first + i], order[first + j] = order[first + j], order[first + i]
