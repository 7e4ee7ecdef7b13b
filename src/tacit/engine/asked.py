"""What a plan asks of a data owner: its own facts, its hash, and what its codec and its votes would cost a client."""

from __future__ import annotations

from dataclasses import replace

from tacit import codec, data, local
from tacit.claim import Claim
from tacit.engine.deployed.agenda import count_measured_rounds
from tacit.engine.deployed.measures import claims_of_measure
from tacit.engine.deployed.offered import as_sites_read_it
from tacit.engine.exchanges import filter_claims
from tacit.engine.fingerprint import plan_fingerprint
from tacit.ledger.owner import Asked, Policy, facts_of
from tacit.plan import Columns, Plan

_SIZES = (100_000, 200_000)
"""Numbers of parameters that are tried where a plan leaves its own to the data."""
_HEADER_BYTES = 1_000


def asked_of(
    plan: Plan, *, parameters: int | None = None, clients: int | None = None, columns: Columns | None = None,
    policy: Policy | None = None,
) -> Asked:  # fmt: skip
    """What a plan asks of a data owner, with lower bounds on the work it makes; no data is read.

    With the owner's `policy`, measures on held-out rows are counted too, at the price the policy sets; a simulation has none.
    """
    asked = _facts(plan, parameters, clients, columns, policy)
    few_inputs = plan.features.buckets if plan.data.columns.text and plan.features.text != "listed" else 1
    size = parameters or local.parameter_floor(plan.model, few_inputs, classes=2)
    return replace(asked, parameters=size, local_steps=work_of(plan, rows=1))


def work_of(plan: Plan, rows: int) -> int:
    """Optimiser steps that a client with `rows` rows takes in one round, on the model and on the last layer it is judged by."""
    return local.local_steps(plan.local, rows) + (plan.filter.epochs if plan.filter else 0)


def _facts(plan: Plan, parameters: int | None, clients: int | None, columns: Columns | None, policy: Policy | None) -> Asked:
    """What a plan asks, except for the work it makes.

    Without `parameters`, the number of a model's parameters, an epsilon that grows with it is not known, and neither is the size
    of a message. `columns` are the roles of columns at the site, without which those count that plan and named set say.
    """
    roles, digest = columns or data.columns_of(plan.data), plan_fingerprint(as_sites_read_it(plan))
    if plan.regime != "federated":
        return facts_of(plan, digest, (), columns=roles)

    def found(size: int, sent: int | None = None) -> Asked:
        claims = claims_of(plan, size, clients)
        measured = (claims_of_measure(plan, policy, claims), count_measured_rounds(plan)) if policy else ((), 0)
        return facts_of(plan, digest, claims, columns=roles, message_bytes=sent, measured=measured)

    if parameters is not None:
        return found(parameters, _codec(plan, clients).payload_size(parameters) + _HEADER_BYTES)
    few, many = (found(size) for size in _SIZES)
    if _grown(few, many):
        unknown = facts_of(plan, digest, None, columns=roles)
        return replace(unknown, measures=many.measures, trusts_server=many.trusts_server)
    return many


def claims_of(plan: Plan, parameters: int, clients: int | None = None) -> list[tuple[Claim, ...]]:
    """Return what a client pays in a round, one tuple per exchange."""
    everybody = _clients(plan, clients)
    cohort = plan.server.cohort_size or everybody
    votes: list[tuple[Claim, ...]] = [(claim,) for claim in filter_claims(plan.filter, cohort, plan.helpers)] if plan.filter else []
    if plan.filter and plan.filter.aggregate == "heads":
        return votes
    return [*votes, _codec(plan, clients).claims(parameters, cohort)]


def _codec(plan: Plan, clients: int | None) -> codec.Codec:
    return codec.build(plan.codec, codec.Extent.of(plan, _clients(plan, clients)))


def _clients(plan: Plan, clients: int | None) -> int:
    return clients or (plan.privacy.clients if plan.privacy else None) or plan.data.clients


def _grown(few: Asked, many: Asked) -> bool:
    """Return whether twice the parameters cost noticeably more."""
    before, after = few.epsilon_per_update, many.epsilon_per_update
    return before is not None and after is not None and after > 1.01 * before
