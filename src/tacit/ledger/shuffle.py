"""What pure losses would cost if a round's messages were shuffled before anybody saw them: a calculator, not a promise.

Nothing in Tacit shuffles. Whoever has a shuffler can read here what it would be worth, for clients that each send one whole
message with a pure epsilon of its own. All bits of a message count together; a shuffler of single bits is another thing.

Source: Feldman, McMillan and Talwar 2023, *Stronger Privacy Amplification by Shuffling*, theorem 3.1 and its pair of laws. Each
other client hides the one in question with the chance 2 / (e^epsilon + 1), by a message that could be of either kind; so many
of them, C, are binomial, and the server learns no more than how many of C + 1 messages are of one kind. Rounds are composed
numerically, rounding to the safe side. One client's rows are replaced.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.errors import BudgetError
from tacit.ledger.account import Account, every_claim, totals
from tacit.ledger.distribution import on_grid
from tacit.ledger.prose import bound, per

_RARE = 1e-12
"""Numbers of hiding clients that are this rare, in each tail, count as certain loss."""
_GROUPS, _STEPS = 60, 4000
"""Numbers of hiding clients are taken in groups, each by its smallest, and losses on a grid."""
_NO_GAIN = 30.0
"""Beyond this epsilon per message nobody is hidden by others, however many there are."""


def shuffled(epsilon: float, clients: int, rounds: int, delta: float) -> float:
    """Return an epsilon per run at `delta`, if each of `clients` sends one message of a pure epsilon per round, shuffled.

    Never more than without a shuffler, by pure losses that add up.
    """
    apart = rounds * epsilon
    if epsilon > _NO_GAIN or clients < 2:
        return apart
    losses, chances, failing = _pair(epsilon, clients)
    if failing * rounds >= delta:
        return apart
    step = max(float(np.abs(losses).max()) / _STEPS, 1e-7)
    order = np.argsort(losses, kind="stable")
    one = on_grid(losses[order], chances[order], step, failing)
    return min(apart, float(one.self_compose(rounds).get_epsilon_for_delta(delta)) * (1 + 1e-9))


@dataclass(frozen=True, kw_only=True)
class Shuffled:
    """What a shuffler would be worth: epsilon per update as it was sent, and per run with and without one, at delta."""

    clients: int
    rounds: int
    update_epsilon: float
    run_epsilon: float
    shuffled_epsilon: float
    delta: float

    @property
    def sentence(self) -> str:
        """Return it in words, and that nothing here shuffles."""
        rounds = "1 round" if self.rounds == 1 else f"{self.rounds:,} rounds"
        return (
            f"If a shuffler mixed the messages of {self.clients:,} clients in each round before anybody saw them, epsilon would "
            f"be at most {bound(self.shuffled_epsilon)} {per(f'run of {rounds}', self.delta)}, and not {bound(self.run_epsilon)} "
            f"(each message {bound(self.update_epsilon)} per update; numerical, if you replace all rows of one client). "
            "Nothing in this run shuffles: the server sees who sent what, and the figures of the run are those above."
        )


def what_if(account: Account, clients: int, delta: float) -> Shuffled:
    """Return what a shuffler of so many messages a round would be worth; raise BudgetError where the bound does not hold.

    It holds for one message of a pure epsilon per client and round, randomised by the client itself.
    """
    stated = totals(account, delta)
    update = next((total.epsilon for total in stated if total.unit == "update" and not total.delta), None)
    claims = every_claim(account)
    if update is None or len(account.payments) != 1 or {claim.view for claim in claims} != {"server"}:
        said = ", ".join(claim.mechanism for claim in claims) or "nothing"
        raise BudgetError(
            f"a shuffle bound needs one message of a pure epsilon per client and round, got {said}; use rr or rr_sampled"
        )
    rounds = account.payments[0].times
    return Shuffled(
        clients=clients,
        rounds=rounds,
        update_epsilon=update,
        run_epsilon=min(total.epsilon for total in stated if total.unit == "run" and total.epsilon is not None),
        shuffled_epsilon=shuffled(update, clients, rounds, delta),
        delta=delta,
    )


def _pair(epsilon: float, clients: int) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Return losses and their chances for one round, and the chance of what was left out."""
    from scipy.stats import binom

    others, hides, truth = clients - 1, 2 / (math.exp(epsilon) + 1), 1 / (1 + math.exp(-epsilon))
    lowest, highest = int(binom.ppf(_RARE, others, hides)), int(binom.isf(_RARE, others, hides))
    edges = np.unique(np.linspace(lowest, highest + 1, _GROUPS + 1).astype(np.int64))
    losses, chances = [], []
    for hiding, following in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        likely = float(binom.cdf(following - 1, others, hides) - binom.cdf(hiding - 1, others, hides))
        reach = 9 * math.sqrt(hiding) / 2 + 2
        kind = np.arange(max(0, math.floor(hiding / 2 - reach)), min(hiding + 1, math.ceil(hiding / 2 + reach) + 1) + 1)
        # Of hiding + 1 messages so many are of the first kind: the one in question is, or it is not.
        it_is, it_is_not = binom.pmf(kind - 1, hiding, 0.5), binom.pmf(kind, hiding, 0.5)
        here, there = truth * it_is + (1 - truth) * it_is_not, (1 - truth) * it_is + truth * it_is_not
        known = (here > 0) & (there > 0)
        losses.append(np.log(here[known]) - np.log(there[known]))
        chances.append(likely * here[known])
    found = np.concatenate(chances)
    return np.concatenate(losses), found, max(0.0, 1 - float(found.sum())) + 2 * _RARE
