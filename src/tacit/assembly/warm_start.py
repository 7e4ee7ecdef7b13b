"""A warm start: the server trains the first model on the public rows of a plan."""

from __future__ import annotations

from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from tacit import server, training
from tacit.assembly.server_side import ServerRows
from tacit.client import ClientRandomness, ClientSlot
from tacit.errors import PlanError, RunError
from tacit.plan import Local, Plan, Public
from tacit.randomness import Draws
from tacit.rows import Clients, Rows, Vector
from tacit.runs import record

_HELD_OUT = 0.1
"""Share of the public rows by which the best pass is chosen."""


def train_first_model(
    plan: Plan,
    learner: training.Learner,
    draws: Draws,
    rows: ServerRows,
    module: object | None = None,
) -> tuple[Vector, record.WarmStarted]:
    """Train the first model on public rows and keep the pass with the lowest held-out loss."""
    assert plan.public is not None
    assert rows.public is not None
    first, public, test = learner.initial(draws.at("initial")), rows.public, rows.test
    match plan.public.last_layer:
        case "random":
            pass
        case "zero":
            first = _zero_head(first, learner)
        case _:
            assert_never(plan.public.last_layer)
    train, held = _split(public, draws.at("center", "held-out"))
    everything = Clients(order=np.arange(len(train)), starts=np.array([0, len(train)]))
    center = training.build(plan.model, _training_settings(plan.public), train, everything, module)
    worker, slot = (
        center.worker(),
        ClientSlot(-1, 0, ClientRandomness(draws.at("center"), "first model")),
    )
    model, best, losses = first, first, list[float]()
    for epoch in range(1, plan.public.epochs + 1):
        model = model + worker.train(model, slot, slot.own.train(epoch)).row
        logits = center.predict(model, held.inputs)
        _check_finite(model, logits, epoch)
        losses.append(server.compute_loss(logits, held.labels))
        best = model if losses[-1] == min(losses) else best
    metrics = (
        server.measure(center.predict(best, test.inputs), test.labels) if test is not None else {}
    )
    return best, record.WarmStarted(
        rows=len(public),
        held_out=len(held),
        epoch=1 + int(np.argmin(losses)),
        losses=losses,
        metrics=metrics,
    )


def _zero_head(model: Vector, learner: training.Learner) -> Vector:
    """Set the last layer to zero."""
    place = learner.head
    if place is None:
        raise PlanError(
            "public.last_layer = 'zero' needs a model that ends in one linear layer; use 'random'"
            " or another model"
        )
    found = model.copy()
    found[place.start : place.start + place.size] = 0
    return found


def _training_settings(public: Public) -> Local:
    """The server's training settings for one pass over its rows."""
    return Local(
        optimizer=public.optimizer,
        lr=public.lr,
        epochs=1,
        batch=public.batch,
        weight_decay=public.weight_decay,
    )


def _split(rows: Rows, draws: Draws) -> tuple[Rows, Rows]:
    """Split the rows into those to train on and those to choose the best pass by."""
    order = draws.generator().permutation(len(rows))
    count = max(1, round(_HELD_OUT * len(rows)))
    return rows.take(np.sort(order[count:])), rows.take(np.sort(order[:count]))


def _check_finite(model: Vector, logits: NDArray[np.float32], epoch: int) -> None:
    if not (np.isfinite(model).all() and np.isfinite(logits).all()):
        raise RunError(
            f"public: pass {epoch} ended with values that are not finite, so training diverged;"
            " lower public.lr"
        )
