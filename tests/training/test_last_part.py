"""The last layers of any model by themselves: their gradients and losses are those of the whole model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tacit import plan, training
from tacit.client import ClientRandomness, ClientSlot
from tacit.randomness import Draws
from tacit.rows import Clients, Dense, Rows
from tacit.training.head import Steps, compute_logit_losses

NOBODY = ClientSlot(0, 0, ClientRandomness(Draws.seeded(0), 0))
ROWS = 12


def rows_of(classes: int) -> Rows:
    random = np.random.default_rng(3)
    matrix = random.normal(0, 1, (ROWS, 6)).astype(np.float32)
    labels = random.integers(0, classes, ROWS).astype(np.int32)
    return Rows(
        inputs=Dense(matrix=matrix, width=6), labels=labels, classes=tuple(map(str, range(classes)))
    )


def build(rows: Rows, kind: str) -> Any:
    outputs = 1 if len(rows.classes) == 2 else len(rows.classes)
    module = None
    model: Any = plan.MLP(hidden=(5, 4))
    if kind == "no bias":
        model = plan.Logistic(bias=False)
    elif kind == "module":
        nn = pytest.importorskip("torch").nn
        module = nn.Sequential(
            nn.Linear(6, 5), nn.Tanh(), nn.LayerNorm(5), nn.Linear(5, outputs, bias=False)
        )
    everything = Clients(order=np.arange(ROWS), starts=np.array([0, ROWS]))
    return training.build(model, plan.Local(), rows, everything, module)


CASES = [("mlp", 1), ("mlp", 2), ("mlp", 3), ("no bias", 1), ("module", 1), ("module", 2), ("module", 3)]  # fmt: skip


def begin(classes: int, kind: str, layers: int) -> tuple[Rows, Any, np.ndarray, Any, Any]:
    rows = rows_of(classes)
    learner = build(rows, kind)
    size = sum(learner.parts[-layers:])
    place = training.PartPlace(learner.size - size, size)
    model = learner.initial(Draws.seeded(1)) + np.float32(0.05)
    return rows, learner, model, place, learner.read_part(model, rows, size, NOBODY, 1)


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize(("kind", "layers"), CASES)
def test_losses_and_gradients_are_those_of_the_whole_model(classes, kind, layers) -> None:
    rows, learner, model, place, read = begin(classes, kind, layers)
    part = place.matrix(model) * np.float32(1.3)
    whole = model.copy()
    whole[place.start :] = part
    expected = compute_logit_losses(learner.predict(whole, rows.inputs), rows.labels)
    np.testing.assert_allclose(read.compute_losses(part), expected, atol=1e-5)
    total = read.sum_gradients(part)
    each = np.vstack(list(read.list_gradients(part)))
    assert each.shape == (ROWS, place.size)
    np.testing.assert_allclose(each.sum(axis=0), total, atol=1e-4)
    step = 1e-3
    for at in range(0, place.size, max(1, place.size // 7)):
        up, down = part.copy(), part.copy()
        up[at] += step
        down[at] -= step
        apart = read.compute_losses(up).sum(dtype=float) - read.compute_losses(down).sum(
            dtype=float
        )
        assert apart / (2 * step) == pytest.approx(float(total[at]), abs=2e-2)


@pytest.mark.parametrize(("kind", "layers"), CASES)
def test_a_row_s_gradient_depends_on_no_other_row(kind, layers) -> None:
    """What clipping per row rests on."""
    _, _, model, place, read = begin(4, kind, layers)
    part = place.matrix(model)
    alone = read.take(np.arange(ROWS) == 3)
    assert len(alone) == 1
    np.testing.assert_allclose(
        next(iter(alone.list_gradients(part)))[0],
        np.vstack(list(read.list_gradients(part)))[3],
        atol=1e-6,
    )


def test_one_linear_layer_trains_as_the_head_does() -> None:
    rows, learner, model, place, read = begin(4, "mlp", 1)
    steps = Steps(epochs=3, lr=0.5, batch=4, order=Draws.seeded(2))
    inputs = training.append_ones(learner.below(model, rows.inputs, NOBODY, 1))
    head = training.train_head(inputs, rows.labels, learner.head.matrix(model), steps)
    part = training.train_part(read, place.matrix(model), steps)
    np.testing.assert_allclose(part, head.ravel(), atol=1e-5)


def test_each_pass_deals_every_row_to_one_of_a_public_number_of_batches() -> None:
    _, _, model, place, read = begin(4, "mlp", 1)
    steps = Steps(epochs=2, lr=0.1, divide_by=9, batch=3, order=Draws.seeded(2))
    assert steps.count_batches(ROWS) == steps.count_batches(ROWS + 1) == 3
    seen = list[tuple[int, np.ndarray]]()

    def total(rows: Any, part: np.ndarray, step: int) -> np.ndarray:
        seen.append((step, rows.inputs))
        return np.zeros_like(part)

    training.train_part(read, place.matrix(model), steps, total)
    assert [step for step, _ in seen] == list(range(6))
    passes = [np.vstack([rows for _, rows in seen[begin : begin + 3]]) for begin in (0, 3)]
    for dealt in passes:
        np.testing.assert_array_equal(np.sort(dealt, axis=0), np.sort(read.inputs, axis=0))
    assert not np.array_equal(*passes)


@pytest.mark.parametrize(("kind", "layers"), [("mlp", 2), ("module", 2)])
def test_without_rows_nothing_is_learned(kind, layers) -> None:
    _, _, model, place, read = begin(4, kind, layers)
    nothing = read.take(np.zeros(ROWS, np.bool_))
    assert not training.train_part(nothing, place.matrix(model), Steps(epochs=1, lr=1.0)).any()
    assert nothing.compute_losses(place.matrix(model)).shape == (0,)
