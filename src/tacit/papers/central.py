"""Central training with early stopping: every row in one place, the epoch chosen on held-back training rows.

Experiments that are no federation train this way, so that rows of one table differ only in their features.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tacit import data, features, local, server
from tacit import plan as plans
from tacit.draws import Draws
from tacit.local.compiled.learner import CompiledLearner
from tacit.papers.published import Figures
from tacit.rows import Clients, Rows
from tacit.seat import Own, Seat

HIDDEN = (100, 50, 25)
MOST_EPOCHS = 30
PATIENCE = 3
VALIDATION_SHARE = 0.1


def central(
    source: str, features: dict[str, Any], model: dict[str, Any], local: dict[str, Any], limit: int | None = None, seed: int = 0
) -> Figures:
    """Return the test figures of a built-in model trained centrally on a named set.

    The tables are a plan's; `local.epochs` is the most epochs to try. See `train_and_measure` for how the epoch is chosen.
    """
    plan = central_plan(source, model, local, limit, seed, features)
    return train_and_measure(*encoded(loaded(plan), plan.features), plan)


def central_plan(
    source: str, model: str | dict[str, Any], local: dict[str, Any] | None, limit: int | None, seed: int,
    features: dict[str, Any] | None = None,
) -> plans.Plan:  # fmt: skip
    """Return the checked plan of a central experiment; raise a PlanError naming everything wrong with the settings.

    A model's name alone stands for the paper's model of that name, no `local` for the paper's Adam at 1e-3.
    """
    if isinstance(model, str):
        model = {"name": model, "hidden": list(HIDDEN)} if model == "mlp" else {"name": model}
    cut = {} if limit is None else {"limit": limit}
    tree = {
        "seed": seed, "data": {"source": source, **cut}, "features": features or {}, "model": model,
        "regime": "central", "local": local or {}, "codec": {"name": "plain"},
    }  # fmt: skip
    return plans.parse(tree, where="experiment")


def loaded(plan: plans.Plan) -> data.Table:
    """Return the plan's table: the same rows and the same halves as a run of a plan with this seed."""
    return data.load(plan.data, Draws.seeded(plan.seed).at("data"))


def encoded(table: data.Table, settings: plans.Features) -> tuple[Rows, Rows]:
    """Return the table's halves as rows of numbers, as every plan encodes them."""
    fitted = features.fit(table.train, table.columns, settings)
    train = features.encode(table.train, table.columns, settings, fitted)
    return train, features.encode(table.test, table.columns, settings, fitted)


def train_and_measure(train: Rows, test: Rows, plan: plans.Plan) -> Figures:
    """Return the test figures after the epoch with the best AUC on a tenth of the training rows.

    Guarantees: the test rows decide nothing. At most two vectors of the model's size are held, the model and its update:
    the test figures are taken whenever an epoch is the best so far, so no former model is needed.

    Training ends after `local.epochs` (30 if unset), or once 3 epochs in a row were no better than the best. The
    optimiser goes on from epoch to epoch.
    """
    draws = Draws.seeded(plan.seed).at("central")
    order = draws.at("validation").generator().permutation(len(train))
    held = max(1, round(len(train) * VALIDATION_SHARE))
    validation, rest = train.take(np.sort(order[:held])), train.take(np.sort(order[held:]))
    everyone = Clients(order=np.arange(len(rest)), starts=np.array([0, len(rest)]))
    learner = local.build(plan.model, replace(plan.local, epochs=1, steps=None), rest, everyone)
    assert isinstance(learner, CompiledLearner), "experiments in one place are of nets that train without PyTorch"
    model, worker = learner.initial(draws.at("initial")), learner.worker()
    one = Seat(0, 0, Own(draws, 0))
    best, best_epoch, figures = -1.0, 0, dict[str, float]()
    for epoch in range(1, (plan.local.epochs or MOST_EPOCHS) + 1):
        model += worker.train_on(model, one, draws.at("epoch", epoch)).row
        auc = server.measure(learner.predict(model, validation.inputs), validation.labels)["auc"]
        if auc > best:
            best, best_epoch = auc, epoch
            figures = server.measure(learner.predict(model, test.inputs), test.labels)
        elif epoch - best_epoch >= PATIENCE:
            break
    return {"last": {**figures, "validation_auc": best, "epoch": float(best_epoch)}}
