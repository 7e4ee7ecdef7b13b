"""Privacy amplification by shuffling: the epsilon that a shuffler would give. A calculator, not a
guarantee.

Nothing in Tacit shuffles. The bound is for clients that each send one message per round with a pure
epsilon. All bits of a message count together; it does not cover a shuffler of single bits.

`shuffle_distributions.py` bounds one round in two ways: from epsilon alone, and from the
distribution of a biased vector where that is known. Both hold, so the smaller one counts. Rounds
are composed numerically and pessimistically. Neighbouring relation: replacing one client's rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tacit.errors import BudgetError
from tacit.privacy.accounting.distribution import discretise
from tacit.privacy.accounting.shuffle_distributions import (
    LossDistribution,
    bound_by_blanket,
    bound_by_epsilon,
)
from tacit.privacy.claim import BiasedVector
from tacit.privacy.ledger.account import Account, compute_totals, list_claims
from tacit.privacy.statement.prose import format_bound, format_unit

_STEPS = 4000
"""Grid points for the losses of one round."""
_NO_GAIN = 30.0
"""Above this epsilon per message, no number of other clients hides anybody."""


def compute_shuffled_epsilon(
    epsilon: float, clients: int, rounds: int, delta: float, vector: BiasedVector | None = None
) -> float:
    """Epsilon per run at `delta` if each of `clients` sends one shuffled message with a pure
    epsilon per round.

    Never more than basic composition without a shuffler. With `vector`, the distribution of the
    messages, never more than without it.
    """
    apart = rounds * epsilon
    if epsilon > _NO_GAIN or clients < 2:
        return apart
    found = _compose(bound_by_epsilon(epsilon, clients), rounds, delta)
    if vector is not None and (own := bound_by_blanket(vector, clients)) is not None:
        # Sampling may be off by e^slack, on both sides of a ratio and in each round.
        off = rounds * vector.slack
        found = min(found, _compose(own, rounds, delta * math.exp(-off)) + 2 * off)
    return min(apart, found)


def _compose(one_round: LossDistribution, rounds: int, delta: float) -> float:
    losses, probabilities, failing = one_round
    if failing * rounds >= delta:
        return math.inf
    step = max(float(np.abs(losses).max()) / _STEPS, 1e-7)
    order = np.argsort(losses, kind="stable")
    one = discretise(losses[order], probabilities[order], step, failing)
    return float(one.self_compose(rounds).get_epsilon_for_delta(delta)) * (1 + 1e-9)


@dataclass(frozen=True, kw_only=True)
class ShuffleEstimate:
    """Epsilon per update as it was sent, and per run with and without a shuffler, at delta."""

    clients: int
    rounds: int
    update_epsilon: float
    run_epsilon: float
    shuffled_epsilon: float
    delta: float
    leans: bool = False

    @property
    def sentence(self) -> str:
        """The estimate in words, with the note that nothing shuffles here."""
        rounds = "1 round" if self.rounds == 1 else f"{self.rounds:,} rounds"
        same = "; all messages of a round must use the same coordinates" if self.leans else ""
        return (
            f"If a shuffler mixed the messages of {self.clients:,} clients in each round before"
            f" anybody saw them, epsilon would be at most {format_bound(self.shuffled_epsilon)}"
            f" {format_unit(f'run of {rounds}', self.delta)}, instead of"
            f" {format_bound(self.run_epsilon)} (epsilon {format_bound(self.update_epsilon)} per"
            f" message; numerical, if you replace all rows of one client{same})."
            " Nothing in this run shuffles: the server sees who sent what, and the figures above"
            " apply."
        )


def estimate_shuffling(account: Account, clients: int, delta: float) -> ShuffleEstimate:
    """Estimate epsilon with a shuffler of `clients` messages per round; raise BudgetError where the
    bound does not hold.

    It holds for one message with a pure epsilon per client and round, randomised by the client
    itself.
    """
    stated = compute_totals(account, delta)
    update = next(
        (total.epsilon for total in stated if total.unit == "update" and not total.delta), None
    )
    claims = list_claims(account)
    if (
        update is None
        or len(account.charges) != 1
        or {claim.view for claim in claims} != {"server"}
    ):
        sent = ", ".join(claim.mechanism for claim in claims) or "nothing"
        raise BudgetError(
            f"a shuffling bound needs one message with a pure epsilon per client and round, but"
            f" clients sent {sent}; use rr, rr_sampled or projunit"
        )
    rounds, event = account.charges[0].times, claims[0].event
    vector = event if isinstance(event, BiasedVector) and len(claims) == 1 else None
    return ShuffleEstimate(
        clients=clients,
        rounds=rounds,
        update_epsilon=update,
        run_epsilon=min(
            total.epsilon for total in stated if total.unit == "run" and total.epsilon is not None
        ),
        shuffled_epsilon=compute_shuffled_epsilon(update, clients, rounds, delta, vector),
        delta=delta,
        leans=vector is not None,
    )
