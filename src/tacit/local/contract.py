"""What the engine may ask of a learner, whichever path it takes."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.draws import Draws
from tacit.rows import Inputs, Vector


class Update(NamedTuple):
    """What local training changed: one flat row, in a buffer the worker uses again for its next client.

    `touched` lists spans (start, stop, start, stop, …) outside which the row is exactly zero; None means anywhere.
    """

    row: Vector
    touched: NDArray[np.int64] | None


class Worker(Protocol):
    """Trains one client after the other with memory of its own."""

    def train(self, model: Vector, client: int, draws: Draws) -> Update:
        """Return the client's update after its local steps from `model`."""


class Learner(Protocol):
    """A model over every client's rows."""

    size: int
    parallel: Literal["threads", "processes"]

    def initial(self, draws: Draws) -> Vector:
        """Return the first model."""

    def worker(self) -> Worker:
        """Return a worker; workers share the rows and nothing else."""

    def predict(self, model: Vector, inputs: Inputs) -> NDArray[np.float32]:
        """Return logits: (rows, 1) for two classes, else (rows, classes)."""

    def tensors(self, model: Vector) -> dict[str, NDArray[Any]]:
        """Return the model as named arrays, in the shapes PyTorch uses."""
