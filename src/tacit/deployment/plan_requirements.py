"""What a plan requires from a data owner: its facts, its hash, and the privacy loss of its codec
and votes.
"""

from __future__ import annotations

from dataclasses import replace

from tacit import data, training
from tacit.deployment.agenda import count_measured_rounds
from tacit.deployment.deployable_plan import remove_simulation_settings
from tacit.deployment.site.measures import build_measure_claims
from tacit.extensions import Reference
from tacit.plan import Columns, Plan
from tacit.privacy.policy import Policy, Requirements, derive_requirements
from tacit.protocol.round_claims import build_codec, list_round_claims
from tacit.runs.fingerprint import fingerprint_plan
from tacit.statistics import build_layout

_SIZES = (100_000, 200_000)
"""Numbers of parameters that are tried where a plan leaves its own to the data."""
_HEADER_BYTES = 1_000


def compute_requirements(
    plan: Plan,
    *,
    parameters: int | None = None,
    clients: int | None = None,
    columns: Columns | None = None,
    policy: Policy | None = None,
    allow_code: bool = False,
) -> Requirements:
    """What a plan requires from a data owner, with lower bounds on the work it causes; no data is
    read.

    With the owner's `policy`, measures on held-out rows are counted too, at the epsilon the policy
    sets; a simulation has none. A codec of the plan's own is imported only with `allow_code`;
    without it the privacy loss is unknown.
    """
    roles = columns or data.resolve_columns(plan.data, import_code=False)
    if isinstance(plan.codec.name, Reference) and not allow_code:
        asked = derive_requirements(plan, _digest(plan), None, columns=roles)
    else:
        asked = _facts(plan, parameters, clients, roles, policy)
    few_inputs = (
        plan.features.buckets
        if plan.data.columns.text and plan.features.word_form not in (None, "listed")
        else 1
    )
    size = parameters or (
        build_layout(plan.statistics).size
        if plan.statistics
        else training.parameter_floor(plan.model, few_inputs, classes=2)
    )
    return replace(asked, parameters=size, local_steps=count_local_steps(plan, rows=1))


def count_local_steps(plan: Plan, rows: int) -> int:
    """Optimiser steps of a client with `rows` rows in one round, on the model and on the head it is
    judged by.
    """
    return training.local_steps(plan.local, rows) + (plan.filter.epochs if plan.filter else 0)


def _facts(
    plan: Plan,
    parameters: int | None,
    clients: int | None,
    roles: Columns,
    policy: Policy | None,
) -> Requirements:
    """What a plan requires, except for the work it causes.

    Without `parameters`, an epsilon that grows with the number of parameters is unknown, and so is
    the size of a message. `roles` are those of the columns at the site, or those that the plan or
    the named data set states.
    """
    digest = _digest(plan)
    if plan.regime != "federated":
        return derive_requirements(plan, digest, (), columns=roles)

    def found(size: int, sent: int | None = None) -> Requirements:
        claims = list_round_claims(plan, size, clients)
        measured = (
            (build_measure_claims(plan, policy, claims), count_measured_rounds(plan))
            if policy
            else ((), 0)
        )
        return derive_requirements(
            plan, digest, claims, columns=roles, message_bytes=sent, measured=measured
        )

    if parameters is None and plan.statistics is not None:
        parameters = build_layout(plan.statistics).size
    if parameters is not None:
        return found(
            parameters, build_codec(plan, clients).payload_size(parameters) + _HEADER_BYTES
        )
    few, many = (found(size) for size in _SIZES)
    if _grown(few, many):
        unknown = derive_requirements(plan, digest, None, columns=roles)
        return replace(unknown, measures=many.measures, trusts_server=many.trusts_server)
    return many


def _digest(plan: Plan) -> str:
    return fingerprint_plan(remove_simulation_settings(plan))


def _grown(few: Requirements, many: Requirements) -> bool:
    """Whether twice the parameters have a noticeably larger epsilon."""
    before, after = few.epsilon_per_update, many.epsilon_per_update
    return before is not None and after is not None and after > 1.01 * before
