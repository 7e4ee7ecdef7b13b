"""[secure_aggregation]: sums of updates without any party seeing a single update."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from annotated_types import Ge, Le
from pydantic.dataclasses import dataclass

from tacit.plan.codec import Codec
from tacit.plan.kinds import STRICT, Count, tables_in

if TYPE_CHECKING:
    from tacit.plan.plan import Plan


@dataclass(frozen=True, kw_only=True, config=STRICT)
class SecureAggregation:
    """Secure aggregation: the server and helpers compute the sum of updates together, and none of
    them sees a single update ([secure-aggregation.md](concepts/secure-aggregation.md)).
    """

    helpers: Annotated[int, Ge(1), Le(3)] = 1
    """Number of helpers in addition to the server. Single updates stay hidden unless the server and
    all helpers collude. With two or more, no helper can remove all noise from a sum.
    """
    min_clients: Count = 10
    """Minimum number of clients in a sum. A round with fewer responses is lost: the model stays
    unchanged.
    """
    post_quantum: bool = False
    """Seal seeds with both ML-KEM-768 and X25519, which adds 1,088 bytes per message and helper."""


def problems(plan: Plan) -> list[str]:
    """List settings that contradict secure aggregation, one sentence each."""
    chosen, found = plan.secure_aggregation, list[str]()
    if chosen is None:
        return found
    if plan.regime != "federated":
        return [
            f"[secure_aggregation] cannot be used with regime = {plan.regime!r}, which sends no"
            " updates; remove the table"
        ]
    found += _few_clients(plan, chosen.min_clients)
    if plan.filter is not None and plan.filter.aggregate == "heads":
        if plan.filter.votes_epsilon is None:
            found.append(
                "[secure_aggregation] cannot be used with filter.aggregate = 'heads', which sends no"
                " updates; use 'updates', or sum votes (filter.votes_epsilon)"
            )
        return found
    if not getattr(plan.codec, "adds_up", False):
        fit = [name for name, table in tables_in(Codec).items() if getattr(table, "adds_up", False)]
        found.append(
            "[secure_aggregation] requires a codec whose messages are integers that can be added"
            f" ({', '.join(fit)}); got codec.name = {plan.codec.name!r}"
        )
    if plan.server.one_by_one:
        found.append(
            "server.rule must be 'mean' without mix under [secure_aggregation], where no party sees"
            f" a single update; got {plan.server.rule!r}"
        )
    if plan.server.weights != "equal":
        found.append(
            "server.weights must be 'equal' under [secure_aggregation], got"
            f" {plan.server.weights!r}"
        )
    if plan.server.sum_at == "site":
        found.append(
            "server.sum_at must be 'server' under [secure_aggregation], where each client shares"
            " its own update; got 'site'"
        )
    return found


def _few_clients(plan: Plan, least: int) -> list[str]:
    cohort = plan.server.cohort_size or (
        plan.data.clients if plan.data.partition != "client" else None
    )
    if cohort is None or cohort >= least:
        return []
    return [
        f"secure_aggregation.min_clients must be at most the {cohort:,} clients of a round, got"
        f" {least:,}; sample more clients, or lower it"
    ]
