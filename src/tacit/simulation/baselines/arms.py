"""The arms of a run: the plan itself, and the baselines it is compared with, each as a plan of its
own.
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

import numpy as np

from tacit.plan import Audit, Local, Plain, Plan, Private, Worded
from tacit.plan.plan import Baseline
from tacit.rows import Clients
from tacit.runs.record import RUN
from tacit.simulation.baselines import own_baselines
from tacit.training.schedule import DEFAULT_BATCH


def list_arms(plan: Plan) -> dict[str, Plan]:
    """The arms by name, in the order they run. Baselines share seed, data and clients with the run."""
    return {RUN: plan, **{name: _baseline(plan, name) for name in plan.baselines}}


def _baseline(plan: Plan, name: Baseline) -> Plan:
    open_plan = _remove_protection(plan)
    match name:
        case "noiseless":
            return replace(
                open_plan,
                codec=Plain(clip_l2=_norm_bound(plan)),
                server=replace(open_plan.server, soften=0.0),
            )
        case "same_features":
            central = _baseline(plan, "central")
            return replace(central, features=plan.features, model=plan.model)
        case "fedavg":
            shared = _share_all_parameters(open_plan)
            return (
                own_baselines.fedavg_plan(shared)
                if plan.gives_baselines_own_settings
                else _use_plain_mean(shared)
            )
        case "central":
            return (
                own_baselines.central_plan(open_plan)
                if plan.gives_baselines_own_settings
                else _remove_rounds(open_plan, name)
            )
        case "local_only":
            return _remove_rounds(open_plan, name)
        case _:
            assert_never(name)


def _remove_protection(plan: Plan) -> Plan:
    """The plan without any protection. The same clients take part in each round."""
    ledger = replace(plan.ledger, epsilon=None)
    return replace(
        plan,
        privacy=None,
        codec=Plain(),
        secure_aggregation=None,
        filter=None,
        ledger=ledger,
        audit=Audit(),
        baselines=(),
        baseline_settings="plan",
    )


def _share_all_parameters(plan: Plan) -> Plan:
    """The plan without private parameters, as in FedAvg. Word vectors that a plan keeps stay: the
    clients have no common list of words.
    """
    if not plan.private.parameters or isinstance(plan.model, Worded):
        return plan
    server = replace(plan.server, test_rows=None, test_clients=None)
    return replace(plan, private=Private(), server=server)


def _norm_bound(plan: Plan) -> float | None:
    """The L2 norm to which a plan clips updates; None if it does not clip them, or clips each
    parameter separately.
    """
    return getattr(plan.codec, "clip", None) if getattr(plan.codec, "unit", "") == "run" else None


def _use_plain_mean(plan: Plan) -> Plan:
    """The plan with a plain mean of updates and its own learning rates."""
    server = replace(
        plan.server, rule="mean", rule_settings={}, mix=False, assumed_bad=None, bound=None
    )
    return replace(plan, local=replace(plan.local, method="fedavg", proximal=0.0), server=server)


def _remove_rounds(plan: Plan, regime: own_baselines.Alone) -> Plan:
    """The plan as one model trained step by step: nothing is averaged, so the server takes no step
    of its own.
    """
    averaged = _use_plain_mean(plan)
    server = replace(averaged.server, optimizer="sgd", lr=1.0, soften=0.0)
    return replace(
        averaged,
        regime=regime,
        local=replace(averaged.local, normalise=False, row_scale="mean"),
        server=server,
    )


def pooled(clients: Clients) -> Clients:
    """One client that has all rows, for central training."""
    return Clients(order=clients.order, starts=np.array([0, len(clients.order)]))


def central_settings(local: Local, clients: Clients) -> Local:
    """Local settings for pooled rows: one pass per round, in batches of the size a client would
    have used, or larger.

    Clients with very few rows would cause very many steps, so a batch has at least the default
    number of rows.
    """
    rows = max(1, len(clients.order) // max(1, len(clients)))
    batch = (
        max(DEFAULT_BATCH, rows // local.batches) if local.batches else local.batch or DEFAULT_BATCH
    )
    return replace(local, batches=None, batch=batch, steps=None, epochs=1)


def local_only_settings(plan: Plan, clients: int) -> Local:
    """Local settings for a client that never shares: as many local passes as in the run."""
    share = 1.0 if plan.server.cohort_size is None else min(1.0, plan.server.cohort_size / clients)
    turns = max(1, round(plan.server.rounds * share))
    if plan.local.steps:
        return replace(plan.local, steps=plan.local.steps * turns)
    return replace(plan.local, epochs=(plan.local.epochs or 1) * turns)
