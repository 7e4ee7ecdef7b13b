"""Tacit: the empty local step. A client takes the model over, changes nothing, and sends the
difference.

All else is the engine's own: addresses of randomness, framing, checking, summing, merging, the
server's step.
"""

from __future__ import annotations

import sys
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bench.clock import measure
from bench.lines import serve
from bench.rows import DRAWS
from bench.shapes import PARAMETERS
from bench.sides.ours import EngineRounds
from tacit import plan
from tacit.client import ClientSlot
from tacit.randomness import Draws
from tacit.rows import Inputs, Vector
from tacit.simulation.carrier import simulation
from tacit.training.contract import DenseUpdate, SequentialWorker


class EmptyWorker(SequentialWorker):
    """A worker with a net and an update of its own, as every worker has."""

    def __init__(self, size: int) -> None:
        self.net, self.update = np.empty(size, np.float32), np.empty(size, np.float32)

    def train(
        self, model: Vector, slot: ClientSlot, draws: Draws, round_no: int = 0
    ) -> DenseUpdate:
        """A zero update, in the form of a trained one."""
        np.copyto(self.net, model)
        np.subtract(self.net, model, out=self.update)
        return DenseUpdate(self.update)


class Idle:
    """A learner whose workers do nothing."""

    parallel: Literal["threads", "processes"] = "threads"
    personal = False
    head = None

    def __init__(self, size: int = PARAMETERS) -> None:
        self.size = size
        self.layers: tuple[int, ...] = (size,)

    def forget(self) -> None:
        """Nothing is stored."""

    def check_kept(self, last_rounds: NDArray[np.int64], before: int) -> None:
        """Nothing is stored."""

    def initial(self, draws: Draws) -> Vector:
        """A model."""
        return draws.generator().standard_normal(self.size).astype(np.float32)

    def worker(self) -> EmptyWorker:
        """A worker."""
        return EmptyWorker(self.size)

    def predict(self, model: Vector, inputs: Inputs) -> NDArray[np.float32]:
        """Unused: no figure reads it."""
        return np.zeros((len(inputs), 1), np.float32)

    def tensors(self, model: Vector) -> dict[str, NDArray[Any]]:
        """Model under one name."""
        return {"all": model}


def main(clients: str, workers: str) -> None:
    """Serve the harness."""
    learner = Idle()
    rounds = EngineRounds(
        learner, plan.Plain(), int(clients), int(workers), learner.initial(DRAWS.at("initial"))
    )
    with simulation(rounds.site, (rounds.train,), rounds.workers) as carrier:
        rounds.round(carrier)
        serve(lambda request: measure(lambda: rounds.round(carrier)).as_dict())


if __name__ == "__main__":
    main(*sys.argv[1:])
