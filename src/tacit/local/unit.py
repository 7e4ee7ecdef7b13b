"""Updates of length one: what a client's steps changed counts by its direction alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numba
import numpy as np
from numpy.typing import NDArray

from tacit.draws import Draws
from tacit.local.contract import Update, WholeUpdate, Worker
from tacit.rows import Vector
from tacit.seat import Seat


class UnitWorker:
    """A worker whose updates are scaled to a length (l2) of one; an update of zeros stays one."""

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
    row, touched = update.row, update.touched
    spans = np.array([0, len(row)]) if touched is None else touched
    to_unit(row, spans)
    return WholeUpdate(row, touched)


@numba.njit(nogil=True, cache=True)
def to_unit(row: Vector, spans: NDArray[np.int64]) -> None:
    """Scale a row, zero outside some spans (start, stop, …), to a length of one; one that is not finite is left alone."""
    squares = 0.0
    for k in range(0, spans.size, 2):
        for i in range(spans[k], spans[k + 1]):
            squares += np.float64(row[i]) * np.float64(row[i])
    if not 0.0 < squares < np.inf:
        return
    factor = 1 / np.sqrt(squares)
    for k in range(0, spans.size, 2):
        for i in range(spans[k], spans[k + 1]):
            row[i] = np.float32(row[i] * factor)
