"""The exchanges of a round, from a plan: training, and what optional features attach to it.

Votes and secure aggregation are imported only if the plan asks for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never, cast

from tacit.assembly.agreement import RunFacts
from tacit.errors import PlanError
from tacit.plan import Plan
from tacit.protocol.agreement import Agreement
from tacit.protocol.exchanges.train import (
    Judge,
    MadeUpClients,
    Member,
    Train,
    UpdateExchange,
    nobody,
)
from tacit.protocol.round import Exchange
from tacit.randomness import Draws
from tacit.training import HeadedLearner, LastPart, Learner, PartPlace


@dataclass(frozen=True, kw_only=True)
class ServerParts:
    """What the server adds to a round's sum: rows of its own, a judge of updates, canaries."""

    member: Member = nobody
    judge: Judge | None = None
    canaries: MadeUpClients | None = None


_NO_PARTS = ServerParts()


def build_train(
    plan: Plan,
    facts: RunFacts,
    agreement: Agreement,
    draws: Draws,
    parts: ServerParts = _NO_PARTS,
) -> UpdateExchange:
    """Build the training exchange; `draws` are those of the side that builds it."""
    if plan.secure_aggregation is not None and agreement.codec.integers is not None:
        from tacit.assembly.secure_sums import build_sharing
        from tacit.protocol.exchanges.secure_train import SecureTrain

        sharing = build_sharing(plan, facts, agreement, Train.name, agreement.codec, agreement.dim)
        return SecureTrain(agreement, draws, sharing, parts.member)
    return Train(agreement, draws, parts.member, parts.judge, parts.canaries)


def build_exchanges(
    plan: Plan, facts: RunFacts, train: UpdateExchange, learner: Learner | None = None
) -> tuple[Exchange, ...]:
    """List the exchanges of one round in order: votes if clients vote, the update, helper sums.

    Only votes need the learner. Raise PlanError if its model lacks the layers that they are on.
    """
    last: tuple[Exchange, ...] = (train, *_attach_helper_sums(plan, facts, train))
    if plan.filter is None:
        return last
    assert learner is not None
    part = _find_last_part(plan, plan.filter.layers, cast(HeadedLearner, learner))
    votes = _build_votes(plan, facts, train, part)
    match plan.filter.aggregate:
        case "heads":
            return votes
        case "updates":
            return (*votes, *last)
        case _:
            assert_never(plan.filter.aggregate)


def _find_last_part(plan: Plan, layers: int, learner: HeadedLearner) -> LastPart:
    """The last layers of the model, on which clients vote."""
    if layers == 1 and learner.head is not None:
        return learner.head
    if not learner.parts:
        raise PlanError(
            f"filter: the last layer of model.name = {plan.model.name!r} stays with each client, so"
            " nobody else can evaluate it; share it, or remove [filter]"
        )
    if layers > len(learner.parts):
        raise PlanError(
            f"filter.layers must be at most {len(learner.parts)}, the number of last layers of"
            f" model.name = {plan.model.name!r} that can be trained separately, got {layers}"
        )
    size = sum(learner.parts[-layers:])
    return PartPlace(learner.size - size, size)


def _attach_helper_sums(plan: Plan, facts: RunFacts, train: UpdateExchange) -> tuple[Exchange, ...]:
    if plan.secure_aggregation is None:
        return ()
    from tacit.protocol.exchanges.helper_sums import HelperSums
    from tacit.protocol.exchanges.secure_train import SecureTrain

    return (HelperSums(train, facts.arm),) if isinstance(train, SecureTrain) else ()


def _build_votes(
    plan: Plan, facts: RunFacts, train: UpdateExchange, part: LastPart
) -> tuple[Exchange, ...]:
    """Build the exchanges of last layers and of votes on them."""
    from tacit.protocol.exchanges.heads import Heads
    from tacit.protocol.exchanges.votes import Votes

    assert plan.filter is not None
    heads = Heads(train, plan.filter, part)
    if plan.filter.votes_epsilon is None or plan.secure_aggregation is None:
        return heads, Votes(heads, facts.clients, facts.arm)
    from tacit.assembly.secure_sums import build_sharing
    from tacit.codecs.votes import summed_votes
    from tacit.protocol.exchanges.helper_sums import HelperSums
    from tacit.protocol.exchanges.summed_votes import SummedVotes

    codec = summed_votes.make(plan.filter, facts.clients, plan.helpers)
    name = SummedVotes.name
    sharing = build_sharing(plan, facts, train.agreement, name, codec, facts.clients)
    votes = SummedVotes(heads, facts.clients, facts.arm, codec, sharing)
    return heads, votes, HelperSums(votes, facts.arm)
