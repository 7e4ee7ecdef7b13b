"""How good the models of a simulated run are: one model for all, or one per client."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit import server, training
from tacit.plan import Plan
from tacit.protocol.loop import Evaluation, History
from tacit.protocol.round import Names, State
from tacit.protocol.site import Site
from tacit.randomness import Draws
from tacit.rows import Rows, Vector
from tacit.runs import record
from tacit.simulation.evaluate_clients import (
    Models,
    averaged,
    entry_of,
    evaluate_clients,
    over_rounds,
    remember,
)
from tacit.simulation.prepared_rows import SimulatedData


@dataclass(frozen=True, kw_only=True)
class OneModel:
    """Everybody has the same model: it is measured on the common test rows, and at the end on each
    client's own.
    """

    arm: str
    plan: Plan
    data: SimulatedData
    learner: training.Learner
    site: Site
    spread: bool = True

    def after_round(self, model: Vector, state: State, history: History) -> Evaluation:
        """Return the figures on the test rows, if this round is measured."""
        if not self.plan.server.is_evaluated(state.round_no) or not len(self.data.test):
            return Evaluation()
        return Evaluation(metrics=self.figures(model))

    def figures(self, model: Vector) -> dict[str, float]:
        """Return the figures on the test rows."""
        metrics = server.measure(
            self.learner.predict(model, self.data.test.inputs), self.data.test.labels
        )
        clamped = {} if self.site.at_ends is None else {"clamped_at_most": self.site.at_ends}
        return {**metrics, **self._attack(model), **clamped}

    def at_the_end(self, model: Vector, rounds: int, history: History) -> Evaluation:
        """Return how each class fares on the test rows, and the accuracy on each client's
        own rows.
        """
        if not self.spread or not len(self.data.test):
            return Evaluation()
        test = self.data.test
        by_class = server.by_class(self._guess(model, test), test.labels, len(test.classes))
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
        """Return how often a backdoor's patch makes other rows pass for its target, if the plan has
        a backdoor.
        """
        rows = self.data.corruption.backdoor if self.data.corruption else None
        if rows is None or not len(rows):
            return {}
        return {"attack_success": float((self._guess(model, rows) == rows.labels).mean())}

    def _guess(self, model: Vector, rows: Rows) -> NDArray[np.int64]:
        logits = self.learner.predict(model, rows.inputs)
        return (
            (logits[:, 0] > 0).astype(np.int64) if logits.shape[1] == 1 else logits.argmax(axis=1)
        )


@dataclass(frozen=True, kw_only=True)
class OwnModels:
    """Every client has a model of its own: the shared part is measured with the own parts of a
    round's cohort.
    """

    arm: str
    plan: Plan
    site: Site
    tests: training.Tests
    draws: Draws
    tick: Callable[[int, int, int], None]

    def after_round(self, model: Vector, state: State, history: History) -> Evaluation:
        """Return how the new shared part does with the own parts of this round's cohort."""
        if not self.plan.server.is_evaluated(state.round_no) or not len(state.cohort):
            return Evaluation()
        figures = self._figures(model, state.cohort, state.round_no + 1)
        entry = entry_of(self.arm, state.round_no, state.cohort, figures)
        return Evaluation(
            metrics=averaged(figures),
            entries=[entry],
            history=remember(history, entry, len(self.site.names)),
        )

    def at_the_end(self, model: Vector, rounds: int, history: History) -> Evaluation:
        """Return how clients do with the final shared part, before ("assembled") and after their
        local training.

        Beside them stand figures over the rounds so far: the last ten, and the best round as
        FedVocab's code takes it.
        """
        count = len(self.site.names)
        size = min(self.plan.server.test_clients or count, count)
        chosen = np.sort(
            self.draws.at("test-clients").generator().choice(count, size, replace=False)
        )
        assembled = averaged(self._figures(model, chosen, rounds + 1))
        after = self._figures(model, chosen, rounds + 1, after_training=True)
        entry = entry_of(self.arm, rounds + 1, chosen, after)
        metrics = {
            **averaged(after),
            "assembled_global": assembled["global_accuracy"],
            "assembled_local": assembled["local_accuracy"],
            **over_rounds(history),
        }
        return Evaluation(
            metrics=metrics,
            entries=[entry, record.Spread(arm=self.arm, accuracy=entry.local_accuracy)],
        )

    def _figures(
        self, model: Vector, clients: Names, round_no: int, after_training: bool = False
    ) -> list[training.Figures]:
        models = Models(
            site=self.site, tests=self.tests, shared=model, clients=clients, round_no=round_no
        )

        def tick(done: int) -> None:
            if after_training:
                self.tick(round_no - 1, done, len(clients))

        return evaluate_clients(models, self.plan.engine.workers, after_training, tick)


def tests_of(plan: Plan, data: SimulatedData, draws: Draws) -> training.Tests:
    """Return what clients' own models are measured on."""
    common = _some(data.test, plan.server.test_rows, draws.at("test-rows"))
    return training.Tests(
        common=common, own=data.own, own_clients=data.own_clients, measure=server.measure
    )


def _some(rows: Rows, count: int | None, draws: Draws) -> Rows:
    if count is None or count >= len(rows):
        return rows
    return rows.take(np.sort(draws.generator().permutation(len(rows))[:count]))
