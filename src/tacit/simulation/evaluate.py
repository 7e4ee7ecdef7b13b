"""Evaluate the common model of a simulated run, for all clients and for each of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit import server, training
from tacit.plan import Plan
from tacit.protocol.loop import Evaluation, History
from tacit.protocol.round import State
from tacit.protocol.site import Site
from tacit.rows import Rows, Vector
from tacit.runs import record
from tacit.simulation.prepared_rows import SimulatedData


@dataclass(frozen=True, kw_only=True)
class OneModel:
    """Evaluates one model for all clients on the common test rows, and at the end on each client's
    own rows.
    """

    arm: str
    plan: Plan
    data: SimulatedData
    learner: training.Learner
    site: Site
    spread: bool = True

    def after_round(self, model: Vector, state: State, history: History) -> Evaluation:
        """The metrics on the test rows, if this round is evaluated."""
        if not self.plan.server.is_evaluated(state.round_no) or not len(self.data.test):
            return Evaluation()
        return Evaluation(metrics=self.figures(model))

    def figures(self, model: Vector) -> dict[str, float]:
        """The metrics on the test rows."""
        metrics = server.measure(
            self.learner.predict(model, self.data.test.inputs), self.data.test.labels
        )
        clamped = {} if self.site.at_ends is None else {"clamped_at_most": self.site.at_ends}
        return {**metrics, **self._attack(model), **clamped}

    def at_the_end(self, model: Vector, rounds: int, history: History) -> Evaluation:
        """The metrics of each class on the test rows, and the accuracy on each client's own rows."""
        if not self.spread or not len(self.data.test):
            return Evaluation()
        test = self.data.test
        by_class = server.count_by_class(self._guess(model, test), test.labels, len(test.classes))
        return Evaluation(
            entries=[
                record.ByClass(arm=self.arm, **by_class),
                record.Spread(arm=self.arm, accuracy=self._accuracy_by_client(model)),
            ]
        )

    def _accuracy_by_client(self, model: Vector) -> list[float]:
        right = np.concatenate(
            [[0], np.cumsum(self._guess(model, self.data.own) == self.data.own.labels)]
        )
        clients = self.data.own_clients
        shares = np.diff(right[clients.starts]) / np.maximum(1, clients.sizes())
        return [round(float(share), 4) for share in shares]

    def _attack(self, model: Vector) -> dict[str, float]:
        """The share of other rows that a backdoor's trigger turns into its target class, if the
        plan has a backdoor.
        """
        rows = self.data.corruption.backdoor if self.data.corruption else None
        if rows is None or not len(rows):
            return {}
        return {"attack_success": float((self._guess(model, rows) == rows.labels).mean())}

    def _guess(self, model: Vector, rows: Rows) -> NDArray[np.int64]:
        return server.predict_classes(self.learner.predict(model, rows.inputs))
