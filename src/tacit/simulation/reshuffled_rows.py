"""A simulation whose rows change hands: before each round all training rows are dealt anew, in
equal parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from threading import Lock
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from tacit import training
from tacit.client import ClientSlot
from tacit.randomness import Draws
from tacit.rows import Clients, Inputs, Rows, Vector

Build = Callable[[Rows, Clients], training.Learner]


class ReshuffledRows:
    """A learner whose clients hold other rows each round, as many as before; the rows of a round
    follow from the draws.
    """

    personal = False

    def __init__(self, build: Build, rows: Rows, clients: Clients, draws: Draws) -> None:
        self._build, self._rows, self._clients, self._draws = build, rows, clients, draws
        self._first = build(rows, clients)
        self._now: tuple[int, training.Learner] = (0, self._first)
        self._lock = Lock()
        self.size, self.layers, self.head = self._first.size, self._first.layers, self._first.head
        self.parallel: Literal["threads", "processes"] = self._first.parallel

    def in_round(self, round_no: int) -> training.Learner:
        """Return the learner over the rows as they are held in a round; all workers of a round get
        the same one.
        """
        with self._lock:
            if self._now[0] != round_no:
                self._now = (
                    round_no,
                    self._build(self._rows.take(self.order(round_no)), self._clients),
                )
            return self._now[1]

    def order(self, round_no: int) -> NDArray[np.int64]:
        """Return in which order rows are dealt to clients in a round."""
        return self._draws.at(round_no).generator().permutation(len(self._rows))

    def initial(self, draws: Draws) -> Vector:
        """Return the first model."""
        return self._first.initial(draws)

    def forget(self) -> None:
        """Remove nothing: no part of this model stays with a client."""

    def check_kept(self, last_rounds: NDArray[np.int64], before: int) -> None:
        """Check nothing: no part of this model stays with a client."""

    def worker(self) -> ReshuffledWorker:
        """Return a worker that finds the rows of each round."""
        return ReshuffledWorker(self)

    def predict(self, model: Vector, inputs: Inputs) -> NDArray[np.float32]:
        """Return logits."""
        return self._first.predict(model, inputs)

    def below(
        self, model: Vector, inputs: Inputs, slot: ClientSlot, round_no: int
    ) -> NDArray[np.float32]:
        """Return what the last layer sees of some rows, whoever holds them."""
        return cast(training.HeadedLearner, self._first).below(model, inputs, slot, round_no)

    def tensors(self, model: Vector) -> dict[str, NDArray[Any]]:
        """Return the model as named arrays."""
        return self._first.tensors(model)


class ReshuffledWorker:
    """A worker with memory of its own, made anew when the rows are."""

    def __init__(self, learner: ReshuffledRows) -> None:
        self._learner = learner
        self._now: tuple[int, training.Worker] | None = None

    def train(
        self, model: Vector, slot: ClientSlot, draws: Draws, round_no: int = 1
    ) -> training.Update:
        """Return the client's update on the rows it holds in this round."""
        return self._in_round(round_no).train(model, slot, draws, round_no)

    def train_together(
        self, model: Vector, slots: Sequence[ClientSlot], draws: Sequence[Draws], round_no: int
    ) -> Iterator[training.Group]:
        """Yield the updates of some clients in order."""
        return self._in_round(round_no).train_together(model, slots, draws, round_no)

    def _in_round(self, round_no: int) -> training.Worker:
        if self._now is None or self._now[0] != round_no:
            self._now = (round_no, self._learner.in_round(round_no).worker())
        return self._now[1]
