"""Laws of every server optimiser, on the settings with which a plan names it."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest

from tacit import plan, server
from tacit.errors import PlanError
from tacit.plan.kinds import list_fields
from tests.laws.optimizer_cases import CASES, MEANS

each = pytest.mark.parametrize("name", CASES)
FIRST = np.array([0.5, -2.0, 0.0], np.float32)


def settings(name: str, **more: object) -> plan.Server:
    """The checked settings of a plan with this optimiser."""
    tables = {
        "data": {"source": "x.csv", "columns": {"numeric": ["n"], "label": "y"}},
        "codec": {"name": "plain"},
    }
    chosen = {"optimizer": name, **CASES[name].settings, **more}
    return plan.parse({**tables, "server": chosen}).server


def take_steps(optimizer: server.ServerOptimizer, means: np.ndarray) -> np.ndarray:
    """The models after each of these mean updates, one row each, from a model of zeros."""
    model = np.zeros(means.shape[1], np.float32)
    state, models = optimizer.init(model), []
    for mean in means.astype(np.float32):
        model, state = optimizer.update(model, mean, state)
        models.append(model)
    return np.stack(models)


def test_every_optimizer_of_a_plan_is_under_these_laws() -> None:
    assert set(CASES) == set(get_args(list_fields(plan.Server)["optimizer"].annotation))


@each
def test_an_optimizer_takes_the_steps_of_its_case(name: str) -> None:
    models = take_steps(server.build_optimizer(settings(name)), np.array(MEANS)[:, None])
    np.testing.assert_allclose(models[:, 0], CASES[name].weights, rtol=1e-5)


@each
def test_the_state_keeps_its_names_and_shapes(name: str) -> None:
    """A checkpoint is checked against the state that the plan begins with."""
    optimizer, mean = server.build_optimizer(settings(name)), np.ones(3, np.float32)
    model, state = FIRST, optimizer.init(FIRST)
    for _ in range(3):
        model, after = optimizer.update(model, mean, state)
        assert [(key, one.shape, one.dtype) for key, one in after.items()] == [
            (key, one.shape, one.dtype) for key, one in state.items()
        ]
        assert model.dtype == np.float32
        state = after


@each
def test_a_step_changes_nothing_in_place_and_keeps_arrays_of_others(name: str) -> None:
    """Sites and retries take the step again from what they stored."""
    optimizer = server.build_optimizer(settings(name))
    model, mean, other = FIRST.copy(), np.ones(3, np.float32), np.arange(3, dtype=np.float32)
    state = {"other": other, **optimizer.init(model)}
    given = [model, mean, *state.values()]
    before = [one.copy() for one in given]
    first, after = optimizer.update(model, mean, state)
    again, _ = optimizer.update(model, mean, state)
    assert first.tobytes() == again.tobytes()
    assert all(one.tobytes() == kept.tobytes() for one, kept in zip(given, before, strict=True))
    assert after["other"] is other


@each
def test_a_step_stays_finite_and_follows_the_mean_update(name: str) -> None:
    optimizer = server.build_optimizer(settings(name))
    model = take_steps(optimizer, np.tile([1.0, -1.0, 0.0], (5, 1)))[-1]
    assert np.sign(model).tolist() == [1, -1, 0]


@each
def test_the_stated_noise_is_that_of_a_linear_step(name: str) -> None:
    """With weight a_r for the mean update of round r, noise has standard deviation √(Σ a_r²)."""
    optimizer, rounds = server.build_optimizer(settings(name)), 6
    reach = take_steps(optimizer, np.eye(rounds))[-1].astype(np.float64)
    if optimizer.noise is not None:
        assert optimizer.noise(2.0, rounds) == pytest.approx(2 * np.linalg.norm(reach), rel=1e-5)
        return
    means = np.arange(1.0, rounds + 1)[:, None]
    together = take_steps(optimizer, means)[-1, 0]
    assert together != pytest.approx(reach @ means[:, 0], rel=1e-3), "linear, and states no noise"


@each
def test_a_plan_softens_only_where_the_noise_is_stated(name: str) -> None:
    """Softening without a known noise level would silently release the model as it is."""
    if server.build_optimizer(settings(name)).noise is None:
        with pytest.raises(PlanError, match=r"server\.soften requires"):
            settings(name, soften=0.3)
        return
    softened = server.build_optimizer(settings(name, soften=0.3))
    assert softened.init(FIRST)[server.FIRST].tobytes() == FIRST.tobytes()
