"""The two paths of local training give the same update, and leaving untouched rows out is exact."""

import numpy as np
import pytest

from tacit import plan
from tacit.randomness import Draws
from tacit.rows import Clients, Dense, Mixed, Rows, Sparse
from tacit.training import build, flatten_parameters
from tacit.training.compiled import learner as compiled_path
from tacit.training.compiled.dropout import draw_kept
from tacit.training.compiled.learner import CompiledLearner
from tacit.training.schedule import build_pace, list_batch_ends, shuffle_rows
from tests.slots import slot

torch = pytest.importorskip("torch")
from tacit.training.modules import networks  # noqa: E402
from tacit.training.modules.learner import TorchLearner  # noqa: E402


def sparse_rows(classes: int, values: bool, width: int = 60, rows: int = 40) -> Rows:
    random = np.random.default_rng(3)
    lengths = random.integers(0, 9, rows)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    columns = np.concatenate(
        [np.sort(random.choice(width, n, replace=False)) for n in lengths]
    ).astype(np.int32)
    weights = random.normal(size=len(columns)).astype(np.float32) if values else None
    labels = random.integers(0, classes, rows).astype(np.int32)
    inputs = Sparse(starts=starts, columns=columns, values=weights, width=width)
    return Rows(inputs=inputs, labels=labels, classes=tuple(map(str, range(classes))))


def dense_rows(classes: int) -> Rows:
    random = np.random.default_rng(4)
    matrix = random.normal(size=(40, 12)).astype(np.float32)
    labels = random.integers(0, classes, 40).astype(np.int32)
    return Rows(
        inputs=Dense(matrix=matrix, width=12),
        labels=labels,
        classes=tuple(map(str, range(classes))),
    )


CLIENTS = Clients(order=np.arange(40), starts=np.array([0, 15, 40]))
MANY = Clients(order=np.arange(40), starts=np.array([0, 9, 9, 20, 21, 40]))


def to_torch_order(compiled: CompiledLearner, flat: np.ndarray) -> np.ndarray:
    return np.concatenate([array.ravel() for array in compiled.layout.tensors(flat).values()])


@pytest.mark.parametrize("hidden", [(), (7,), (11, 5)])
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("kind", ["binary", "valued", "dense"])
@pytest.mark.parametrize(
    "local",
    [
        plan.Local(optimizer="sgd", lr=0.1, epochs=2, batch=4),
        plan.Local(optimizer="adam", lr=1e-2, epochs=2, batches=3),
        plan.Local(optimizer="adamw", lr=1e-2, steps=7, batch=4, weight_decay=0.1),
        plan.Local(method="fedprox", optimizer="adam", lr=1e-2, epochs=2, batch=4, proximal=0.5),
    ],
    ids=["sgd", "adam", "adamw", "prox"],
)
def test_compiled_and_torch_give_the_same_update(hidden, classes, kind, local) -> None:
    rows = dense_rows(classes) if kind == "dense" else sparse_rows(classes, kind == "valued")
    model = plan.MLP(hidden=hidden) if hidden else plan.Logistic()
    compiled, reference = (
        CompiledLearner(model, local, rows, CLIENTS),
        TorchLearner(model, local, rows, CLIENTS, None),
    )
    assert compiled.size == reference.size
    start = compiled.initial(Draws.seeded(1))
    worker, other = compiled.worker(), reference.worker()
    for client in (0, 1, 0):  # twice the first: buffers must not remember
        ours = worker.train(start, slot(client), Draws.seeded(5)).row
        theirs = other.train(to_torch_order(compiled, start), slot(client), Draws.seeded(5)).row
        np.testing.assert_allclose(to_torch_order(compiled, ours), theirs, atol=1e-5)
    np.testing.assert_allclose(
        compiled.predict(start, rows.inputs),
        reference.predict(to_torch_order(compiled, start), rows.inputs),
        atol=1e-5,
    )


