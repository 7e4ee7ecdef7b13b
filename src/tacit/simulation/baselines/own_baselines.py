"""Settings for training without noise, for `central` and `fedavg` baselines that do not use the
plan's.

A private plan has few words, updates of one L2 norm and learning rates that depend on epsilon, all
because of the noise. A baseline that inherited these settings would change with epsilon and could
not show the accuracy lost to privacy. The settings here are fixed, from a few trials on validation
rows of 20 Newsgroups, SST-2 and Spambase; central training also chooses its learning rate and its
number of passes on held-out validation rows (`early_stop.py`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from tacit import server, training
from tacit.client import ClientRandomness, ClientSlot
from tacit.plan import Features, Local, Logistic, Plan, Server
from tacit.randomness import Draws
from tacit.rows import Rows
from tacit.simulation.baselines.early_stop import give_to_one_client

Alone = Literal["central", "local_only"]
_BUCKETS = 65_536
_RATES = (0.003, 0.01, 0.03, 0.1, 0.3)
_PASSES_TO_CHOOSE, _PASSES = 3, 25
_ROUNDS = 50


def central_plan(plan: Plan) -> Plan:
    """Central training with its own settings; `choose_rate` chooses its learning rate once the rows
    are prepared.
    """
    return replace(
        plan,
        regime="central",
        baseline_settings="own",
        features=_features(plan),
        model=Logistic(start="zero"),
        local=Local(optimizer="adam", lr=_RATES[0], batch=32),
        server=Server(rounds=_PASSES),
    )


def fedavg_plan(plan: Plan) -> Plan:
    """Federated averaging with its own settings: one gradient per client, weighted by its rows, and
    Adam at the server.

    Source: FedAdam, Reddi et al. 2021 (Adaptive Federated Optimization).
    """
    rounds = Server(rounds=_ROUNDS, optimizer="adam", lr=0.5, evaluate_every=10)
    asked = replace(
        rounds, cohort=plan.server.cohort, cohort_size=plan.server.cohort_size, weights="rows"
    )
    gradient = Local(optimizer="sgd", lr=5.0, epochs=1, batches=1)
    return replace(
        plan, features=_features(plan), model=Logistic(start="zero"), local=gradient, server=asked
    )


def _features(plan: Plan) -> Features:
    """Features that omit nothing: all words of a text, whether or not a list has them."""
    asked, columns = plan.features, plan.data.columns
    if (columns.numeric or columns.categorical) and not columns.text:
        return replace(asked, text="binary", list=None, rarity=0.0, row_norm=None, constant=0.0)
    return replace(
        asked,
        text="binary",
        words="unicode",
        base=31,
        stop_words=False,
        buckets=max(_BUCKETS, asked.buckets),
        rarity=0.3 if asked.list else 0.0,
        row_norm=1.0,
        constant=0.0,
    )


def choose_rate(
    plan: Plan, halves: tuple[Rows, Rows], draws: Draws, module: object | None = None
) -> Local:
    """The local settings whose learning rate reaches the lowest validation loss within a few
    passes.
    """
    train, validation = halves
    best, chosen = float("inf"), plan.local
    for rate in _RATES:
        settings = replace(plan.local, lr=rate)
        learner = training.build(plan.model, settings, train, give_to_one_client(train), module)
        worker, slot = learner.worker(), ClientSlot(0, 0, ClientRandomness(draws.at("rate"), 0))
        model = learner.initial(draws.at("initial"))
        for passed in range(1, _PASSES_TO_CHOOSE + 1):
            model = model + worker.train(model, slot, slot.own.train(passed)).row
            loss = server.compute_loss(learner.predict(model, validation.inputs), validation.labels)
            if loss < best:
                best, chosen = loss, settings
    return chosen
