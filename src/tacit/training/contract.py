"""The interface of learners: what a round may ask of local training."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit import plan
from tacit.client import ClientSlot
from tacit.randomness import Draws
from tacit.rows import Clients, Inputs, Lexicon, Rows, SparseUpdates, Vector
from tacit.training.head import HeadPlace
from tacit.training.last_part import PartRows

Figures = dict[str, float]


class Update(Protocol):
    """A client's update; valid until the worker trains its next client."""

    @property
    def row(self) -> Vector:
        """The update as one flat row, in a buffer that the worker reuses."""


class DenseUpdate(NamedTuple):
    """An update stored as a full row."""

    row: Vector


class Group(NamedTuple):
    """The updates of clients that were trained together; valid until the worker trains the next
    ones.

    `lines` holds all of them in sparse form; None if they are dense.
    """

    updates: Sequence[Update]
    lines: SparseUpdates | None = None


class Worker(Protocol):
    """Trains one client after the other with its own memory."""

    def train(self, model: Vector, slot: ClientSlot, draws: Draws, round_no: int = 1) -> Update:
        """Return the client's update after local steps from `model`; store its private parameters
        under `round_no`.
        """

    def train_together(
        self, model: Vector, slots: Sequence[ClientSlot], draws: Sequence[Draws], round_no: int
    ) -> Iterator[Group]:
        """Yield the updates of some clients in order, in groups: bit for bit what `train` returns
        for each.
        """


class SequentialWorker:
    """Base class of workers that train clients one after the other."""

    train: Callable[..., Update]

    def train_together(
        self, model: Vector, slots: Sequence[ClientSlot], draws: Sequence[Draws], round_no: int
    ) -> Iterator[Group]:
        """Yield the updates of some clients in order."""
        for slot, own in zip(slots, draws, strict=True):
            yield Group([self.train(model, slot, own, round_no)])


class Learner(Protocol):
    """A model over the rows of a site's clients."""

    size: int
    layers: tuple[int, ...]  # sizes that add up to it: the parameters of each layer in turn
    parallel: Literal["threads", "processes"]
    personal: bool  # every client has a model of its own, measured as such

    @property
    def head(self) -> HeadPlace | None:
        """The position of the last layer, if it can be trained and evaluated separately."""

    def initial(self, draws: Draws) -> Vector:
        """Return the initial model."""

    def forget(self) -> None:
        """Remove private parameters that an earlier start of the same arm stored."""

    def check_kept(self, last_rounds: NDArray[np.int64], before: int) -> None:
        """Raise RunError unless stored private parameters are from each client's last round before
        `before`.
        """

    def worker(self) -> Worker:
        """Return a new worker; workers share only the rows."""

    def predict(self, model: Vector, inputs: Inputs) -> NDArray[np.float32]:
        """Return logits: (rows, 1) for two classes, else (rows, classes)."""

    def tensors(self, model: Vector) -> dict[str, NDArray[Any]]:
        """Return the model as named arrays, in the shapes PyTorch uses."""


class HeadedLearner(Learner, Protocol):
    """A learner whose last layers can be trained separately."""

    parts: tuple[int, ...]  # the parameters of each layer that can, the last layer last

    def read_part(
        self, model: Vector, rows: Rows, size: int, slot: ClientSlot, round_no: int
    ) -> PartRows:
        """Return rows as inputs of the last layers, which have `size` parameters, at the start of a
        round, with the client's private parameters.
        """

    def below(
        self, model: Vector, inputs: Inputs, slot: ClientSlot, round_no: int
    ) -> NDArray[np.float32]:
        """Return the inputs of the last layer at the start of a round, computed with the client's
        private parameters.
        """


@dataclass(frozen=True, kw_only=True)
class Tests:
    """What personal models are evaluated on: common test rows, each client's own rows by block, and
    the metrics.
    """

    common: Rows
    own: Rows
    own_clients: Clients
    measure: Callable[[NDArray[np.float32], NDArray[np.int32]], Figures]

    def of(self, slot: ClientSlot) -> Rows:
        """Return the client's own test rows."""
        starts = self.own_clients.starts
        return self.own.take(np.arange(starts[slot.block], starts[slot.block + 1]))


class PersonalWorker(Worker, Protocol):
    """A worker that can also evaluate a client's personal model."""

    def evaluate_assembled(
        self, model: Vector, slot: ClientSlot, round_no: int, tests: Tests
    ) -> Figures:
        """Evaluate the shared parameters with the client's private ones as of the start of
        `round_no`.
        """

    def evaluate_trained(
        self, model: Vector, slot: ClientSlot, draws: Draws, round_no: int, tests: Tests
    ) -> Figures:
        """Evaluate the client's model after the training it would do in `round_no`; nothing is
        stored.
        """


@dataclass(frozen=True, kw_only=True)
class Home:
    """Where a site stores private parameters, how they are initialised, and the lexicon of its
    token numbers.
    """

    private: plan.Private
    folder: Path
    beginning: Draws  # where first parameters come from, shared and private
    lexicon: Lexicon | None = None
    buckets: int = 0
    checkpoint: Path | None = None
