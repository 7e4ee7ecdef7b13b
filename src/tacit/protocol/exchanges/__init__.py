"""Everything that may cross between a server and its clients, one file each; here is which of them
a plan implies.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from tacit.codecs import Codec
from tacit.codecs.votes import head as heads_codec
from tacit.codecs.votes import summed_votes as summed_codec
from tacit.plan import Filter, Plan
from tacit.privacy.claim import Claim
from tacit.protocol.exchanges.heads import Heads
from tacit.protocol.exchanges.helper_sums import HelperSums
from tacit.protocol.exchanges.secure_train import SecureTrain
from tacit.protocol.exchanges.sharing import Sharing
from tacit.protocol.exchanges.summed_votes import SummedVotes
from tacit.protocol.exchanges.train import Train
from tacit.protocol.exchanges.votes import Votes
from tacit.protocol.exchanges.votes import claim as votes_claim
from tacit.protocol.round import Exchange
from tacit.training import HeadPlace

__all__ = [
    "Heads",
    "HelperSums",
    "SecureTrain",
    "SummedVotes",
    "Train",
    "Votes",
    "exchanges_of",
    "filter_claims",
]


Sharings = Callable[[str, Codec, int], Sharing]
"""Says how messages of an exchange, by its name, its codec and their dimension, are split between
server and helpers.
"""


def exchanges_of(
    plan: Plan,
    train: Train,
    arm: str = "run",
    head: HeadPlace | None = None,
    clients: int = 0,
    sharing: Sharings | None = None,
) -> tuple[Exchange, ...]:
    """The exchanges of one round, in order: votes if clients vote, the update, and what helpers
    are asked.

    `sharing` says how votes are split, if they are added up in a secure sum.
    """
    after: tuple[Exchange, ...] = (
        (HelperSums(train, arm),) if isinstance(train, SecureTrain) else ()
    )
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
        return heads_codec.claim(settings), *summed_codec.make(settings, clients, helpers).claims(
            clients, clients
        )
    return heads_codec.claim(settings), votes_claim(settings, clients)
