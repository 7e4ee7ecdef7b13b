"""What pure losses would cost if a round's messages were shuffled before anybody saw them: a
calculator, not a promise.

Nothing in Tacit shuffles. Whoever has a shuffler can read here what it would be worth, for clients
that each send one whole message with a pure epsilon of its own. All bits of a message count
together; a shuffler of single bits is another thing.

What one round tells is in `shuffle_laws.py`: by the epsilon alone, and by the law of a vector that
leans, where that is known. Both hold, so the smaller one counts. Rounds are composed numerically,
rounding to the safe side. One client's rows are replaced.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tacit.errors import BudgetError
from tacit.privacy.accounting.distribution import discretise
from tacit.privacy.accounting.shuffle_laws import (
    LossDistribution,
    bound_by_blanket,
    bound_by_epsilon,
)
from tacit.privacy.claim import BiasedVector
from tacit.privacy.ledger.account import Account, compute_totals, list_claims
from tacit.privacy.statement.prose import format_bound, format_unit

_STEPS = 4000
"""Losses are taken on a grid."""
_NO_GAIN = 30.0
"""Beyond this epsilon per message nobody is hidden by others, however many there are."""


def compute_shuffled_epsilon(
    epsilon: float, clients: int, rounds: int, delta: float, law: BiasedVector | None = None
) -> float:
    """Return an epsilon per run at `delta`, if each of `clients` sends one message of a pure
    epsilon per round, shuffled.

    Never more than without a shuffler, by pure losses that add up; nor, with a `law` of the
    messages, than without knowing it.
    """
    apart = rounds * epsilon
    if epsilon > _NO_GAIN or clients < 2:
        return apart
    found = _compose(bound_by_epsilon(epsilon, clients), rounds, delta)
    if law is not None and (own := bound_by_blanket(law, clients)) is not None:
        # What is drawn may be off its law by e^slack, on both sides of a ratio and in each round.
        off = rounds * law.slack
        found = min(found, _compose(own, rounds, delta * math.exp(-off)) + 2 * off)
    return min(apart, found)


def _compose(one_round: LossDistribution, rounds: int, delta: float) -> float:
    """Return the epsilon of so many rounds at delta."""
    losses, chances, failing = one_round
    if failing * rounds >= delta:
        return math.inf
    step = max(float(np.abs(losses).max()) / _STEPS, 1e-7)
    order = np.argsort(losses, kind="stable")
    one = discretise(losses[order], chances[order], step, failing)
    return float(one.self_compose(rounds).get_epsilon_for_delta(delta)) * (1 + 1e-9)


@dataclass(frozen=True, kw_only=True)
class ShuffleEstimate:
    """What a shuffler would be worth: epsilon per update as it was sent, and per run with and
    without one, at delta.
    """

    clients: int
    rounds: int
    update_epsilon: float
    run_epsilon: float
    shuffled_epsilon: float
    delta: float
    leans: bool = False

    @property
    def sentence(self) -> str:
        """Return it in words, and that nothing here shuffles."""
        rounds = "1 round" if self.rounds == 1 else f"{self.rounds:,} rounds"
        return (
            f"If a shuffler mixed the messages of {self.clients:,} clients in each round before"
            f" anybody saw them, epsilon would be at most {format_bound(self.shuffled_epsilon)}"
            f" {format_unit(f'run of {rounds}', self.delta)}, and not {format_bound(self.run_epsilon)} (each"
            f" message {format_bound(self.update_epsilon)} per update; numerical, if you replace all rows"
            " of one"
            f" client{'; all messages of a round would have to speak of the same coordinates' if self.leans else ''})."
            " Nothing in this run shuffles: the server sees who sent what, and the figures of the"
            " run are those above."
        )


def estimate_shuffling(account: Account, clients: int, delta: float) -> ShuffleEstimate:
    """Return what a shuffler of so many messages a round would be worth; raise BudgetError where
    the bound does not hold.

    It holds for one message of a pure epsilon per client and round, randomised by the client
    itself.
    """
    stated = compute_totals(account, delta)
    update = next(
        (total.epsilon for total in stated if total.unit == "update" and not total.delta), None
    )
    claims = list_claims(account)
    if (
        update is None
        or len(account.payments) != 1
        or {claim.view for claim in claims} != {"server"}
    ):
        said = ", ".join(claim.mechanism for claim in claims) or "nothing"
        raise BudgetError(
            f"a shuffle bound needs one message of a pure epsilon per client and round, got {said};"
            " use rr, rr_sampled or projunit"
        )
    rounds, event = account.payments[0].times, claims[0].event
    law = event if isinstance(event, BiasedVector) and len(claims) == 1 else None
    return ShuffleEstimate(
        clients=clients,
        rounds=rounds,
        update_epsilon=update,
        run_epsilon=min(
            total.epsilon for total in stated if total.unit == "run" and total.epsilon is not None
        ),
        shuffled_epsilon=compute_shuffled_epsilon(update, clients, rounds, delta, law),
        delta=delta,
        leans=law is not None,
    )
