"""Laws of every model, on the settings with which a plan names it."""

from __future__ import annotations

import numpy as np
import pytest

from tacit import plan, training
from tacit.plan.kinds import OWN, tables_in
from tacit.randomness import Draws
from tacit.rows import Clients
from tests.laws.model_cases import CASES, ROWS, WITH_WORDS
from tests.slots import slot

pytest.importorskip("torch")
each = pytest.mark.parametrize("name", CASES)


def build(name: str) -> training.Learner:
    case, local = CASES[name], plan.Local(optimizer="sgd", lr=0.1, epochs=1, batch=4)
    clients = Clients(order=np.arange(ROWS), starts=np.array([0, 9, ROWS]))
    return training.build(case.settings, local, case.rows, clients)


def test_every_model_of_a_plan_is_under_these_laws() -> None:
    assert {*CASES, *WITH_WORDS} == set(tables_in(plan.Model)) - {OWN}


@each
def test_an_update_is_finite_repeatable_and_has_the_size_of_the_model(name: str) -> None:
    learner = build(name)
    model = learner.initial(Draws.seeded(1))
    assert sum(learner.layers) == learner.size == len(model)
    one, again = (
        learner.worker().train(model, slot(1), slot(1).own.train(1), 1).row.copy() for _ in range(2)
    )
    assert one.dtype == np.float32
    assert one.shape == model.shape
    assert np.isfinite(one).all()
    assert one.any()
    assert one.tobytes() == again.tobytes()


@each
def test_a_stored_model_predicts_the_same(name: str) -> None:
    """Named tensors, as a run stores them, give back the same parameters and predictions."""
    learner = build(name)
    model = learner.initial(Draws.seeded(1))
    loaded = training.flatten_parameters(learner, learner.tensors(model))
    assert loaded.tobytes() == model.tobytes()
    predictions = learner.predict(model, CASES[name].rows.inputs)
    assert predictions.shape == (ROWS, 3)
    assert np.isfinite(predictions).all()


@each
def test_the_work_of_a_client_is_known_before_it_trains(name: str) -> None:
    """A site's policy limits it: a model without a count would train without a limit."""
    learner, case = build(name), CASES[name]
    assert 0 < training.parameter_floor(case.settings, case.rows.inputs.width, 3) <= learner.size
