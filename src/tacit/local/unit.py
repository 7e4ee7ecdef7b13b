"""Updates of length one: what a client's steps changed counts by its direction alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numba
import numpy as np

from tacit.draws import Draws
from tacit.local.contract import Update, WholeUpdate, Worker
from tacit.rows import Vector
from tacit.seat import Seat


class UnitWorker:
    """A worker of PyTorch whose updates are scaled to a length (l2) of one; an update of zeros stays one."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    def train(self, model: Vector, seat: Seat, draws: Draws, round_no: int = 1) -> Update:
        """Return the client's update after its local steps from `model`, scaled."""
        return _scaled(self._worker.train(model, seat, draws, round_no))

    def train_each(self, model: Vector, seats: Sequence[Seat], draws: Sequence[Draws], round_no: int) -> Iterator[Update]:
        """Yield the updates of some clients in order."""
        for update in self._worker.train_each(model, seats, draws, round_no):
            yield _scaled(update)


def _scaled(update: Update) -> Update:
    row = update.row
    to_unit(row)
    return WholeUpdate(row)


@numba.njit(nogil=True, cache=True)
def to_unit(row: Vector) -> None:
    """Scale a row to a length of one, in place; one that is zero or not finite is left alone."""
    squares = 0.0
    for i in range(row.size):
        squares += np.float64(row[i]) * np.float64(row[i])
    if not 0.0 < squares < np.inf:
        return
    factor = 1 / np.sqrt(squares)
    for i in range(row.size):
        row[i] = np.float32(row[i] * factor)
