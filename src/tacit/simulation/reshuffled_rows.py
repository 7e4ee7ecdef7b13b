"""A simulation that redistributes all training rows among clients before each round, in equal
parts.
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
    """A learner whose clients have different rows each round, always the same number; the draws
    determine the rows of a round.
    """

    personal = False

    def __init__(self, build: Build, rows: Rows, clients: Clients, draws: Draws) -> None:
        self._build, self._rows, self._clients, self._draws = build, rows, clients, draws
        self._first = build(rows, clients)
        self._now: tuple[int, training.Learner] = (0, self._first)
        self._lock = Lock()
        self.size, self.layers, self.head = self._first.size, self._first.layers, self._first.head
        self.parallel: Literal["threads", "processes"] = self._first.parallel

    @property
    def parts(self) -> tuple[int, ...]:
        """The parameters of each layer that can be trained separately, the last layer last."""
        return cast(training.HeadedLearner, self._first).parts

    def in_round(self, round_no: int) -> training.Learner:
        """The learner over the rows of a round; all workers of a round get the same one."""
        with self._lock:
            if self._now[0] != round_no:
                self._now = (
                    round_no,
                    self._build(self._rows.take(self.order(round_no)), self._clients),
                )
            return self._now[1]

    def order(self, round_no: int) -> NDArray[np.int64]:
        """The order in which rows are assigned to clients in a round."""
        return self._draws.at(round_no).generator().permutation(len(self._rows))

    def initial(self, draws: Draws) -> Vector:
        """The initial model."""
        return self._first.initial(draws)

    def forget(self) -> None:
        """Does nothing: clients store no part of this model."""

    def check_kept(self, last_rounds: NDArray[np.int64], before: int) -> None:
        """Does nothing: clients store no part of this model."""

    def worker(self) -> ReshuffledWorker:
        """A worker that finds the rows of each round."""
        return ReshuffledWorker(self)

    def predict(self, model: Vector, inputs: Inputs) -> NDArray[np.float32]:
        """The logits of some inputs."""
        return self._first.predict(model, inputs)

    def below(
        self, model: Vector, inputs: Inputs, slot: ClientSlot, round_no: int
    ) -> NDArray[np.float32]:
        """The inputs of the last layer for some rows of any client."""
        return cast(training.HeadedLearner, self._first).below(model, inputs, slot, round_no)

    def read_part(
        self, model: Vector, rows: Rows, size: int, slot: ClientSlot, round_no: int
    ) -> training.PartRows:
        """Rows of any client as inputs of the last layers."""
        first = cast(training.HeadedLearner, self._first)
        return first.read_part(model, rows, size, slot, round_no)

    def tensors(self, model: Vector) -> dict[str, NDArray[Any]]:
        """The model as named arrays."""
        return self._first.tensors(model)


class ReshuffledWorker:
    """A worker with its own memory, rebuilt when the rows change."""

    def __init__(self, learner: ReshuffledRows) -> None:
        self._learner = learner
        self._now: tuple[int, training.Worker] | None = None

    def train(
        self, model: Vector, slot: ClientSlot, draws: Draws, round_no: int = 1
    ) -> training.Update:
        """The client's update on its rows of this round."""
        return self._get_worker(round_no).train(model, slot, draws, round_no)

    def train_together(
        self, model: Vector, slots: Sequence[ClientSlot], draws: Sequence[Draws], round_no: int
    ) -> Iterator[training.Group]:
        """Yield the updates of some clients in order."""
        return self._get_worker(round_no).train_together(model, slots, draws, round_no)

    def _get_worker(self, round_no: int) -> training.Worker:
        if self._now is None or self._now[0] != round_no:
            self._now = (round_no, self._learner.in_round(round_no).worker())
        return self._now[1]
