"""Runs in which every client has a model of its own: where its private part lives, and how all of them are measured."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tacit import local, record, server
from tacit import plan as plans
from tacit.draws import Draws
from tacit.engine.prepare import Ground
from tacit.engine.trying import History, averaged, over_rounds, tried, try_clients
from tacit.engine.wording import checkpoint_of
from tacit.plan import Plan
from tacit.plan.private_sense import is_partial
from tacit.rows import Rows, Vector

if TYPE_CHECKING:
    from tacit.local.private.learner import PartialLearner


def home_of(plan: Plan, ground: Ground, folder: Path, draws: Draws) -> local.Home | None:
    """Return the clients' side of a run whose models are partly private; None for any other run."""
    if not is_partial(plan):
        return None
    return local.Home(
        private=plan.private,
        folder=folder,
        draws=draws,
        beginning=draws.at("initial"),
        measure=server.measure,
        common=_some(ground.test, plan.server.test_rows, draws.at("test-rows")),
        own=ground.own,
        own_clients=ground.own_clients,
        lexicon=ground.lexicon,
        buckets=plan.features.buckets,
        checkpoint=checkpoint_of(plan),
    )


def measured(settings: plans.Server, round_no: int) -> bool:
    """Return whether the models of a round are measured."""
    return round_no % settings.evaluate_every == 0 or round_no == settings.rounds


def forget(learner: local.Learner) -> None:
    """Remove what an earlier start of the same arm kept for its clients."""
    _partial(learner).store.clear()


def check_kept(learner: local.Learner, last_rounds: NDArray[np.int64], before: int) -> None:
    """Raise RunError if what a client kept is not what its last round before `before` left."""
    _partial(learner).store.check(last_rounds, before)


def after_round(
    learner: local.Learner, arm: str, model: Vector, round_no: int, cohort: NDArray[np.int64], workers: int
) -> tuple[record.ClientsEvaluated, dict[str, float]]:
    """Return how the new shared part does with the own parts of this round's cohort: the record's entry, and the metrics."""
    figures = try_clients(learner, model, cohort, round_no + 1, None, workers, lambda done: None)
    return tried(arm, round_no, cohort, figures), averaged(figures)


def at_the_end(
    learner: local.Learner, plan: Plan, arm: str, model: Vector, rounds: int, draws: Draws, history: History,
    tick: Callable[[int], None],
) -> tuple[record.ClientsEvaluated, dict[str, float]]:  # fmt: skip
    """Return how clients do with the final shared part, before ("assembled") and after their local training.

    Beside them stand figures over the rounds so far: the last ten, and the best round as FedVocab's code takes it.
    """
    count = len(_partial(learner).clients)
    size = min(plan.server.test_clients or count, count)
    chosen = np.sort(draws.at("test-clients").generator().choice(count, size, replace=False))
    workers = plan.engine.workers
    assembled = averaged(try_clients(learner, model, chosen, rounds + 1, None, workers, lambda done: None))
    after = try_clients(learner, model, chosen, rounds + 1, draws.at("rounds"), workers, tick)
    return tried(arm, rounds + 1, chosen, after), {
        **averaged(after),
        "assembled_global": assembled["global_accuracy"],
        "assembled_local": assembled["local_accuracy"],
        **over_rounds(history),
    }


def _partial(learner: local.Learner) -> PartialLearner:
    from tacit.local.private.learner import PartialLearner

    assert isinstance(learner, PartialLearner)
    return learner


def _some(rows: Rows, count: int | None, draws: Draws) -> Rows:
    if count is None or count >= len(rows):
        return rows
    return rows.take(np.sort(draws.generator().permutation(len(rows))[:count]))
