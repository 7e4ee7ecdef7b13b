"""Runs behind HashComb's cells: plans over its rows, scikit-learn for comparison, and counts that
need no training.
"""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tacit import plan as plans
from tacit import simulation, training
from tacit.client import ClientRandomness, ClientSlot
from tacit.quantisation.levels import Selection, find_head_probability
from tacit.randomness import Draws
from tacit.runs import record
from tacit.runs.run_folder import RECORD
from tacit.server.measure import measure
from tacit.simulation.prepared_rows import prepare
from tacit_papers.hashcomb.halves import HALF, LABEL, Kind, halves, inputs_of, positives, seen
from tacit_papers.published import Figures
from tacit_papers.runs import collect_figures

Tree = dict[str, Any]


def federated(rows: Kind, name: str, plan: Tree, seed: int) -> Figures:
    """Metrics of a plan over a data set, round by round; `last` also says which round was best.

    `gap` is the difference between the last model's score on the clients' own rows and on the test
    rows.
    """
    job, table = parse_plan(rows, name, plan, seed)
    with tempfile.TemporaryDirectory() as root:
        folder = simulation.start(job, Path(root), None, table)
        found = collect_figures(list(record.read(folder / RECORD)))
    share = positives(table)
    for metrics in found.values():
        metrics |= combine_f1(metrics["accuracy"], metrics["f1"], share)
    best = max(
        (number for number in found if number != "last"),
        key=lambda number: found[number]["f1_weighted"],
    )
    last = found["last"]
    last |= {"best_f1_weighted": found[best]["f1_weighted"], "best_round": float(best)}
    last["gap"] = last["train_accuracy"] - last["accuracy"]
    return found


def private(rows: Kind, name: str, plan: Tree, clips: list[float], seed: int) -> Figures:
    """Metrics of a plan with the clip that is best on a fifth of the training rows; test rows
    decide nothing.
    """

    def on_validation(clip: float) -> float:
        tree = _set_clip(plan, clip)
        return federated(rows, name, {**tree, "data": {**tree["data"], "validation": 0.2}}, seed)[
            "last"
        ]["accuracy"]

    best = max(clips, key=on_validation)
    found = federated(rows, name, _set_clip(plan, best), seed)
    found["last"]["clip"] = best
    return found


def _set_clip(plan: Tree, clip: float) -> Tree:
    return {**plan, "codec": {**plan["codec"], "clip": clip}}


def first_weights(rows: Kind, name: str, plan: Tree, seed: int) -> Figures:
    """The smallest and largest weight of any client after round one of a plan; a range is
    negotiated from them.
    """
    job, table = parse_plan(rows, name, plan, seed)
    ground = prepare(job, Draws.seeded(seed), table)
    learner = training.build(job.model, job.local, ground.train, ground.clients)
    first, worker = learner.initial(Draws.seeded(seed).at("initial")), learner.worker()
    slots = [
        ClientSlot(client, client, ClientRandomness(Draws.seeded(seed), client))
        for client in range(len(ground.clients))
    ]
    nets = np.stack([first + worker.train(first, slot, slot.own.train(1)).row for slot in slots])
    return {
        "last": {
            "least": float(nets.min()),
            "greatest": float(nets.max()),
            "largest": float(np.abs(nets).max()),
        }
    }


def parse_plan(rows: Kind, name: str, plan: Tree, seed: int) -> tuple[plans.Plan, pl.DataFrame]:
    """The plan over a data set, and its rows."""
    table = halves(rows, name)
    columns = {"label": LABEL, "numeric": inputs_of(table), "split": HALF}
    tree = {
        **plan,
        "seed": seed,
        "data": {**plan["data"], "source": plans.GIVEN, "columns": columns},
    }
    return plans.parse(tree), table


def combine_f1(accuracy: float, f1: float, positive: float) -> dict[str, float]:
    """Macro and weighted F1 of both classes, from the accuracy and the F1 of label 1.

    A share e = 1 - accuracy of all rows is wrong; one F1 is 2 TP / (2 TP + e), the other 2 TN / (2
    TN + e).
    """
    wrong = 1 - accuracy
    true_positive = accuracy if wrong == 0 else f1 * wrong / (2 * (1 - f1))
    true_negative = accuracy - true_positive
    other = 1.0 if wrong == 0 else 2 * true_negative / (2 * true_negative + wrong)
    return {"f1_macro": (f1 + other) / 2, "f1_weighted": positive * f1 + (1 - positive) * other}


def scikit_learn(
    rows: Kind, name: str, hidden: list[int], lr: float, epochs: int, limit: int | None, seed: int
) -> Figures:
    """Metrics of scikit-learn's MLPClassifier: full batch, no momentum, no regularisation.

    Duplicate rows are passed once, weighted by their number.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPClassifier

    table = halves(rows, name)
    inputs = inputs_of(table)
    train, test = (table.filter(pl.col(HALF) == half).drop(HALF) for half in ("train", "test"))
    train = train.head(limit) if limit else train
    distinct = train.group_by(train.columns, maintain_order=True).len("times")
    model = MLPClassifier(
         hidden_layer_sizes=tuple(hidden), activation="relu", solver="sgd", alpha=0.0,
        batch_size=distinct.height, learning_rate_init=lr, max_iter=epochs, shuffle=False,
        random_state=seed, tol=0.0, momentum=0.0, nesterovs_momentum=False,
        n_iter_no_change=epochs,
    )  # fmt: skip
    features = distinct.select(inputs).to_numpy().astype(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", ConvergenceWarning
        )  # it is meant to stop after these epochs
        model.fit(
            features,
            distinct[LABEL].to_numpy(),
            sample_weight=distinct["times"].to_numpy().astype(np.float32),
        )
    share = model.predict_proba(test.select(inputs).to_numpy().astype(np.float32))[:, 1]
    logit = np.log(np.clip(share, 1e-12, 1.0)) - np.log(np.clip(1.0 - share, 1e-12, 1.0))
    found = measure(logit[:, None].astype(np.float32), test[LABEL].to_numpy().astype(np.int32))
    return {"last": {**found, **combine_f1(found["accuracy"], found["f1"], positives(table))}}


def facts(rows: Kind, name: str) -> Figures:
    """The number of rows in both halves, of distinct rows, and of test rows that occur in training."""
    table = halves(rows, name)
    train = table.filter(pl.col(HALF) == "train").drop(HALF)
    return {
         "last": { "train": float(train.height), "test": float(table.height - train.height),
        "distinct": float(train.unique().height), "train_ones": float((train[LABEL] == 1).sum()),
        "seen": seen(table), }
    }  # fmt: skip


def chance(selection: Selection, levels: int) -> Figures:
    """The probability of a head at which the expected level is 8: Figure 2."""
    return {"last": {"p": find_head_probability(selection, levels, 8.0)}}
