"""The arms of a run: the plan itself, and the baselines it is compared with, each as a plan of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

import numpy as np

from tacit.local.schedule import DEFAULT_BATCH
from tacit.plan import Audit, Local, Plain, Plan
from tacit.plan.plan import Baseline, Regime
from tacit.record import RUN
from tacit.rows import Clients


def arms_of(plan: Plan) -> dict[str, Plan]:
    """Return the arms by name, in the order they run. Baselines share seed, data, cohorts and batches with the run."""
    return {RUN: plan, **{name: _baseline(plan, name) for name in plan.baselines}}


def _baseline(plan: Plan, name: Baseline) -> Plan:
    regime = _regime_of(name)
    server = replace(plan.server, rule="mean", mix=False, assumed_bad=None, bound=None)
    if regime != "federated":  # one model, trained step by step: nothing is averaged that a server could stretch
        server = replace(server, optimizer="sgd", lr=1.0, soften=0.0)
    local = replace(plan.local, method="fedavg", proximal=0.0, normalise=plan.local.normalise and regime == "federated")
    if regime != "federated":  # rows of everybody are no client's
        local = replace(local, row_scale="mean")
    ledger = replace(plan.ledger, epsilon=None)  # a baseline promises nothing; who takes part in a round stays the same
    return replace(
        plan, regime=regime, local=local, codec=Plain(), secure_sum=None, filter=None, server=server, ledger=ledger, audit=Audit()
    )


def _regime_of(name: Baseline) -> Regime:
    match name:
        case "fedavg":
            return "federated"
        case "central" | "local_only":
            return name
        case _:
            assert_never(name)


def pooled(clients: Clients) -> Clients:
    """Return one client that holds every row: central training."""
    return Clients(order=clients.order, starts=np.array([0, len(clients.order)]))


def central_settings(local: Local, clients: Clients) -> Local:
    """Return local settings for the pooled rows: one pass per round, in batches of the size a client would have used, or larger.

    Clients of very few rows would make very many steps of them: a batch has as many rows as it has by default, at least.
    """
    rows = max(1, len(clients.order) // max(1, len(clients)))
    batch = max(DEFAULT_BATCH, rows // local.batches) if local.batches else local.batch or DEFAULT_BATCH
    return replace(local, batches=None, batch=batch, steps=None, epochs=1)


def local_only_settings(plan: Plan, clients: int) -> Local:
    """Return local settings for a client that never shares: as many local passes as it would have had in the run."""
    share = 1.0 if plan.server.cohort_size is None else min(1.0, plan.server.cohort_size / clients)
    turns = max(1, round(plan.server.rounds * share))
    if plan.local.steps:
        return replace(plan.local, steps=plan.local.steps * turns)
    return replace(plan.local, epochs=(plan.local.epochs or 1) * turns)
