"""Settings that suit training without noise: what `central` and `fedavg` have if they do not take
the plan's.

A private plan has few words, updates of one L2 norm and learning rates that follow from epsilon.
All of that is there because of the noise, so a baseline that inherits it moves with epsilon and
says nothing about what privacy costs. These settings are fixed, from a few trials on validation
rows of 20 Newsgroups, SST-2 and Spambase; central training also chooses its learning rate, and its
pass, on rows held out for that (`early_stop.py`).
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
    """Return central training with settings of its own; its learning rate is chosen when the rows
    are there (`choose_rate`).
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
    """Return federated averaging with settings of its own: one gradient per client, weighted by its
    rows, and Adam at the server.

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
    """Return features that leave nothing out: all words of a text, whether or not a list
    has them.
    """
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
    """Return the local settings whose learning rate reaches the lowest loss on the validation rows
    within a few passes.
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
