"""Privacy amplification by shuffling: the epsilon that a shuffler would give. A calculator, not a
guarantee.

Nothing in Tacit shuffles. The bound is for clients that each send one message per round with a pure
epsilon, or one message per parameter (LDP-FL, Sun et al. 2020: an update is split, and its pieces
are shuffled parameter by parameter).

Pieces. A codec that randomises each parameter on its own makes the pieces of an update independent,
given the update. So the shuffled pieces of all parameters are as many independent shuffled rounds.
Replacing a client's rows may change all its pieces, so their losses are composed over all
parameters and rounds. LDP-FL counts the loss of one piece only, which is no bound for an update.

`shuffle_distributions.py` bounds one round in two ways: from epsilon alone, and from the
distribution of a biased vector where that is known. Both hold, so the smaller one counts. Rounds
are composed numerically and pessimistically. Neighbouring relation: replacing one client's rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.errors import BudgetError
from tacit.privacy.accounting.distribution import discretise
from tacit.privacy.accounting.losses import compute_pure_epsilon
from tacit.privacy.accounting.shuffle_distributions import (
    LossDistribution,
    bound_by_blanket,
    bound_by_epsilon,
)
from tacit.privacy.claim import BiasedVector, Claim, Repeated
from tacit.privacy.ledger.account import Account, compute_totals, list_claims
from tacit.privacy.statement.prose import format_bound, format_unit

_STEPS = 4000
"""Grid points for the losses of one round."""
_GRID = 1 << 18
"""Most grid points for all rounds."""
_LARGE = 100.0
"""Above this expected loss of a run, moments take the place of the distribution, which would have
millions of grid points.
"""
_NO_GAIN = 30.0
"""Above this epsilon per message, no number of other clients hides anybody."""


def compute_split_epsilon(
    epsilon: float, pieces: int, clients: int, rounds: int, delta: float
) -> float:
    """Epsilon per run at `delta` if each of `clients` sends `pieces` messages per round, one per
    parameter, each with a pure epsilon, and the messages of each parameter are shuffled.

    Never more than basic composition of all pieces.
    """
    uses = pieces * rounds
    apart = uses * epsilon
    if epsilon > _NO_GAIN or clients < 2:
        return apart
    rare = min(1e-12, delta * 1e-4 / uses)
    return min(apart, _compose(bound_by_epsilon(epsilon, clients, rare), uses, delta))


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
    if rounds * float(probabilities @ losses) > _LARGE:
        return _compose_by_moments(losses, probabilities, rounds, delta - failing * rounds)
    # Where the composed loss is, with its tails.
    reach = 20 * math.sqrt(rounds * float(probabilities @ losses**2))
    step = max(float(np.abs(losses).max()) / _STEPS, reach / _GRID, 1e-7)
    order = np.argsort(losses, kind="stable")
    one = discretise(losses[order], probabilities[order], step, failing)
    return float(one.self_compose(rounds).get_epsilon_for_delta(delta)) * (1 + 1e-9)


def _compose_by_moments(
    losses: NDArray[np.float64], probabilities: NDArray[np.float64], uses: int, delta: float
) -> float:
    """Bound the composed epsilon by the moments of one loss L: delta(epsilon) is at most
    E[e^(t L)]^uses e^(-t epsilon) for every t > 0. Quick for any number of uses, and within a few
    percent where epsilon is large.
    """
    best = math.inf
    for t in np.geomspace(1e-4, 1e3, 400) / max(1.0, float(np.abs(losses).max())):
        top = float((t * losses).max())
        moment = top + math.log(float(probabilities @ np.exp(t * losses - top)))
        best = min(best, (uses * moment - math.log(delta)) / t)
    return best * (1 + 1e-9)


@dataclass(frozen=True, kw_only=True)
class ShuffleEstimate:
    """Epsilon per update as it was sent, and per run with and without a shuffler, at delta.

    `pieces` is the number of messages per client and round: 1, or one per parameter.
    """

    clients: int
    rounds: int
    update_epsilon: float
    run_epsilon: float
    shuffled_epsilon: float
    delta: float
    leans: bool = False
    pieces: int = 1

    @property
    def sentence(self) -> str:
        """The estimate in words, with the note that nothing shuffles here."""
        rounds = "1 round" if self.rounds == 1 else f"{self.rounds:,} rounds"
        same = "; all messages of a round must use the same coordinates" if self.leans else ""
        return (
            f"{self._describe_shuffler()} before anybody saw them, epsilon would be at most"
            f" {format_bound(self.shuffled_epsilon)}"
            f" {format_unit(f'run of {rounds}', self.delta)}, instead of"
            f" {format_bound(self.run_epsilon)} (epsilon {format_bound(self.update_epsilon)} per"
            f" {'message' if self.pieces == 1 else 'update'}; numerical, if you replace all rows of one client{same})."
            f"{self._describe_trust()}"
            " Nothing in this run shuffles: the server sees who sent what, and the figures above"
            " apply."
        )

    def _describe_shuffler(self) -> str:
        if self.pieces == 1:
            return f"If a shuffler mixed the messages of {self.clients:,} clients in each round"
        return (
            f"If each of the {self.pieces:,} parameters of an update were sent as a message of its"
            f" own, and a shuffler mixed those of {self.clients:,} clients parameter by parameter"
            " in each round"
        )

    def _describe_trust(self) -> str:
        if self.pieces == 1:
            return ""
        return (
            " The losses of all parameters are added up. This trusts the shuffler to wait for every"
            " client and to tell nobody who sent what, and all clients to randomise. Secure"
            " aggregation shows the server the same sums in one message per client."
        )


def estimate_shuffling(
    account: Account, clients: int, delta: float, *, in_pieces: bool = False
) -> ShuffleEstimate:
    """Estimate epsilon with a shuffler of `clients` messages per round; raise BudgetError where the
    bound does not hold.

    It holds for one message with a pure epsilon per client and round, randomised by the client
    itself; with `in_pieces`, for one message per parameter, each randomised on its own.
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
    run = min(
        total.epsilon for total in stated if total.unit == "run" and total.epsilon is not None
    )
    pieces, shuffled = (
        _shuffle_pieces(claims, clients, rounds, delta)
        if in_pieces
        else (1, compute_shuffled_epsilon(update, clients, rounds, delta, vector))
    )
    return ShuffleEstimate(
        clients=clients,
        rounds=rounds,
        update_epsilon=update,
        run_epsilon=run,
        shuffled_epsilon=min(shuffled, run) if in_pieces else shuffled,
        delta=delta,
        leans=vector is not None and not in_pieces,
        pieces=pieces,
    )


def _shuffle_pieces(
    claims: Sequence[Claim], clients: int, rounds: int, delta: float
) -> tuple[int, float]:
    """Number of pieces of an update, and epsilon per run if they are shuffled parameter by
    parameter; raise BudgetError if a parameter's piece has no pure epsilon of its own.
    """
    event = claims[0].event
    piece = float(compute_pure_epsilon(event.event)) if isinstance(event, Repeated) else math.inf
    if len(claims) != 1 or not isinstance(event, Repeated) or math.isinf(piece):
        raise BudgetError(
            "only updates whose parameters are randomised one by one can be split, but clients"
            f" sent {', '.join(claim.mechanism for claim in claims)}; use rr or rqm"
        )
    return event.count, compute_split_epsilon(piece, event.count, clients, rounds, delta)
