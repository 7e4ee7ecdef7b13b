"""The last layer by itself trains as it does in the whole model, and many are tried in one product."""

import numpy as np
import pytest

from tacit import plan, training
from tacit.client import ClientRandomness, ClientSlot
from tacit.randomness import Draws
from tacit.rows import Clients, Dense, Rows
from tacit.training.head import (
    HeadPlace,
    Steps,
    append_ones,
    compute_losses,
    compute_slopes,
    stack_heads,
    sum_gradients,
    train_head,
)

RANDOM = np.random.default_rng(3)
NOBODY = ClientSlot(0, 0, ClientRandomness(Draws.seeded(0), 0))


def rows_of(classes: int, count: int = 40) -> Rows:
    matrix = RANDOM.normal(0, 1, (count, 6)).astype(np.float32)
    labels = RANDOM.integers(0, classes, count).astype(np.int32)
    return Rows(
        inputs=Dense(matrix=matrix, width=6), labels=labels, classes=tuple(map(str, range(classes)))
    )


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("hidden", [(), (8, 5)])
@pytest.mark.parametrize("torch", [False, True])
def test_what_it_sees_and_where_it_lies(classes, hidden, torch) -> None:
    rows = rows_of(classes)
    model = plan.MLP(hidden=hidden) if hidden else plan.Logistic()
    module = None
    if torch:
        nn = pytest.importorskip("torch").nn
        layers, outputs = [], 1 if classes == 2 else classes
        for fan_in, fan_out in zip((6, *hidden), (*hidden, outputs), strict=True):
            layers += [nn.Linear(fan_in, fan_out), nn.ReLU()]
        module = nn.Sequential(*layers[:-1])
    learner = training.build(
        model, plan.Local(), rows, Clients(order=np.arange(40), starts=np.array([0, 40])), module
    )
    flat = learner.initial(Draws.seeded(1))
    logits = append_ones(learner.below(flat, rows.inputs, NOBODY, 1)) @ learner.head.matrix(flat)
    np.testing.assert_allclose(logits, learner.predict(flat, rows.inputs), atol=1e-5)
    change = RANDOM.normal(0, 1, (learner.head.inputs + 1, learner.head.outputs)).astype(np.float32)
    np.testing.assert_array_equal(
        learner.head.matrix(learner.head.update(change, learner.size)), change
    )


@pytest.mark.parametrize("classes", [2, 4])
def test_its_gradient_is_that_of_its_loss(classes) -> None:
    rows = append_ones(RANDOM.normal(0, 1, (9, 3)).astype(np.float32))
    labels = RANDOM.integers(0, classes, 9).astype(np.int32)
    head = RANDOM.normal(0, 1, (4, 1 if classes == 2 else classes)).astype(np.float32)
    step = 1e-3
    for at in np.ndindex(head.shape):
        up, down = head.copy(), head.copy()
        up[at] += step
        down[at] -= step
        both = compute_losses(rows, labels, stack_heads(np.stack([up, down]))).sum(
            axis=0, dtype=np.float64
        )
        assert (both[0] - both[1]) / (2 * step) == pytest.approx(
            (rows.T @ compute_slopes(rows, labels, head))[at], abs=2e-2
        )


def test_steps_follow_the_sum_they_are_given() -> None:
    rows = append_ones(RANDOM.normal(0, 5, (30, 3)).astype(np.float32))
    labels, first = RANDOM.integers(0, 3, 30).astype(np.int32), np.zeros((4, 3), np.float32)
    steps = Steps(epochs=2, lr=0.01, divide_by=10)
    seen = []

    def total(some: np.ndarray, at: np.ndarray, step: int) -> np.ndarray:
        seen.append(step)
        return 2 * sum_gradients(some, at, step)

    np.testing.assert_array_equal(
        train_head(rows, labels, first, steps, total),
        train_head(rows, labels, first, steps._replace(lr=0.02)),
    )
    assert seen == [0, 1]
    assert HeadPlace(10, 39, 30).size == 1200
