"""Privacy loss of a client in integer millionths of epsilon, and the owner's limits on it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from tacit.privacy.accounting import losses
from tacit.privacy.claim import Claim
from tacit.privacy.ledger.account import Account, Charge, compute_totals

if TYPE_CHECKING:
    from tacit.privacy.policy.policy import Limits

Claims = tuple[Claim, ...]
AnswerCounts = tuple[tuple[Claims, int], ...]
"""Responses of a client in a run: claims released together, and how often."""

MILLION = 1_000_000
_CLIENT = ("replace all rows of one client", "add or remove one client")


@dataclass(frozen=True)
class PrivacyCost:
    """Millionths of epsilon at a delta. `bare` means that something was sent for which no epsilon
    per client exists.
    """

    micro: int
    delta: float = 0.0
    bare: bool = False


@dataclass(frozen=True, kw_only=True)
class ClientSpending:
    """Privacy loss of a client in each run and in all runs. Epsilons of runs add up, and so do
    their deltas.
    """

    person: bytes
    runs: dict[str, PrivacyCost]

    @property
    def life(self) -> PrivacyCost:
        """Privacy loss of all runs together."""
        each = self.runs.values()
        return PrivacyCost(
            sum(one.micro for one in each),
            sum(one.delta for one in each),
            any(one.bare for one in each),
        )


def to_micro(epsilon: float) -> int:
    """Convert an epsilon to millionths, rounded up; floating-point error below a billionth is
    ignored.

    >>> to_micro(0.1), to_micro(0.1 + 0.2), to_micro(1.0000001)
    (100000, 300000, 1000001)
    """
    return -(-round(Fraction(epsilon) * 10**9) // 1000)


def format_micro(amount: int) -> str:
    """Format millionths of epsilon as a decimal number.

    >>> format_micro(2_500_000), format_micro(8_000_000), format_micro(1)
    ('2.5', '8', '0.000001')
    """
    whole, rest = divmod(amount, MILLION)
    return f"{whole:,}" + (f".{rest:06d}".rstrip("0") if rest else "")


@lru_cache(maxsize=1024)
def compute_cost(charged: AnswerCounts, delta: float) -> PrivacyCost:
    """Privacy loss of one client for the responses of one run. Cached, since many clients have
    equal responses.

    Raises BudgetError for an unproven claim. Claims about rows, and claims about data sent in the
    clear, have no epsilon per client. Under two neighbouring relations no common epsilon exists
    either; both are added up nevertheless, each at its delta, so that the budget is used up.
    """
    answered = [(claims, times) for claims, times in charged if times]
    counted = [(_keep_bounded(claims), times) for claims, times in answered]
    relations = dict.fromkeys(claim.relation for claims, _ in counted for claim in claims)
    parts = [_sum_relation(relation, counted, delta) for relation in relations]
    untold = any(
        len(kept) < len(claims) for (kept, _), (claims, _) in zip(counted, answered, strict=True)
    )
    bare = untold or len(parts) > 1 or any(part.bare for part in parts)
    return PrivacyCost(
        sum(part.micro for part in parts), max((part.delta for part in parts), default=0.0), bare
    )


def _keep_bounded(claims: Claims) -> Claims:
    for claim in claims:
        losses.refuse_unproven(claim)
    return tuple(
        claim
        for claim in claims
        if claim.relation in _CLIENT and not losses.is_unprotected(claim.event)
    )


def _sum_relation(
    relation: str, counted: Iterable[tuple[Claims, int]], delta: float
) -> PrivacyCost:
    """Privacy loss of the claims under one neighbouring relation, by the composition with the
    smallest epsilon.
    """
    own = [
        (tuple(claim for claim in claims if claim.relation == relation), times)
        for claims, times in counted
    ]
    stated = compute_totals(
        Account(tuple(Charge(claims, times) for claims, times in own if claims)), delta
    )
    known = [
        (total.epsilon, total.delta)
        for total in stated
        if total.unit == "run" and total.epsilon is not None
    ]
    if not known:
        return PrivacyCost(0, bare=bool(stated))
    epsilon, failing = min(known)
    return PrivacyCost(to_micro(epsilon), failing)


def find_exceeded_limit(limits: Limits, answer: PrivacyCost, run: PrivacyCost, life: int) -> str:
    """Name the limit that a response would exceed, alone, with the run so far, or with all runs;
    empty if none.
    """
    if run.bare and not limits.no_epsilon:
        return "limits.no_epsilon = false: no epsilon per client exists for the requested response"
    asked = {
        "max_epsilon_per_update": (
            answer.micro,
            "this response has a privacy loss of {} per client",
        ),
        "max_epsilon_per_run": (
            run.micro,
            "with this response the run's privacy loss for this client is {}",
        ),
        "max_epsilon_lifetime": (
            life,
            "with this response the privacy loss of all runs for this client is {}",
        ),
    }
    for key, (amount, words) in asked.items():
        if amount > get_limit(limits, key):
            return f"{format_limit(limits, key)}: {words.format(format_micro(amount))}"
    if run.delta > limits.delta * (1 + 1e-9):
        return f"limits.delta = {limits.delta:g} per run: with this response it is {run.delta:.3g}"
    return ""


def get_limit(limits: Limits, key: str) -> float:
    """Limit on epsilon in millionths. Without a limit per update, only the limits per run and
    lifetime apply.
    """
    limit = getattr(limits, key)
    return (
        (float("inf") if key == "max_epsilon_per_update" else 0)
        if limit is None
        else to_micro(limit)
    )


def format_limit(limits: Limits, key: str) -> str:
    """Format a limit on epsilon as the policy states it."""
    limit = getattr(limits, key)
    return f"limits.{key} is not set" if limit is None else f"limits.{key} = {limit:g} per client"
