"""Evaluate clients' own models one by one, in worker processes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

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
from tacit.simulation.prepared_rows import SimulatedData
from tacit.simulation.workers import children
from tacit.training import Figures, PersonalWorker, Tests

_LATE = 10
_inherited: dict[str, Any] = {}


@dataclass(frozen=True, kw_only=True)
class Models:
    """Clients' own models at one time: the shared part, the clients, and the round before which
    their private parts were stored.
    """

    site: Site
    tests: Tests
    shared: Vector
    clients: NDArray[np.int64]
    round_no: int


Evaluate = Callable[[Models, bool, Callable[[int], None]], list[Figures]]
"""Evaluates clients' current models, or with True their models after training; called with the number
of clients that are done.
"""


def evaluate_clients(
    models: Models, workers: int, after_training: bool, tick: Callable[[int], None]
) -> list[Figures]:
    """Evaluate clients' current models, or their models after the training they would do; nothing
    is stored or sent.
    """
    _inherited.update(models=models, after_training=after_training)
    found = []
    try:
        with children.pool(workers, _begin) as pool:
            for done, one in enumerate(pool.map(_evaluate, models.clients.tolist()), start=1):
                found.append(one)
                tick(done)
    finally:
        _inherited.clear()
    return found


def _begin() -> None:
    _inherited["worker"] = _inherited["models"].site.learner.worker()


def _evaluate(client: int) -> Figures:
    return evaluate_client(
        _inherited["models"], _inherited["worker"], client, _inherited["after_training"]
    )


def evaluate_client(
    models: Models, worker: PersonalWorker, client: int, after_training: bool
) -> Figures:
    """Evaluate one client's current model, or its model after the training it would do."""
    slot = models.site.slot(client)
    if not after_training:
        return worker.evaluate_assembled(models.shared, slot, models.round_no, models.tests)
    return worker.evaluate_trained(
        models.shared, slot, slot.own.train(models.round_no), models.round_no, models.tests
    )


def build_entry(
    arm: str, round_no: int, clients: NDArray[np.int64], figures: list[Figures]
) -> record.ClientsEvaluated:
    """The record's entry with the metrics of clients' models."""
    return record.ClientsEvaluated(
        arm=arm,
        round_no=round_no,
        clients=clients.tolist(),
        global_accuracy=[round(one["accuracy"], 4) for one in figures],
        local_accuracy=[_none_as_zero(one["local_accuracy"]) for one in figures],
    )


def averaged(figures: list[Figures]) -> Figures:
    """Arithmetic means of every metric over clients, and geometric means of the two accuracies."""
    if not figures:
        return {}
    means = {name: float(np.nanmean([one[name] for one in figures])) for name in figures[0]}
    return {
        **means,
        "global_accuracy": means["accuracy"],
        "global_geometric": geometric([one["accuracy"] for one in figures]),
        "local_geometric": geometric([one["local_accuracy"] for one in figures]),
    }


def remember(history: History, entry: record.ClientsEvaluated, clients: int) -> History:
    """Extend a history by one evaluation of some of all `clients`: the means of the `late` ones,
    each client's `best`, and whether it was `seen`.

    Row 0 of `late` and `best` is the accuracy on the common test rows, row 1 the accuracy on rows
    like the client's own.
    """
    late = history.get("late", np.zeros((2, 0)))
    best, seen = (
        history.get("best", np.zeros((2, clients))).copy(),
        history.get("seen", np.zeros(clients)).copy(),
    )
    np.maximum.at(best[0], entry.clients, entry.global_accuracy)
    np.maximum.at(best[1], entry.clients, entry.local_accuracy)
    seen[entry.clients] = 1
    means = np.array([[np.mean(entry.global_accuracy)], [np.mean(entry.local_accuracy)]])
    return {
        "late": np.concatenate([late, means], axis=1)[:, -_LATE:].copy(),
        "best": best,
        "seen": seen,
    }


def over_rounds(history: History) -> Figures:
    """Two summaries over rounds: the mean of the last ten evaluations, and each client's best, as
    papers report it.

    With label skew, the model of one round is biased towards the labels of that round's cohort, so
    the mean over ten rounds is more informative than the last. The best round is optimistic,
    because it is chosen on the test rows; a client that never took part counts as 0.
    """
    if not history:
        return {}
    late, best, seen = history["late"], history["best"], history["seen"]
    share = int(seen.sum()) / len(seen) if len(seen) else 0.0
    return {
        "late_global": float(np.mean(late[0])),
        "late_local": float(np.mean(late[1])),
        "best_global": float(best[0].mean()),
        "best_local": float(best[1].mean()),
        "best_global_seen": float(best[0].mean() / share) if share else 0.0,
        "best_local_seen": float(best[1].mean() / share) if share else 0.0,
        "clients_seen": share,
    }


def geometric(values: list[float]) -> float:
    """The geometric mean; values of 0 count as 0.001, so that a single client does not decide it."""
    present = [max(value, 1e-3) for value in values if not math.isnan(value)]
    return math.exp(sum(math.log(value) for value in present) / len(present)) if present else 0.0


def _none_as_zero(value: float) -> float:
    return 0.0 if math.isnan(value) else round(value, 4)


@dataclass(frozen=True, kw_only=True)
class OwnModels:
    """Evaluates models with private parts: the shared part with the private parts of a round's
    cohort. `evaluate` does so elsewhere; None: in worker processes of this machine.
    """

    arm: str
    plan: Plan
    site: Site
    tests: training.Tests
    draws: Draws
    tick: Callable[[int, int, int], None]
    evaluate: Evaluate | None = None

    def after_round(self, model: Vector, state: State, history: History) -> Evaluation:
        """Metrics of the new shared part with the private parts of this round's cohort."""
        if not self.plan.server.is_evaluated(state.round_no) or not len(state.cohort):
            return Evaluation()
        figures = self._figures(model, state.cohort, state.round_no + 1)
        entry = build_entry(self.arm, state.round_no, state.cohort, figures)
        return Evaluation(
            metrics=averaged(figures),
            entries=[entry],
            history=remember(history, entry, len(self.site.names)),
        )

    def at_the_end(self, model: Vector, rounds: int, history: History) -> Evaluation:
        """Metrics of clients with the final shared part, before ("assembled") and after their local
        training.

        They are followed by summaries over the rounds so far: the last ten, and the best round as
        in FedVocab's code.
        """
        count = len(self.site.names)
        size = min(self.plan.server.test_clients or count, count)
        chosen = np.sort(
            self.draws.at("test-clients").generator().choice(count, size, replace=False)
        )
        assembled = averaged(self._figures(model, chosen, rounds + 1))
        after = self._figures(model, chosen, rounds + 1, after_training=True)
        entry = build_entry(self.arm, rounds + 1, chosen, after)
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

        if self.evaluate is not None:
            return self.evaluate(models, after_training, tick)
        return evaluate_clients(models, self.plan.engine.workers, after_training, tick)


def build_tests(plan: Plan, data: SimulatedData, draws: Draws) -> training.Tests:
    """The rows on which clients' own models are evaluated."""
    common = _some(data.test, plan.server.test_rows, draws.at("test-rows"))
    return training.Tests(
        common=common, own=data.own, own_clients=data.own_clients, measure=server.measure
    )


def _some(rows: Rows, count: int | None, draws: Draws) -> Rows:
    if count is None or count >= len(rows):
        return rows
    return rows.take(np.sort(draws.generator().permutation(len(rows))[:count]))
