"""Updates of length one: what a client's steps changed counts by its direction alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numba
import numpy as np
from numpy.typing import NDArray

from tacit.draws import Draws
from tacit.lengths import squares_of_each
from tacit.local.contract import Group, Update, WholeUpdate, Worker
from tacit.rows import Vector
from tacit.seat import Seat


class UnitWorker:
    """A worker of PyTorch whose updates are scaled to a length (l2) of one; an update of zeros stays one."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    def train(self, model: Vector, seat: Seat, draws: Draws, round_no: int = 1) -> Update:
        """Return the client's update after its local steps from `model`, scaled."""
        return _scaled(self._worker.train(model, seat, draws, round_no))

    def train_together(self, model: Vector, seats: Sequence[Seat], draws: Sequence[Draws], round_no: int) -> Iterator[Group]:
        """Yield the updates of some clients in order."""
        for group in self._worker.train_together(model, seats, draws, round_no):
            yield Group([_scaled(update) for update in group.updates])


def _scaled(update: Update) -> Update:
    row = update.row
    to_unit(row, np.array([0, len(row)]))
    return WholeUpdate(row)


@numba.njit(nogil=True, cache=True)
def to_unit(values: Vector, starts: NDArray[np.int64]) -> None:
    """Scale rows to a length of one, in place, row n being values[starts[n]:starts[n + 1]]; one that is zero or not finite is
    left alone."""
    squares = squares_of_each(values, starts)
    for n in range(squares.size):
        if 0.0 < squares[n] < np.inf:
            factor = 1 / np.sqrt(squares[n])
            for i in range(starts[n], starts[n + 1]):
                values[i] = np.float32(values[i] * factor)
