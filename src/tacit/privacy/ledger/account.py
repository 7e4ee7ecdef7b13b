"""What was paid: claims that left together are one payment, payments fold to totals. Nothing here
is changed in place.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from tacit.privacy.accounting import losses
from tacit.privacy.accounting.dominated_loss import covers_distance
from tacit.privacy.accounting.gaussian_loss import compute_epsilon
from tacit.privacy.claim import Approximate, Claim, Event, Free, RenyiCurve, Sampled, Total
from tacit.runs.record import Released

EXACT, SUM = "exact", "sum of losses"
NUMERICAL = "Rényi composition of numerical curves"
GAUSSIAN = "exact composition of Gaussian noise"
BITS = "exact composition of randomised responses"
COMPOSED = "composition of loss distributions"
DOMINATED = "composition of dominating Gaussian noise"
NO_NUMBER = "no number exists: released without protection"
HIDDEN = "no number exists: hidden from the server, readable by every other client"
COARSE = "no number exists: randomness is drawn too coarsely for so large an epsilon"
UNLIKE = "no number exists: losses under different changes of data cannot be added"


@dataclass(frozen=True)
class Charge:
    """The claims of one answer of a client, and how often the client that answered most often has
    paid for them.
    """

    claims: tuple[Claim, ...]
    times: int


@dataclass(frozen=True)
class Account:
    """Everything an arm of a run has charged so far."""

    payments: tuple[Charge, ...] = ()

    def times(self, claims: tuple[Claim, ...]) -> int:
        """Return how often the busiest client has paid for these claims together."""
        return next((payment.times for payment in self.payments if payment.claims == claims), 0)

    def to_json(self) -> list[dict[str, Any]]:
        """Return the account as plain JSON values."""
        return [
            {"claims": [claim.to_json() for claim in one.claims], "times": one.times}
            for one in self.payments
        ]

    @classmethod
    def from_json(cls, tree: list[dict[str, Any]]) -> Account:
        """Return the account a tree of JSON values describes."""
        return cls(
            tuple(
                Charge(tuple(map(Claim.from_json, one["claims"])), int(one["times"]))
                for one in tree
            )
        )


def charge(account: Account, claims: tuple[Claim, ...], busiest: int, uses: int = 1) -> Account:
    """Return the account after clients were charged for answers, each client at most `uses` times.
    Call it before they leave.

    `busiest` is how often the client that answered most often has answered so far, these answers
    included. No client has paid for these claims more often than that, nor more often than before
    and `uses` times more. Raises BudgetError for a claim nobody has proved: what cannot be added up
    may not leave.
    """
    for claim in claims:
        losses.refuse_unproven(claim)
    if not claims:
        return account
    before = account.times(claims)
    paid = Charge(claims, max(before, min(before + uses, busiest)))
    if before:
        return Account(tuple(paid if one.claims == claims else one for one in account.payments))
    return Account((*account.payments, paid)) if paid.times else account


def is_subsampled(claims: Sequence[Claim]) -> bool:
    """Return whether claims are about all clients that might have been asked in a round, and not
    only about those who were.
    """
    return any(isinstance(losses.unwrap(claim.event), Sampled) for claim in claims)


def build_release(
    claim: Claim, arm: str, round_no: int, exchange: str, clients: int, busiest: int
) -> Released:
    """Return the record's entry for answers of `clients` clients; `busiest` is how often one of
    them has paid for the claim.
    """
    return Released(
        arm=arm,
        round_no=round_no,
        exchange=exchange,
        clients=clients,
        busiest=busiest,
        claim=claim.to_json(),
    )


def fold_releases(entries: Iterable[Released]) -> Account:
    """Return the account of what left in an arm, from the record's entries alone.

    Claims of one exchange in one round were paid together. A client answers an exchange once, so it
    has paid at most as often as the exchange took place. What a resume superseded and did not
    repeat was paid in addition.
    """
    found = list(entries)
    account = Account()
    for together in _group_by_request(one for one in found if not one.superseded):
        claims = tuple(Claim.from_json(one.claim) for one in together)
        account = charge(account, claims, max(one.busiest for one in together))
    return add_superseded(account, (one for one in found if one.superseded))


def add_superseded(account: Account, entries: Iterable[Released]) -> Account:
    """Return the account with releases that a resume did not repeat: the busiest client may have
    paid for each of them too.
    """
    for together in _group_by_request(entries):
        claims = tuple(Claim.from_json(one.claim) for one in together)
        account = charge(account, claims, account.times(claims) + 1)
    return account


def _group_by_request(entries: Iterable[Released]) -> Iterable[list[Released]]:
    """Return entries that were paid for together: of one request."""
    found: dict[tuple[int, str, str], list[Released]] = {}
    for one in entries:
        found.setdefault((one.round_no, one.exchange, one.request), []).append(one)
    return found.values()


def compute_totals(account: Account, delta: float) -> tuple[Total, ...]:
    """Return what the busiest client has spent: per innermost unit, per update, per run, and per
    run at `delta`.

    Payments add up, whatever their claims. Where no pure number exists, the total per update is one
    at `delta` too. Nothing is stated before anything was paid.
    """
    claims = list_claims(account)
    for claim in claims:
        losses.refuse_unproven(claim)
    if not claims:
        return ()
    bare = [claim for claim in claims if losses.is_unprotected(claim.event)]
    if bare:
        return _state_no_number(
            HIDDEN if all(claim.view == "peers" for claim in bare) else NO_NUMBER
        )
    if len({claim.relation for claim in claims}) > 1:
        return _state_no_number(UNLIKE)
    answers = [tuple((claim.event, 1) for claim in one.claims) for one in account.payments]
    paid = tuple((claim.event, one.times) for one in account.payments for claim in one.claims)
    update, run, run_at = (
        max((_sum_pure("update", answer) for answer in answers), key=_size),
        _sum_pure("run", paid),
        _compute_at("run", paid, delta),
    )
    if update.epsilon is None:
        return (
            *_compute_unit_totals(claims),
            max((_compute_at("update", answer, delta) for answer in answers), key=_size),
            run_at,
        )
    return (*_compute_unit_totals(claims), update, run, run_at)


def list_claims(account: Account) -> tuple[Claim, ...]:
    """Return every claim that was paid for, once."""
    return tuple(dict.fromkeys(claim for payment in account.payments for claim in payment.claims))


EventCounts = tuple[tuple[Event, int], ...]
"""Events, and how often each is paid for."""


def _state_no_number(basis: str) -> tuple[Total, ...]:
    return tuple(
        Total(unit=unit, epsilon=None, delta=0.0, basis=basis) for unit in ("update", "run")
    )


def _size(total: Total) -> float:
    return math.inf if total.epsilon is None else total.epsilon


def _compute_unit_totals(claims: tuple[Claim, ...]) -> list[Total]:
    """Return the largest loss of a single use, for each unit smaller than an update."""
    worst: dict[str, Total] = {}
    for claim in claims:
        single = _sum_pure(claim.unit, ((losses.unwrap(claim.event), 1),))
        if claim.unit != "update" and single.epsilon is not None:
            worst[claim.unit] = max(worst.get(claim.unit, single), single, key=_size)
    return list(worst.values())


def _sum_pure(unit: str, paid: EventCounts) -> Total:
    """Return the sum of pure losses; None if one of them is not pure."""
    epsilon = sum(
        (losses.compute_pure_epsilon(event) * times for event, times in paid), Fraction(0)
    )
    known = None if math.isinf(epsilon) else losses.round_up(epsilon)
    return Total(unit=unit, epsilon=known, delta=0.0, basis=EXACT if _is_single_use(paid) else SUM)


def _is_single_use(paid: EventCounts) -> bool:
    """Return whether a single use of one event was paid for."""
    return len(paid) == 1 and paid[0][1] == 1 and losses.unwrap(paid[0][0]) == paid[0][0]


def _compute_at(unit: str, paid: EventCounts, delta: float) -> Total:
    """Return the total for which a chance of failing is allowed: `delta` for curves, and what
    approximate losses bring.
    """
    settled = losses.replace_dominated(paid, delta)
    if settled is None:
        return Total(unit=unit, epsilon=None, delta=delta, basis=COARSE)
    if settled.paid == paid:
        return _compose_at(unit, paid, delta)
    total = _compose_at(unit, settled.paid, settled.delta)
    if not covers_distance(total.epsilon or 0.0, delta, settled.distance):
        return Total(unit=unit, epsilon=None, delta=delta, basis=COARSE)
    basis = DOMINATED if total.basis in (EXACT, GAUSSIAN) else total.basis
    return replace(
        total,
        delta=losses.round_up(Fraction(total.delta) + Fraction(delta) - Fraction(settled.delta)),
        basis=basis,
    )


def _compose_at(unit: str, paid: EventCounts, delta: float) -> Total:
    brought = [(losses.compute_approximate(event), times) for event, times in paid]
    epsilon, failing = (
        sum((pair[place] * times for pair, times in brought), Fraction(0)) for place in (0, 1)
    )
    noise = losses.merge_gaussians(paid)
    if noise is not None:
        known = losses.round_up(Fraction(compute_epsilon(delta, noise)) + epsilon)
        basis = EXACT if _is_single_use(paid) else GAUSSIAN
        return Total(
            unit=unit,
            epsilon=known,
            delta=losses.round_up(Fraction(delta) + failing),
            basis=basis,
        )
    if all(isinstance(losses.unwrap(event), Approximate | Free) for event, _ in paid):
        # Nothing but approximate losses: they add up as they are and need no further delta.
        return Total(
            unit=unit,
            epsilon=losses.round_up(epsilon),
            delta=losses.round_up(failing),
            basis=SUM,
        )
    simple, composed = _sum_pure(unit, paid), _compose_tightest(unit, paid, delta)
    composed = replace(
        composed, epsilon=losses.round_up(Fraction(composed.epsilon or 0.0) + epsilon)
    )
    if simple.epsilon is not None and simple.epsilon <= _size(composed):
        return replace(simple, delta=delta)
    return replace(composed, delta=losses.round_up(Fraction(delta) + failing))


def _compose_tightest(unit: str, paid: EventCounts, delta: float) -> Total:
    """Return the least of what is proved about losses together; what `approximate` counts is left
    out.
    """
    from tacit.privacy.accounting.distribution import (
        compose_epsilon,  # numpy is heavy to load, and `tacit --help` should not wait for it
    )

    curved = any(isinstance(losses.unwrap(event), RenyiCurve) for event, _ in paid)
    counted = [
        (event, times)
        for event, times in paid
        if not isinstance(losses.unwrap(event), Approximate | Free)
    ]
    uses = [use for event, times in counted for use in losses.list_single_uses(event, times, delta)]
    found, basis = (
        compose_epsilon(uses, delta),
        (BITS if len({event for event, _ in uses}) == 1 else COMPOSED),
    )
    if any(isinstance(event, Sampled) for event, _ in uses):
        basis = COMPOSED
    if curved:
        by_curves = losses.compute_renyi_epsilon(counted, delta)
        found, basis = (by_curves, NUMERICAL) if by_curves < found else (found, basis)
    return Total(unit=unit, epsilon=found, delta=delta, basis=basis)
