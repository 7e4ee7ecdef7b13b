"""A server with clean rows, for rules that compare updates with its own update or evaluate them."""

from __future__ import annotations

import numpy as np

from tacit import server, training
from tacit.client import ClientRandomness, ClientSlot
from tacit.plan import Plan
from tacit.randomness import Draws
from tacit.rows import Clients, Rows, Vector


class CleanRows:
    """The public rows of a run, with a learner that takes the same local steps on them as clients
    do.
    """

    def __init__(self, plan: Plan, rows: Rows, draws: Draws, module: object | None) -> None:
        everything = Clients(order=np.arange(len(rows)), starts=np.array([0, len(rows)]))
        self.rows, self.learner = (
            rows,
            training.build(plan.model, plan.local, rows, everything, module),
        )
        self.worker, self.slot = (
            self.learner.worker(),
            ClientSlot(-1, 0, ClientRandomness(draws.at("center"), "judge")),
        )

    def at(self, model: Vector, round_no: int) -> server.TrustedReference:
        """What the server can compute from its rows in a round that started with this model."""

        def update() -> Vector:
            return self.worker.train(model, self.slot, self.slot.own.train(round_no)).row

        def gains(updates: server.Matrix) -> server.Floats:
            before = self._loss(model)
            return np.array([before - self._loss(model + row) for row in updates])

        return server.TrustedReference(update=update, gains=gains)

    def _loss(self, model: Vector) -> float:
        return server.compute_loss(self.learner.predict(model, self.rows.inputs), self.rows.labels)
