"""What HashComb's cells are made of: plans over its rows, scikit-learn beside them, and counts that need no training."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tacit import engine, local, record
from tacit import plan as plans
from tacit.draws import Draws
from tacit.engine.run_folder import RECORD
from tacit.engine.simulated_data import prepare
from tacit.levels import Selection, head_chance
from tacit.papers.hashcomb.halves import HALF, LABEL, Kind, halves, inputs_of, positives, seen
from tacit.papers.published import Figures
from tacit.papers.runs import figures_of
from tacit.seat import Own, Seat
from tacit.server.measure import measure

Tree = dict[str, Any]


def federated(rows: Kind, name: str, plan: Tree, seed: int) -> Figures:
    """Return the figures of a plan over a set, round by round; the last ones also say which round was best.

    `gap` is how much better the last model does on the clients' own rows than on the test rows.
    """
    job, table = parsed(rows, name, plan, seed)
    with tempfile.TemporaryDirectory() as root:
        folder = engine.start(job, Path(root), None, table)
        found = figures_of(list(record.read(folder / RECORD)))
    share = positives(table)
    for metrics in found.values():
        metrics |= both_classes(metrics["accuracy"], metrics["f1"], share)
    best = max((number for number in found if number != "last"), key=lambda number: found[number]["f1_weighted"])
    last = found["last"]
    last |= {"best_f1_weighted": found[best]["f1_weighted"], "best_round": float(best)}
    last["gap"] = last["train_accuracy"] - last["accuracy"]
    return found


def private(rows: Kind, name: str, plan: Tree, clips: list[float], seed: int) -> Figures:
    """Return the figures of a plan with the clip that did best on a fifth of the training rows; test rows decide nothing."""

    def on_validation(clip: float) -> float:
        tree = _clipped(plan, clip)
        return federated(rows, name, {**tree, "data": {**tree["data"], "validation": 0.2}}, seed)["last"]["accuracy"]

    best = max(clips, key=on_validation)
    found = federated(rows, name, _clipped(plan, best), seed)
    found["last"]["clip"] = best
    return found


def _clipped(plan: Tree, clip: float) -> Tree:
    return {**plan, "codec": {**plan["codec"], "clip": clip}}


def first_weights(rows: Kind, name: str, plan: Tree, seed: int) -> Figures:
    """Return the least and the greatest weight of any client after round one of a plan: what a range is negotiated from."""
    job, table = parsed(rows, name, plan, seed)
    ground = prepare(job, Draws.seeded(seed), table)
    learner = local.build(job.model, job.local, ground.train, ground.clients)
    first, worker = learner.initial(Draws.seeded(seed).at("initial")), learner.worker()
    seats = [Seat(client, client, Own(Draws.seeded(seed), client)) for client in range(len(ground.clients))]
    nets = np.stack([first + worker.train(first, seat, seat.own.train(1)).row for seat in seats])
    return {"last": {"least": float(nets.min()), "greatest": float(nets.max()), "largest": float(np.abs(nets).max())}}


def parsed(rows: Kind, name: str, plan: Tree, seed: int) -> tuple[plans.Plan, pl.DataFrame]:
    """Return a plan over a set, and the set's rows."""
    table = halves(rows, name)
    columns = {"label": LABEL, "numeric": inputs_of(table), "split": HALF}
    tree = {**plan, "seed": seed, "data": {**plan["data"], "source": plans.GIVEN, "columns": columns}}
    return plans.parse(tree), table


def both_classes(accuracy: float, f1: float, positive: float) -> dict[str, float]:
    """Return the F1 of both classes, as a plain mean and weighted by their share, from the accuracy and the F1 of label 1.

    Of all rows a share e = 1 - accuracy is wrong; 2 TP / (2 TP + e) is the one F1, and 2 TN / (2 TN + e) the other.
    """
    wrong = 1 - accuracy
    true_positive = accuracy if wrong == 0 else f1 * wrong / (2 * (1 - f1))
    true_negative = accuracy - true_positive
    other = 1.0 if wrong == 0 else 2 * true_negative / (2 * true_negative + wrong)
    return {"f1_macro": (f1 + other) / 2, "f1_weighted": positive * f1 + (1 - positive) * other}


def scikit_learn(rows: Kind, name: str, hidden: list[int], lr: float, epochs: int, limit: int | None, seed: int) -> Figures:
    """Return the figures of scikit-learn's MLPClassifier: one batch of all rows, no momentum, no regularisation.

    Equal rows are given once, with how often they stand there as their weight.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPClassifier

    table = halves(rows, name)
    inputs = inputs_of(table)
    train, test = (table.filter(pl.col(HALF) == half).drop(HALF) for half in ("train", "test"))
    train = train.head(limit) if limit else train
    distinct = train.group_by(train.columns, maintain_order=True).len("times")
    model = MLPClassifier(
        hidden_layer_sizes=tuple(hidden), activation="relu", solver="sgd", alpha=0.0, batch_size=distinct.height,
        learning_rate_init=lr, max_iter=epochs, shuffle=False, random_state=seed, tol=0.0, momentum=0.0,
        nesterovs_momentum=False, n_iter_no_change=epochs,
    )  # fmt: skip
    features = distinct.select(inputs).to_numpy().astype(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it is meant to stop after these epochs
        model.fit(features, distinct[LABEL].to_numpy(), sample_weight=distinct["times"].to_numpy().astype(np.float32))
    share = model.predict_proba(test.select(inputs).to_numpy().astype(np.float32))[:, 1]
    logit = np.log(np.clip(share, 1e-12, 1.0)) - np.log(np.clip(1.0 - share, 1e-12, 1.0))
    found = measure(logit[:, None].astype(np.float32), test[LABEL].to_numpy().astype(np.int32))
    return {"last": {**found, **both_classes(found["accuracy"], found["f1"], positives(table))}}


def facts(rows: Kind, name: str) -> Figures:
    """Return how many rows a set has on both sides, how many are distinct, and how many test rows training has seen."""
    table = halves(rows, name)
    train = table.filter(pl.col(HALF) == "train").drop(HALF)
    return {
        "last": {
            "train": float(train.height), "test": float(table.height - train.height), "distinct": float(train.unique().height),
            "train_ones": float((train[LABEL] == 1).sum()), "seen": seen(table),
        }
    }  # fmt: skip


def chance(selection: Selection, levels: int) -> Figures:
    """Return the chance of a head at which the expected level is 8: Figure 2."""
    return {"last": {"p": head_chance(selection, levels, 8.0)}}