@pytest.mark.parametrize("hidden", [(), (11, 5)])
@pytest.mark.parametrize("kind", ["binary", "valued", "dense"])
def test_an_lstm_of_one_step_is_the_one_of_torch(hidden, kind) -> None:
    rows = dense_rows(2) if kind == "dense" else sparse_rows(2, kind == "valued")
    model, local = (
        plan.LSTMStep(hidden=hidden, units=6),
        plan.Local(optimizer="sgd", lr=0.5, epochs=20, batch=40),
    )
    clients = Clients(order=np.arange(40), starts=np.array([0, 40]))
    compiled = CompiledLearner(model, local, rows, clients)
    start = compiled.initial(Draws.seeded(1))
    named = {name: torch.from_numpy(array) for name, array in compiled.tensors(start).items()}
    lstm = torch.nn.LSTM(compiled.layout.widths[0], 6, batch_first=True)
    gates = {name[5:]: array for name, array in named.items() if name.startswith("lstm")}
    lstm.load_state_dict(gates | {"bias_hh_l0": torch.zeros(24)})
    head = networks.FeedForward(6, hidden, 1)
    head.load_state_dict(
        {name[5:]: array for name, array in named.items() if name.startswith("head")}
    )
    trained = [
        parameter
        for name, parameter in (*lstm.named_parameters(), *head.named_parameters())
        if name != "bias_hh_l0"
    ]
    optimizer = torch.optim.SGD(trained, lr=0.5)
    seen, labels = (
        torch.from_numpy(compiled_path._to_matrix(rows.inputs)),
        torch.from_numpy(rows.labels).float(),
    )
    np.testing.assert_allclose(
        compiled.predict(start, rows.inputs), head(lstm(seen[:, None])[0][:, 0]).detach(), atol=1e-5
    )
    for _ in range(20):
        optimizer.zero_grad()
        torch.nn.functional.binary_cross_entropy_with_logits(
            head(lstm(seen[:, None])[0][:, 0])[:, 0], labels
        ).backward()
        optimizer.step()
    ours = compiled.tensors(start + compiled.worker().train(start, slot(0), Draws.seeded(5)).row)
    for name, parameter in (*lstm.named_parameters("lstm"), *head.named_parameters("head")):
        if name != "lstm.bias_hh_l0":
            np.testing.assert_allclose(ours[name], parameter.detach(), atol=1e-4, err_msg=name)
    assert np.abs(ours["lstm.weight_ih_l0"] - named["lstm.weight_ih_l0"].numpy()).max() > 1e-3


def test_the_papers_lstm_has_as_many_parameters_as_in_keras() -> None:
    rows = sparse_rows(2, values=False, width=5000)
    model = plan.LSTMStep(hidden=(100, 50, 25))
    compiled = CompiledLearner(model, plan.Local(), rows, CLIENTS)
    assert compiled.size == 1_021_651
    assert TorchLearner(model, plan.Local(), rows, CLIENTS, None).size == 1_021_651
    np.testing.assert_array_equal(
        flatten_parameters(compiled, compiled.tensors(start := compiled.initial(Draws.seeded(0)))),
        start,
    )


def test_dropout_leaves_its_share_out_and_keeps_the_mean() -> None:
    kept = np.empty(200_000, np.float32)
    draw_kept(kept, 0.2, np.uint64(5))
    assert set(kept.tolist()) == {0.0, 1.25}
    assert abs((kept == 0).mean() - 0.2) < 0.005  # 5.6 standard deviations
    again = np.empty(200_000, np.float32)
    draw_kept(again, 0.2, np.uint64(6))
    assert abs(np.corrcoef(kept, again)[0, 1]) < 0.02


def test_a_step_with_dropout_follows_the_loss_of_the_thinned_net() -> None:
    """One step of SGD on the drawn mask is that of a torch net in which the same outputs are left out."""
    rows, model = dense_rows(2), plan.MLP(hidden=(7,), dropout=0.4)
    clients = Clients(order=np.arange(40), starts=np.array([0, 40]))
    compiled = CompiledLearner(model, plan.Local(optimizer="sgd", lr=1.0, batch=40), rows, clients)
    start, draws = compiled.initial(Draws.seeded(1)), Draws.seeded(5)
    ours = compiled.tensors(start + compiled.worker().train(start, slot(0), draws).row)
    kept, seed = np.empty(40 * 8, np.float32), draws.at("shuffle").seed()
    draw_kept(kept, 0.4, np.uint64(seed))
    order = shuffle_rows(40, 40, np.uint64(seed))
    net = networks.FeedForward(12, (7,), 1)
    net.load_state_dict(
        {name: torch.from_numpy(array) for name, array in compiled.tensors(start).items()}
    )
    seen, labels = (
        torch.from_numpy(rows.inputs.matrix[order]),
        torch.from_numpy(rows.labels[order]).float(),
    )
    thinned = torch.relu(net.layers[0](seen)) * torch.from_numpy(kept[: 40 * 7].reshape(40, 7))
    torch.nn.functional.binary_cross_entropy_with_logits(
        net.layers[1](thinned)[:, 0], labels
    ).backward()
    for name, parameter in net.named_parameters():
        np.testing.assert_allclose(
            ours[name], (parameter - parameter.grad).detach(), atol=1e-5, err_msg=name
        )
    assert not np.array_equal(compiled.predict(start, rows.inputs), 0)


