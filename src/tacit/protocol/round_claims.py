"""Claims of a whole round, from a plan and the size of its model."""

from __future__ import annotations

from tacit import codecs
from tacit.plan import Filter, Plan
from tacit.privacy.claim import Claim


def list_round_claims(
    plan: Plan, parameters: int, clients: int | None = None
) -> list[tuple[Claim, ...]]:
    """Collect the claims a client is charged for in a round with all exchanges, one tuple per
    exchange.
    """
    everybody = _count_clients(plan, clients)
    cohort = plan.server.cohort_size or everybody
    votes: list[tuple[Claim, ...]] = (
        [(claim,) for claim in list_filter_claims(plan.filter, cohort, plan.helpers)]
        if plan.filter
        else []
    )
    if plan.filter and plan.filter.aggregate == "heads":
        return votes
    return [*votes, build_codec(plan, clients).claims(parameters, cohort)]


def build_codec(plan: Plan, clients: int | None = None) -> codecs.Codec:
    """Build the plan's codec for a number of clients, or for the plan's own number."""
    return codecs.build(plan.codec, codecs.Extent.of(plan, _count_clients(plan, clients)))


def _count_clients(plan: Plan, clients: int | None) -> int:
    return clients or (plan.privacy.clients if plan.privacy else None) or plan.data.clients


def list_filter_claims(settings: Filter, clients: int, helpers: int = 0) -> tuple[Claim, ...]:
    """Claims of a client's last layer and of its votes, in a round with `clients` clients."""
    from tacit.codecs.votes import head, summed_votes
    from tacit.protocol.exchanges.votes import claim

    if settings.votes_epsilon is None:
        return head.build_head_claim(settings), claim(settings, clients)
    codec = summed_votes.make(settings, clients, helpers)
    return head.build_head_claim(settings), *codec.claims(clients, clients)
