"""Scales of updates: L2 norm 1 (`local.normalise`), or times the square root of the client's rows
(`local.row_scale`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import assert_never

import numba
import numpy as np
from numpy.typing import NDArray

from tacit import plan
from tacit.client import ClientSlot
from tacit.norms import sum_squares_by_row
from tacit.randomness import Draws
from tacit.rows import Vector
from tacit.training.contract import DenseUpdate, Group, Update, Worker


def scales_by_root(settings: plan.Local) -> bool:
    """Return whether updates are multiplied by the square root of their client's number of rows."""
    match settings.row_scale:
        case "mean":
            return False
        case "root":
            return True
        case _:
            assert_never(settings.row_scale)


class UnitWorker:
    """A PyTorch worker whose updates are scaled to L2 norm 1; a zero update stays zero."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    def train(self, model: Vector, slot: ClientSlot, draws: Draws, round_no: int = 1) -> Update:
        """Return the scaled update after local steps from `model`."""
        return _normalise(self._worker.train(model, slot, draws, round_no))

    def train_together(
        self, model: Vector, slots: Sequence[ClientSlot], draws: Sequence[Draws], round_no: int
    ) -> Iterator[Group]:
        """Yield the updates of some clients in order."""
        for group in self._worker.train_together(model, slots, draws, round_no):
            yield Group([_normalise(update) for update in group.updates])


class RootWorker:
    """A PyTorch worker whose updates are multiplied by the square root of the client's number of
    rows.
    """

    def __init__(self, worker: Worker, rows: NDArray[np.int64]) -> None:
        self._worker, self._rows = worker, rows

    def train(self, model: Vector, slot: ClientSlot, draws: Draws, round_no: int = 1) -> Update:
        """Return the scaled update after local steps from `model`."""
        return self._scale(self._worker.train(model, slot, draws, round_no), slot)

    def train_together(
        self, model: Vector, slots: Sequence[ClientSlot], draws: Sequence[Draws], round_no: int
    ) -> Iterator[Group]:
        """Yield the updates of some clients in order."""
        for slot, own in zip(slots, draws, strict=True):
            yield Group([self.train(model, slot, own, round_no)])

    def _scale(self, update: Update, slot: ClientSlot) -> Update:
        row = update.row
        scale_by_root_rows(row, np.array([0, len(row)]), self._rows[slot.block : slot.block + 1])
        return DenseUpdate(row)


def _normalise(update: Update) -> Update:
    row = update.row
    scale_to_unit(row, np.array([0, len(row)]))
    return DenseUpdate(row)


@numba.njit(nogil=True, cache=True)
def scale_to_unit(values: Vector, starts: NDArray[np.int64]) -> None:
    """Scale row n, values[starts[n]:starts[n + 1]], to L2 norm 1 in place, unless it is zero or not
    finite.
    """
    squares = sum_squares_by_row(values, starts)
    for n in range(squares.size):
        if 0.0 < squares[n] < np.inf:
            factor = 1 / np.sqrt(squares[n])
            for i in range(starts[n], starts[n + 1]):
                values[i] = np.float32(values[i] * factor)


@numba.njit(nogil=True, cache=True)
def scale_by_root_rows(values: Vector, starts: NDArray[np.int64], rows: NDArray[np.int64]) -> None:
    """Multiply update n, values[starts[n]:starts[n + 1]], by the square root of its client's
    rows[n], in place.
    """
    for n in range(rows.size):
        factor = np.sqrt(np.float64(rows[n]))
        for i in range(starts[n], starts[n + 1]):
            values[i] = np.float32(values[i] * factor)
