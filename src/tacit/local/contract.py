"""What the engine may ask of a learner, whichever path it takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit import plan
from tacit.draws import Draws
from tacit.local.head import HeadPlace
from tacit.rows import Clients, Inputs, Lexicon, Lines, Rows, Vector
from tacit.seat import Seat

Figures = dict[str, float]


class Update(Protocol):
    """What local training changed, until the worker trains its next client."""

    @property
    def row(self) -> Vector:
        """Return the change as one flat row, in a buffer the worker uses again."""


class WholeUpdate(NamedTuple):
    """An update that is there as a row from the start."""

    row: Vector


class Group(NamedTuple):
    """The updates of some clients that were trained together, until the worker trains its next.

    `lines` are all of them without what is exactly zero; None where nothing is known to be.
    """

    updates: Sequence[Update]
    lines: Lines | None = None


class Worker(Protocol):
    """Trains one client after the other with memory of its own."""

    def train(self, model: Vector, seat: Seat, draws: Draws, round_no: int = 1) -> Update:
        """Return the client's update after its local steps from `model`; what stays is kept as of that round."""

    def train_together(self, model: Vector, seats: Sequence[Seat], draws: Sequence[Draws], round_no: int) -> Iterator[Group]:
        """Yield the updates of some clients in order, some at a time: what `train` returns for each, to the bit."""


class OneByOne:
    """For workers that train their clients one after the other."""

    train: Callable[..., Update]

    def train_together(self, model: Vector, seats: Sequence[Seat], draws: Sequence[Draws], round_no: int) -> Iterator[Group]:
        """Yield the updates of some clients in order."""
        for seat, own in zip(seats, draws, strict=True):
            yield Group([self.train(model, seat, own, round_no)])


class Learner(Protocol):
    """A model over the rows of a site's clients."""

    size: int
    layers: tuple[int, ...]  # sizes that add up to it: the parameters of each layer in turn
    parallel: Literal["threads", "processes"]
    personal: bool  # every client has a model of its own, measured as such

    @property
    def head(self) -> HeadPlace | None:
        """Return where the last layer lies, if it can be trained and tried by itself."""

    def initial(self, draws: Draws) -> Vector:
        """Return the first model."""

    def forget(self) -> None:
        """Remove what an earlier start of the same arm kept for its clients."""

    def check_kept(self, last_rounds: NDArray[np.int64], before: int) -> None:
        """Raise RunError if what a client kept is not what its last round before `before` left."""

    def worker(self) -> Worker:
        """Return a worker; workers share the rows and nothing else."""

    def predict(self, model: Vector, inputs: Inputs) -> NDArray[np.float32]:
        """Return logits: (rows, 1) for two classes, else (rows, classes)."""

    def tensors(self, model: Vector) -> dict[str, NDArray[Any]]:
        """Return the model as named arrays, in the shapes PyTorch uses."""


class Headed(Learner, Protocol):
    """A learner that has a head."""

    def below(self, model: Vector, inputs: Inputs, seat: Seat, round_no: int) -> NDArray[np.float32]:
        """Return what the last layer sees of some rows when a round begins, read by a client through what it keeps to itself."""


@dataclass(frozen=True, kw_only=True)
class Tests:
    """What clients' own models are measured on: common test rows, each client's own rows by block, and the figures."""

    common: Rows
    own: Rows
    own_clients: Clients
    measure: Callable[[NDArray[np.float32], NDArray[np.int32]], Figures]

    def of(self, seat: Seat) -> Rows:
        """Return the rows a client's model is measured on for that client alone."""
        starts = self.own_clients.starts
        return self.own.take(np.arange(starts[seat.block], starts[seat.block + 1]))


class PersonalWorker(Worker, Protocol):
    """A worker that can also say how a client's own model does."""

    def assembled(self, model: Vector, seat: Seat, round_no: int, tests: Tests) -> Figures:
        """Return how the shared part does with the client's own part, as it stood before `round_no`."""

    def trained(self, model: Vector, seat: Seat, draws: Draws, round_no: int, tests: Tests) -> Figures:
        """Return how the client's model does after the training it would do in `round_no`; nothing is kept."""


@dataclass(frozen=True, kw_only=True)
class Home:
    """What a site keeps for clients with private parts: where, from which first values, and what word numbers mean."""

    private: plan.Private
    folder: Path
    beginning: Draws  # where first parameters come from, shared and private
    lexicon: Lexicon | None = None
    buckets: int = 0
    checkpoint: Path | None = None
