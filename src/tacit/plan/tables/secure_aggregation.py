"""[secure_aggregation]: answers are added up so that nobody sees a single one."""

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
    """Updates are added up by the server and helpers together, so that none of them sees a single
    one ([secure-aggregation.md](secure-aggregation.md)).
    """

    helpers: Annotated[int, Ge(1), Le(3)] = 1
    """How many parties besides the server add up. Single updates stay hidden unless the server and
    all of them work together; with two or more, none of them can take all noise off a sum.
    """
    min_clients: Count = 10
    """Helpers answer for no fewer clients. A round with fewer is lost: the model stays as it is."""
    post_quantum: bool = False
    """Seal seeds with ML-KEM-768 and X25519 together, for 1,088 bytes more per message and helper.
    """


def problems(plan: Plan) -> list[str]:
    """Return a sentence for each combination under which no secure sum can be made."""
    chosen, found = plan.secure_aggregation, list[str]()
    if chosen is None:
        return found
    if plan.regime != "federated":
        return [
            f"secure_aggregation: has no meaning with regime = {plan.regime!r}, in which nobody"
            " sends an"
            " update; remove the table"
        ]
    found += _few_clients(plan, chosen.min_clients)
    if plan.filter is not None and plan.filter.aggregate == "heads":
        if plan.filter.votes_epsilon is None:
            found.append(
                "secure_aggregation: has no meaning with filter.aggregate = 'heads', where no"
                " update is"
                " sent; use 'updates', or have votes added up (filter.votes_epsilon)"
            )
        return found
    if not getattr(plan.codec, "adds_up", False):
        fit = [name for name, table in tables_in(Codec).items() if getattr(table, "adds_up", False)]
        found.append(
            "codec.name: needs messages that add up as whole numbers, since there is"
            f" [secure_aggregation] ({', '.join(fit)}); got {plan.codec.name!r}"
        )
    if plan.server.one_by_one:
        found.append(
            "server.rule: needs 'mean' without mix, since under [secure_aggregation] nobody reads a"
            f" single update; got {plan.server.rule!r}"
        )
    if plan.server.weights != "equal":
        found.append(
            "server.weights: needs 'equal' under [secure_aggregation], whose clients count once;"
            " got"
            f" {plan.server.weights!r}"
        )
    if plan.server.sum_at == "site":
        found.append(
            "server.sum_at: needs 'server' under [secure_aggregation], in which each client"
            " splits its"
            " own update; got 'site'"
        )
    return found


def _few_clients(plan: Plan, least: int) -> list[str]:
    cohort = plan.server.cohort_size or (
        plan.data.clients if plan.data.partition != "client" else None
    )
    if cohort is None or cohort >= least:
        return []
    return [
        f"secure_aggregation.min_clients: needs at most the {cohort:,} clients of a round, got"
        f" {least:,};"
        " ask more clients, or lower it"
    ]