def test_training_on_is_as_training_at_once() -> None:
    """Two epochs one after the other, the optimiser going on, are two epochs of one call where each step sees all rows."""
    rows, clients = (
        sparse_rows(2, values=False),
        Clients(order=np.arange(40), starts=np.array([0, 40])),
    )
    once = CompiledLearner(plan.MLP(hidden=(7,)), plan.Local(epochs=2, batch=40), rows, clients)
    twice = CompiledLearner(plan.MLP(hidden=(7,)), plan.Local(epochs=1, batch=40), rows, clients)
    start, worker = once.initial(Draws.seeded(1)), twice.worker()
    model = start.copy()
    for _ in range(2):
        model += worker.train_on(model, slot(0), Draws.seeded(5)).row
    np.testing.assert_allclose(
        model, start + once.worker().train(start, slot(0), Draws.seeded(5)).row, atol=1e-6
    )


def test_rows_no_one_names_are_left_out_exactly() -> None:
    """A client's own lines in a table of 5,000 give the same bits as the whole table does, and what the dense form gives."""
    rows = sparse_rows(2, values=False, width=5000)
    full = np.zeros((40, 5000), np.float32)
    full[np.repeat(np.arange(40), np.diff(rows.inputs.starts)), rows.inputs.columns] = 1
    dense = Rows(inputs=Dense(matrix=full, width=5000), labels=rows.labels, classes=rows.classes)
    local, model = plan.Local(epochs=3, batch=5), plan.MLP(hidden=(8,))
    sparse_learner, dense_learner = (
        CompiledLearner(model, local, rows, CLIENTS),
        CompiledLearner(model, local, dense, CLIENTS),
    )
    whole_learner = CompiledLearner(model, local, rows, CLIENTS)
    whole_learner.whole = True
    start = sparse_learner.initial(Draws.seeded(0))
    for client in (0, 1):
        update = sparse_learner.worker().train(start, slot(client), Draws.seeded(2))
        expected = whole_learner.worker().train(start, slot(client), Draws.seeded(2)).row
        np.testing.assert_array_equal(update.row, expected)
        np.testing.assert_allclose(
            dense_learner.worker().train(start, slot(client), Draws.seeded(2)).row,
            expected,
            atol=1e-6,
        )
        (group,) = sparse_learner.worker().train_together(
            start, [slot(client)], [Draws.seeded(2)], 1
        )
        lines = group.lines
        assert lines is not None
        laid_out = np.zeros_like(expected)
        of_lines, rest = np.split(
            lines.values[: lines.starts[1]], [lines.name_starts[1] * lines.width]
        )
        named = lines.named[: lines.name_starts[1]]
        laid_out[: lines.end].reshape(-1, lines.width)[named] = of_lines.reshape(-1, lines.width)
        laid_out[lines.end :] = rest
        np.testing.assert_array_equal(laid_out, expected)
        assert (np.diff(named) > 0).all()


@pytest.mark.parametrize("kept", [0, 50, 1 << 20], ids=["numbered anew", "some kept", "all kept"])
def test_clients_trained_together_get_the_updates_they_get_alone(kept, monkeypatch) -> None:
    monkeypatch.setattr(compiled_path, "_INDEX_ENTRIES", kept)
    rows = sparse_rows(3, values=False, width=300)
    learner = CompiledLearner(plan.MLP(hidden=(6,)), plan.Local(epochs=2, batch=4), rows, MANY)
    start, draws, everyone = learner.initial(Draws.seeded(0)), Draws.seeded(7), [4, 0, 2, 3, 1]
    slots = [slot(number) for number in everyone]
    groups = learner.worker().train_together(
        start, slots, [draws.at(one.name, "train") for one in slots], 1
    )
    together = [update.row.copy() for group in groups for update in group.updates]
    for one, update in zip(slots, together, strict=True):
        alone = learner.worker().train(start, one, draws.at(one.name, "train")).row
        np.testing.assert_array_equal(update, alone)


