"""Logistic regression without a bias, from zero, with scaled updates: both paths do the same, and the mathematics."""

from dataclasses import replace

import numpy as np
import pytest

from tacit import plan, training
from tacit.client import ClientRandomness, ClientSlot
from tacit.randomness import Draws
from tacit.rows import Clients, Dense, Rows, Sparse
from tacit.training.modules.learner import TorchLearner

CLIENTS = Clients(order=np.arange(12), starts=np.array([0, 4, 9, 12]))
LOCAL = plan.Local(optimizer="sgd", lr=1.0, epochs=1, batches=1, normalise=True)
ROOT = plan.Local(optimizer="sgd", lr=1.0, epochs=1, batches=1, row_scale="root")
MODEL = plan.Logistic(bias=False, start="zero")


def rows(classes):
    random = np.random.default_rng(0)
    columns = np.concatenate(
        [np.sort(random.choice(30, 4, replace=False)) for _ in range(12)]
    ).astype(np.int32)
    inputs = Sparse(
        starts=np.arange(0, 49, 4),
        columns=columns,
        values=random.random(48).astype(np.float32),
        width=30,
    )
    return Rows(
        inputs=inputs, labels=(np.arange(12) % len(classes)).astype(np.int32), classes=classes
    )


def updates(learner, model):
    worker, root = learner.worker(), Draws.seeded(1)
    slots = [ClientSlot(name, name, ClientRandomness(root, name)) for name in range(3)]
    return [worker.train(model, slot, slot.own.train(1)).row.copy() for slot in slots]


@pytest.mark.parametrize("classes", [("no", "yes"), ("a", "b", "c")])
def test_one_step_is_the_direction_of_the_gradient(classes):
    given = rows(classes)
    learner = training.build(MODEL, LOCAL, given, CLIENTS)
    outputs = 1 if len(classes) == 2 else 3
    assert learner.size == 30 * outputs
    model = learner.initial(Draws.seeded(0))
    assert not model.any()
    full = np.zeros((12, 30), np.float32)
    full[np.repeat(np.arange(12), 4), given.inputs.columns] = given.inputs.values
    wanted = given.labels[:, None] - 0.5 if outputs == 1 else np.eye(3)[given.labels] - 1 / 3
    for client, row in enumerate(updates(learner, model)):
        some = slice(CLIENTS.starts[client], CLIENTS.starts[client + 1])
        gradient = full[some].T @ wanted[some]
        np.testing.assert_allclose(row, (gradient / np.linalg.norm(gradient)).ravel(), atol=1e-6)


def test_root_rows_multiply_the_mean_gradient():
    given, model = rows(("no", "yes")), np.linspace(-1, 1, 30).astype(np.float32)
    mean = updates(training.build(MODEL, replace(LOCAL, normalise=False), given, CLIENTS), model)
    root = updates(training.build(MODEL, ROOT, given, CLIENTS), model)
    for ours, plain, count in zip(root, mean, np.diff(CLIENTS.starts), strict=True):
        np.testing.assert_allclose(ours, plain * np.sqrt(count), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("dense", [False, True])
def test_root_rows_of_many_full_steps_on_a_table(dense):
    given, model = rows(("no", "yes")), np.zeros(30, np.float32)
    if dense:
        full = np.zeros((12, 30), np.float32)
        full[np.repeat(np.arange(12), 4), given.inputs.columns] = given.inputs.values
        given = replace(given, inputs=Dense(matrix=full, width=30))
    many = replace(LOCAL, normalise=False, epochs=40)
    mean = updates(training.build(MODEL, many, given, CLIENTS), model)
    root = updates(training.build(MODEL, replace(many, row_scale="root"), given, CLIENTS), model)
    for ours, plain, count in zip(root, mean, np.diff(CLIENTS.starts), strict=True):
        np.testing.assert_allclose(ours, plain * np.sqrt(count), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("settings", [LOCAL, ROOT], ids=["unit", "root"])
def test_both_paths_give_the_same_update_and_names(settings):
    given = rows(("no", "yes"))
    compiled, torch = (
        training.build(MODEL, settings, given, CLIENTS),
        TorchLearner(MODEL, settings, given, CLIENTS, None),
    )
    model = np.linspace(-1, 1, 30).astype(np.float32)
    for ours, theirs in zip(updates(compiled, model), updates(torch, model), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-6)
    assert {name: one.shape for name, one in compiled.tensors(model).items()} == {
        "layers.0.weight": (1, 30)
    }
    assert {name: one.shape for name, one in torch.tensors(model).items()} == {
        "layers.0.weight": (1, 30)
    }
    np.testing.assert_allclose(
        compiled.predict(model, given.inputs), torch.predict(model, given.inputs), atol=1e-5
    )
