"""Steps that see all rows of a client: the same update as in PyTorch, whatever the shape, and equal rows count."""

import numpy as np
import pytest

from tacit import plan
from tacit.randomness import Draws
from tacit.rows import Clients, Dense, Rows
from tacit.training.compiled import full_batch, memo
from tacit.training.compiled.learner import CompiledLearner
from tacit.training.schedule import build_pace, count_full_batch_steps
from tests.slots import slot

torch = pytest.importorskip("torch")
from tacit.training.modules.learner import TorchLearner  # noqa: E402

STEPS = full_batch.FEWEST_STEPS


def rows_of(classes: int, width: int, count: int, distinct: int) -> Rows:
    random = np.random.default_rng(2)
    matrix = random.random((distinct, width)).astype(np.float32)[
        random.integers(0, distinct, count)
    ]
    labels = random.integers(0, classes, count).astype(np.int32)
    return Rows(
        inputs=Dense(matrix=matrix, width=width),
        labels=labels,
        classes=tuple(map(str, range(classes))),
    )


@pytest.mark.parametrize(
    ("classes", "width", "hidden"),
    [(2, 13, (11, 5)), (2, 2, ()), (4, 3, (6,)), (3, 1, (2,)), (2, 40, (50, 7))],
)
@pytest.mark.parametrize(
    "local",
    [
        plan.Local(optimizer="sgd", lr=0.1, epochs=STEPS, batches=1),
        plan.Local(
            method="fedprox", optimizer="adam", lr=1e-2, steps=STEPS, batch=1_000, proximal=0.5
        ),
    ],
    ids=["sgd", "prox"],
)
def test_the_same_update_as_in_torch(classes, width, hidden, local) -> None:
    rows = rows_of(classes, width, 700, 150)
    clients = Clients(order=np.arange(700), starts=np.array([0, 1, 230, 700]))
    model = plan.MLP(hidden=hidden) if hidden else plan.Logistic()
    compiled, reference = (
        CompiledLearner(model, local, rows, clients),
        TorchLearner(model, local, rows, clients, None),
    )
    assert (compiled.full_steps == STEPS).all()
    start = compiled.initial(Draws.seeded(1))
    order = [
        array.ravel()
        for array in compiled.layout.tensors(np.arange(compiled.size, dtype=np.float32)).values()
    ]
    place = np.concatenate(order).astype(np.int64)
    slots, draws = [slot(client) for client in range(3)], [Draws.seeded(5)] * 3
    theirs = [
        one.updates[0].row.copy()
        for one in reference.worker().train_together(start[place], slots, draws, 1)
    ]
    ours = [
        one.updates[0].row[place]
        for one in compiled.worker().train_together(start, slots, draws, 1)
    ]
    np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_equal_rows_are_computed_once_and_weigh_as_often_as_they_stand_there() -> None:
    rows = rows_of(2, 5, 3_000, 20)
    blocks = full_batch.build_blocks(rows.inputs.matrix, rows.labels)
    assert (blocks.shares > 0).sum() <= 40
    assert blocks.shares.sum() == pytest.approx(1, abs=1e-5)
    assert blocks.inputs.shape[2] % 32 == 16


def test_only_many_steps_over_all_rows_go_this_way() -> None:
    rows = np.array([0, 1, 10, 11])

    def steps(**settings: object) -> list[int]:
        return count_full_batch_steps(build_pace(plan.Local(**settings)), rows).tolist()

    assert steps(batch=10, epochs=50) == [0, 50, 50, 0]
    assert steps(batches=1, steps=30) == [0, 30, 30, 30]
    assert steps(batches=2, epochs=30, steps=7) == [0, 7, 0, 0]


def test_the_same_start_is_trained_once(monkeypatch) -> None:
    monkeypatch.setattr("tacit.training.compiled.learner.MEMO", memo.Memo())
    rows = rows_of(2, 4, 50, 50)
    learner = CompiledLearner(
        plan.MLP(hidden=(3,)),
        plan.Local(epochs=STEPS, batches=1),
        rows,
        Clients(order=np.arange(50), starts=np.array([0, 50])),
    )
    calls = []
    whole = full_batch.descend
    monkeypatch.setattr(full_batch, "descend", lambda *given: (calls.append(1), whole(*given)))
    start = learner.initial(Draws.seeded(1))
    first, again = (
        learner.worker().train(start, slot(0), Draws.seeded(seed)).row.copy() for seed in (1, 2)
    )
    other = learner.worker().train(start + np.float32(1e-3), slot(0), Draws.seeded(1)).row
    assert len(calls) == 2
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_what_was_not_asked_for_longest_is_forgotten_first(monkeypatch) -> None:
    monkeypatch.setattr(memo, "_LARGEST", 80)
    found = memo.Memo()
    for name in (b"a", b"b"):
        found.put(name, np.zeros(10, np.float32))
    assert found.get(b"a") is not None
    found.put(b"c", np.zeros(10, np.float32))
    assert [found.get(name) is not None for name in (b"a", b"b", b"c")] == [True, False, True]
