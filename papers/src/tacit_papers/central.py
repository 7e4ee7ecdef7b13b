"""Central training with early stopping: all rows in one place, the epoch chosen on held-out
training rows.

Experiments without federation train this way, so rows of one table differ only in their features.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tacit import data, features, server, training
from tacit import plan as plans
from tacit.client import ClientRandomness, ClientSlot
from tacit.randomness import Draws
from tacit.rows import Clients, Rows
from tacit.training.compiled.learner import CompiledLearner
from tacit_papers.published import Figures

HIDDEN = (100, 50, 25)
MOST_EPOCHS = 30
PATIENCE = 3
VALIDATION_SHARE = 0.1


def train_centrally(
    source: str,
    features: dict[str, Any],
    model: dict[str, Any],
    local: dict[str, Any],
    limit: int | None = None,
    seed: int = 0,
) -> Figures:
    """Test metrics of a built-in model trained centrally on a named data set.

    The arguments are a plan's tables; `local.epochs` is the maximum number of epochs.
    `train_and_measure` says how the epoch is chosen.
    """
    plan = central_plan(source, model, local, limit, seed, features)
    return train_and_measure(*encode_halves(load_table(plan), plan.features), plan)


def central_plan(
    source: str, model: str | dict[str, Any], local: dict[str, Any] | None, limit: int | None, seed: int,
    features: dict[str, Any] | None = None,
) -> plans.Plan:  # fmt: skip
    """Validate the plan of a central experiment; raise PlanError naming everything wrong with the
    settings.

    A model's name alone means the paper's model of that name; without `local`, Adam at 1e-3 as
    in the paper.
    """
    if isinstance(model, str):
        model = {"name": model, "hidden": list(HIDDEN)} if model == "mlp" else {"name": model}
    cut = {} if limit is None else {"limit": limit}
    tree = {
        "seed": seed, "data": {"source": source, **cut}, "features": features or {}, "model": model,
        "regime": "central", "local": local or {}, "codec": {"name": "plain"},
    }  # fmt: skip
    return plans.parse(tree, where="experiment")


def load_table(plan: plans.Plan) -> data.Table:
    """Load the plan's table: the same rows and the same split as a run of a plan with this seed."""
    return data.load(plan.data, Draws.seeded(plan.seed).at("data"))


def encode_halves(table: data.Table, settings: plans.Features) -> tuple[Rows, Rows]:
    """Encode training and test rows as arrays, as every plan does."""
    fitted = features.fit(table.train, table.columns, settings)
    train = features.encode(table.train, table.columns, settings, fitted)
    return train, features.encode(table.test, table.columns, settings, fitted)


def train_and_measure(train: Rows, test: Rows, plan: plans.Plan) -> Figures:
    """Test metrics after the epoch with the best AUC on a tenth of the training rows.

    Guarantees: test rows decide nothing. Memory holds at most two vectors of the model's size, the
    model and its update: test metrics are taken whenever an epoch is the best so far, so no earlier
    model is needed.

    Training ends after `local.epochs` (30 if unset), or after 3 epochs in a row without
    improvement. The optimiser keeps its state between epochs.
    """
    draws = Draws.seeded(plan.seed).at("central")
    order = draws.at("validation").generator().permutation(len(train))
    held = max(1, round(len(train) * VALIDATION_SHARE))
    validation, rest = train.take(np.sort(order[:held])), train.take(np.sort(order[held:]))
    everyone = Clients(order=np.arange(len(rest)), starts=np.array([0, len(rest)]))
    learner = training.build(plan.model, replace(plan.local, epochs=1, steps=None), rest, everyone)
    assert isinstance(learner, CompiledLearner), (
        "central experiments use nets that train without PyTorch"
    )
    model, worker = learner.initial(draws.at("initial")), learner.worker()
    one = ClientSlot(0, 0, ClientRandomness(draws, 0))
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
