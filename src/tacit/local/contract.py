"""What the engine may ask of a learner, whichever path it takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit import plan
from tacit.draws import Draws
from tacit.rows import Clients, Inputs, Lexicon, Rows, Vector

Figures = dict[str, float]


class Update(Protocol):
    """What local training changed, until the worker trains its next client."""

    @property
    def row(self) -> Vector:
        """Return the change as one flat row, in a buffer the worker uses again."""

    @property
    def touched(self) -> NDArray[np.int64] | None:
        """Return spans (start, stop, start, stop, …) outside which the row is exactly zero; None means anywhere."""


class WholeUpdate(NamedTuple):
    """An update that is there as a row from the start."""

    row: Vector
    touched: NDArray[np.int64] | None = None


class Worker(Protocol):
    """Trains one client after the other with memory of its own."""

    def train(self, model: Vector, client: int, draws: Draws, round_no: int = 1) -> Update:
        """Return the client's update after its local steps from `model`; what stays is kept as of that round."""

    def train_each(self, model: Vector, clients: NDArray[np.int64], draws: Draws, round_no: int) -> Iterator[Update]:
        """Yield the updates of some clients in order, each with the draws at (its number, "train") below `draws`."""


class OneByOne:
    """For workers that train their clients one after the other."""

    train: Callable[..., Update]

    def train_each(self, model: Vector, clients: NDArray[np.int64], draws: Draws, round_no: int) -> Iterator[Update]:
        """Yield the updates of some clients in order."""
        for client in clients.tolist():
            yield self.train(model, client, draws.at(client, "train"), round_no)


class Learner(Protocol):
    """A model over every client's rows."""

    size: int
    parallel: Literal["threads", "processes"]
    personal: bool  # every client has a model of its own, measured as such

    def initial(self, draws: Draws) -> Vector:
        """Return the first model."""

    def worker(self) -> Worker:
        """Return a worker; workers share the rows and nothing else."""

    def predict(self, model: Vector, inputs: Inputs) -> NDArray[np.float32]:
        """Return logits: (rows, 1) for two classes, else (rows, classes)."""

    def tensors(self, model: Vector) -> dict[str, NDArray[Any]]:
        """Return the model as named arrays, in the shapes PyTorch uses."""


class PersonalWorker(Worker, Protocol):
    """A worker that can also say how a client's own model does."""

    def assembled(self, model: Vector, client: int, round_no: int) -> Figures:
        """Return how the shared part does with the client's own part, as it stood before `round_no`."""

    def trained(self, model: Vector, client: int, draws: Draws, round_no: int) -> Figures:
        """Return how the client's model does after the training it would do in `round_no`; nothing is kept."""


@dataclass(frozen=True, kw_only=True)
class Home:
    """What the clients' side of a simulation holds: their folder, their randomness, their words, their test rows."""

    private: plan.Private
    folder: Path
    draws: Draws
    beginning: Draws  # where first parameters come from, shared and private
    measure: Callable[[NDArray[np.float32], NDArray[np.int32]], Figures]
    common: Rows
    own: Rows
    own_clients: Clients
    lexicon: Lexicon | None = None
    buckets: int = 0
    checkpoint: Path | None = None
