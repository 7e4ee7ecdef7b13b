"""Everything that may cross between a server and its clients, one file each; here is which of them a plan implies."""

from __future__ import annotations

from tacit.engine.exchanges.follow_up import FollowUp
from tacit.engine.exchanges.train import Train
from tacit.engine.round import Exchange
from tacit.plan import Plan

__all__ = ["FollowUp", "Train", "exchanges_of"]


def exchanges_of(plan: Plan, train: Train) -> tuple[Exchange, ...]:
    """Return the exchanges of one round, in order: the update, and whatever the plan's codec asks after it."""
    return (train, *(FollowUp(train, number) for number in range(len(train.agreement.codec.phases))))
