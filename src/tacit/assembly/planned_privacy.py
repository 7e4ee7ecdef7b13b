"""The privacy guarantee of a plan in words, before any data is read."""

from __future__ import annotations

from tacit import codecs
from tacit.plan import Filter, OwnCodec, Plan, SecureAggregation
from tacit.privacy.claim import Claim
from tacit.privacy.statement import prose, prose_rows
from tacit.privacy.statement.parts import state_planned_parts
from tacit.protocol.round_claims import list_filter_claims


def describe_helpers(settings: SecureAggregation) -> str:
    """Which parties compute the sum, and when no party sees a single update."""
    helpers = "a helper" if settings.helpers == 1 else f"{settings.helpers} helpers"
    all_helpers = "its helper" if settings.helpers == 1 else "all its helpers"
    return (
        f"secure aggregation by the server and {helpers}, over at least {settings.min_clients:,}"
        f" clients; no party sees a single update unless the server and {all_helpers} collude"
    )


def describe_planned_votes(plan: Plan, settings: Filter) -> str:
    """Privacy loss of a round's last layers and of its votes, separately."""

    cohort = plan.server.cohort_size or plan.data.clients
    return state_planned_parts(
        list_filter_claims(settings, cohort, plan.helpers),
        settings.count_votes(plan.server.rounds),
        plan.delta,
        settings.aggregate,
    )


def describe_planned_privacy(plan: Plan) -> str:
    """State the guarantee of a plan before any data is read."""

    if plan.regime != "federated":
        return (
            prose.KEPT
            if plan.regime == "local_only"
            else prose_rows.describe_planned_pool(plan.features)
        )
    if plan.filter and plan.filter.aggregate == "heads":
        return prose.ONLY_HEADS
    if isinstance(plan.codec, OwnCodec):
        return (
            "not known: the plan names a user-defined codec, and `tacit check` runs no code named"
            " by a plan; a run checks its settings before it reads data and states its privacy"
        )
    extent = codecs.Extent.of(plan, plan.data.clients)
    made, at_site = codecs.build(plan.codec, extent), plan.server.sum_at == "site"

    def list_claims(size: int) -> tuple[Claim, ...]:
        claims = made.claims(size, extent.cohort)
        return tuple(claim.add_at_site() for claim in claims) if at_site else claims

    return prose.write_planned(list_claims, extent.rounds, plan.delta)
