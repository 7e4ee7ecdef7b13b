"""What a client has paid, in whole millionths of epsilon, and whether its owner's limits leave room
for more.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from tacit.privacy.accounting import losses
from tacit.privacy.claim import Claim
from tacit.privacy.ledger.account import Account, Charge, compute_totals
from tacit.privacy.policy.policy import Limits

Claims = tuple[Claim, ...]
AnswerCounts = tuple[tuple[Claims, int], ...]
"""What a client has answered in a run: claims that left together, and how often."""

MILLION = 1_000_000
_CLIENT = ("replace all rows of one client", "add or remove one client")


@dataclass(frozen=True)
class PrivacyCost:
    """Millionths of epsilon at a delta; `bare` says that something left for which no epsilon per
    client exists.
    """

    micro: int
    delta: float = 0.0
    bare: bool = False


def to_micro(epsilon: float) -> int:
    """Return an epsilon in millionths, rounded up; what floating point adds below a billionth is
    not counted as one more.

    >>> to_micro(0.1), to_micro(0.1 + 0.2), to_micro(1.0000001)
    (100000, 300000, 1000001)
    """
    return -(-round(Fraction(epsilon) * 10**9) // 1000)


def format_micro(amount: int) -> str:
    """Return millionths of epsilon as a number.

    >>> format_micro(2_500_000), format_micro(8_000_000), format_micro(1)
    ('2.5', '8', '0.000001')
    """
    whole, rest = divmod(amount, MILLION)
    return f"{whole:,}" + (f".{rest:06d}".rstrip("0") if rest else "")


@lru_cache(maxsize=1024)
def compute_cost(paid: AnswerCounts, delta: float) -> PrivacyCost:
    """Return what answers of one run cost a client together; clients that paid alike are reckoned
    once.

    Raises BudgetError for a claim nobody has proved. Edge cases: claims that are about rows, and
    claims under which everything is told, have no epsilon per client. Under two changes of data no
    common one exists either; both are then added up all the same, each at its delta, so that a
    budget runs out.
    """
    answered = [(claims, times) for claims, times in paid if times]
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
    """Return what the claims under one change of data cost together, by whatever composition states
    least.
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
    """Return why a client cannot afford an answer, or nothing: what it costs alone, with the run so
    far, and with all runs.
    """
    if run.bare and not limits.no_epsilon:
        return "limits.no_epsilon = false: no epsilon per client exists for what is asked"
    asked = {
        "max_epsilon_per_update": (answer.micro, "this answer costs a client {}"),
        "max_epsilon_per_run": (run.micro, "with this answer the run costs this client {}"),
        "max_epsilon_lifetime": (life, "with this answer all runs together cost this client {}"),
    }
    for key, (amount, words) in asked.items():
        if amount > get_limit(limits, key):
            return f"{format_limit(limits, key)}: {words.format(format_micro(amount))}"
    if run.delta > limits.delta * (1 + 1e-9):
        return f"limits.delta = {limits.delta:g} per run: with this answer it is {run.delta:.3g}"
    return ""


def get_limit(limits: Limits, key: str) -> float:
    """Return a limit on epsilon in millionths; what an owner does not limit per update is limited
    per run.
    """
    limit = getattr(limits, key)
    return (
        (float("inf") if key == "max_epsilon_per_update" else 0)
        if limit is None
        else to_micro(limit)
    )


def format_limit(limits: Limits, key: str) -> str:
    """Return a limit on epsilon as an owner wrote it."""
    limit = getattr(limits, key)
    return f"limits.{key} is not set" if limit is None else f"limits.{key} = {limit:g} per client"
