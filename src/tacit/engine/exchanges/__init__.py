"""Everything that may cross between a server and its clients, one file each; here is which of them a plan implies."""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from tacit.claim import Claim
from tacit.codec import Codec
from tacit.codec import head as heads_codec
from tacit.codec import summed_votes as summed_codec
from tacit.engine.exchanges.follow_up import FollowUp
from tacit.engine.exchanges.heads import Heads
from tacit.engine.exchanges.helper_sums import HelperSums
from tacit.engine.exchanges.secure_train import SecureTrain
from tacit.engine.exchanges.sharing import Sharing
from tacit.engine.exchanges.summed_votes import SummedVotes
from tacit.engine.exchanges.train import Train
from tacit.engine.exchanges.votes import Votes
from tacit.engine.exchanges.votes import claim as votes_claim
from tacit.engine.round import Exchange
from tacit.local import HeadPlace
from tacit.plan import Filter, Plan

__all__ = ["FollowUp", "Heads", "HelperSums", "SecureTrain", "SummedVotes", "Train", "Votes", "exchanges_of", "filter_claims"]


Sharings = Callable[[str, Codec, int], Sharing]
"""Says how messages of an exchange, by its name, its codec and their dimension, are split between server and helpers."""


def exchanges_of(
    plan: Plan, train: Train, arm: str = "run", head: HeadPlace | None = None, clients: int = 0, sharing: Sharings | None = None
) -> tuple[Exchange, ...]:
    """Return the exchanges of one round, in order: votes if clients vote, the update, and what the codec or helpers are asked.

    `sharing` says how votes are split, if they are added up in a secure sum.
    """
    after: tuple[Exchange, ...] = tuple(FollowUp(train, number) for number in range(len(train.agreement.codec.phases)))
    if isinstance(train, SecureTrain):
        after = (HelperSums(train, arm),)
    if plan.filter is None or head is None:
        return (train, *after)
    heads = Heads(train, plan.filter, head)
    votes: tuple[Exchange, ...] = (Votes(heads, clients, arm),)
    if plan.filter.votes_epsilon is not None and sharing is not None:
        made = summed_codec.make(plan.filter, clients, plan.helpers)
        shared = SummedVotes(heads, clients, arm, made, sharing(SummedVotes.name, made, clients))
        votes = (shared, HelperSums(shared, arm))
    match plan.filter.aggregate:
        case "heads":
            return (heads, *votes)
        case "updates":
            return (heads, *votes, train, *after)
        case _:
            assert_never(plan.filter.aggregate)


def filter_claims(settings: Filter, clients: int, helpers: int = 0) -> tuple[Claim, ...]:
    """Return what a client's last layer and its votes cost in a round with so many clients."""
    if settings.votes_epsilon is not None:
        return heads_codec.claim(settings), *summed_codec.make(settings, clients, helpers).claims(clients, clients)
    return heads_codec.claim(settings), votes_claim(settings, clients)