@pytest.mark.parametrize(
    ("local", "rows", "expected"),
    [
        (plan.Local(), 70, [32, 64, 70]),
        (plan.Local(batch=30, epochs=2), 70, [30, 60, 70, 100, 130, 140]),
        (plan.Local(batches=5), 12, [2, 4, 7, 9, 12]),
        (plan.Local(batches=5), 3, [1, 2, 3]),
        (plan.Local(batch=50, steps=3), 70, [50, 70, 120]),
        (plan.Local(batch=50), 0, []),
    ],
)
def test_batches(local, rows, expected) -> None:
    assert list_batch_ends(build_pace(local), rows).tolist() == expected


def test_every_epoch_sees_every_row_once() -> None:
    order = shuffle_rows(50, 200, np.uint64(0)).reshape(4, 50)
    for epoch in order:
        assert sorted(epoch) == list(range(50))
    assert not np.array_equal(order[0], order[1])


def test_an_empty_client_changes_nothing() -> None:
    rows = sparse_rows(2, values=False)
    clients = Clients(order=np.arange(40), starts=np.array([0, 0, 40]))
    learner = CompiledLearner(plan.Logistic(), plan.Local(), rows, clients)
    assert (
        not learner.worker()
        .train(learner.initial(Draws.seeded(0)), slot(0), Draws.seeded(0))
        .row.any()
    )


def test_pooled_embeddings_agree_with_torch() -> None:
    random = np.random.default_rng(5)
    tokens = random.integers(0, 50, (40, 9)).astype(np.int32)
    tokens[np.arange(9) >= random.integers(0, 10, 40)[:, None]] = 50
    labels = random.integers(0, 2, 40).astype(np.int32)
    rows = Rows(
        inputs=Dense(matrix=tokens, width=51, tokens=True), labels=labels, classes=("a", "b")
    )
    model, local = plan.Embedding(embedding=6, hidden=(5,)), plan.Local(epochs=2, batch=4, lr=1e-2)
    compiled, reference = (
        CompiledLearner(model, local, rows, CLIENTS),
        TorchLearner(model, local, rows, CLIENTS, None),
    )
    assert compiled.size == reference.size
    assert list(compiled.tensors(compiled.initial(Draws.seeded(0)))) == reference.names
    start = compiled.initial(Draws.seeded(1))
    for client in (0, 1):
        ours = compiled.worker().train(start, slot(client), Draws.seeded(5)).row
        theirs = (
            reference.worker()
            .train(to_torch_order(compiled, start), slot(client), Draws.seeded(5))
            .row
        )
        np.testing.assert_allclose(to_torch_order(compiled, ours), theirs, atol=1e-5)
    np.testing.assert_allclose(
        compiled.predict(start, rows.inputs),
        reference.predict(to_torch_order(compiled, start), rows.inputs),
        atol=1e-5,
    )


@pytest.mark.parametrize("kind", [plan.LSTM, plan.Embedding])
def test_networks_read_words_beside_other_features(kind) -> None:
    """The label is in the feature beside the words, so a net that sees it learns it."""
    random = np.random.default_rng(0)
    labels = random.integers(0, 2, 40).astype(np.int32)
    words = Dense(matrix=random.integers(0, 10, (40, 4)).astype(np.int32), width=11, tokens=True)
    dense = Dense(
        matrix=np.column_stack([2.0 * labels - 1, np.ones(40)]).astype(np.float32), width=2
    )
    rows = Rows(inputs=Mixed(tokens=words, dense=dense), labels=labels, classes=("no", "yes"))
    settings = plan.Local(optimizer="adam", lr=3e-2, epochs=20, batch=8)
    learner = build(kind(embedding=3, hidden=(4,)), settings, rows, CLIENTS)
    start = learner.initial(Draws.seeded(0))
    trained = start + learner.worker().train(start, slot(1), Draws.seeded(1)).row
    assert ((learner.predict(trained, rows.inputs)[:, 0] > 0) == labels).mean() > 0.9
