"""The first model of a run: random, or trained by the center on the rows it has in the clear."""

from __future__ import annotations

from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from tacit import server, training
from tacit.client import ClientRandomness, ClientSlot
from tacit.errors import PlanError, RunError
from tacit.plan import Local, Plan, Public
from tacit.randomness import Draws
from tacit.rows import Clients, Rows, Vector
from tacit.runs import record

_HELD_OUT = 0.1
"""Share of the public rows by which the best pass is chosen."""


def first_model(
    plan: Plan,
    public: Rows | None,
    test: Rows | None,
    draws: Draws,
    learner: training.Learner,
    module: object | None = None,
) -> tuple[Vector, record.WarmStarted | None]:
    """Return a run's first model, and what the record should say of it if the center trained it."""
    first = learner.initial(draws.at("initial"))
    if plan.public is None or public is None:
        return first, None
    match plan.public.last_layer:
        case "random":
            pass
        case "zero":
            first = _without_head(first, learner)
        case _:
            assert_never(plan.public.last_layer)
    train, held = _divided(public, draws.at("center", "held-out"))
    everything = Clients(order=np.arange(len(train)), starts=np.array([0, len(train)]))
    center = training.build(plan.model, _settings(plan.public), train, everything, module)
    worker, slot = (
        center.worker(),
        ClientSlot(-1, 0, ClientRandomness(draws.at("center"), "first model")),
    )
    model, best, losses = first, first, list[float]()
    for epoch in range(1, plan.public.epochs + 1):
        model = model + worker.train(model, slot, slot.own.train(epoch)).row
        logits = center.predict(model, held.inputs)
        _check_finite(model, logits, epoch)
        losses.append(server.loss(logits, held.labels))
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


def _without_head(model: Vector, learner: training.Learner) -> Vector:
    """Return the model with a last layer of zeros."""
    place = learner.head
    if place is None:
        raise PlanError(
            "public.last_layer = 'zero' needs a model that ends in one linear layer, got another;"
            " use 'random' or another model"
        )
    found = model.copy()
    found[place.start : place.start + place.size] = 0
    return found


def _settings(public: Public) -> Local:
    """Return the center's settings for one pass over its rows."""
    return Local(
        optimizer=public.optimizer,
        lr=public.lr,
        epochs=1,
        batch=public.batch,
        weight_decay=public.weight_decay,
    )


def _divided(rows: Rows, draws: Draws) -> tuple[Rows, Rows]:
    """Return the rows to train on and those to choose the best pass by."""
    order = draws.generator().permutation(len(rows))
    count = max(1, round(_HELD_OUT * len(rows)))
    return rows.take(np.sort(order[count:])), rows.take(np.sort(order[:count]))


def _check_finite(model: Vector, logits: NDArray[np.float32], epoch: int) -> None:
    if not (np.isfinite(model).all() and np.isfinite(logits).all()):
        raise RunError(
            f"public: pass {epoch} ended with values that are not finite, so training diverged;"
            " lower public.lr"
        )
