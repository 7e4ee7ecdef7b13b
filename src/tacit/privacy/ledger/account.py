"""Charges of a run. Claims released together are one charge, and charges compose into totals. All
values are immutable.
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

EXACT, SUM = "exact", "basic composition"
NUMERICAL = "Rényi composition of numerical curves"
GAUSSIAN = "exact composition of Gaussian noise"
BITS = "exact composition of randomised responses"
COMPOSED = "composition of loss distributions"
DOMINATED = "composition of dominating Gaussian noise"
NO_NUMBER = "no epsilon exists: released without protection"
HIDDEN = "no epsilon exists: hidden from the server, readable by every other client"
COARSE = "no epsilon exists: random draws are too coarse for so large an epsilon"
UNLIKE = "no epsilon exists: losses under different neighbouring relations cannot be added"


@dataclass(frozen=True)
class Charge:
    """Claims of one response, and how often the client with the most responses was charged for
    them.
    """

    claims: tuple[Claim, ...]
    times: int


@dataclass(frozen=True)
class Account:
    """All charges of an arm of a run so far."""

    charges: tuple[Charge, ...] = ()

    def times(self, claims: tuple[Claim, ...]) -> int:
        """How often the busiest client was charged for these claims together."""
        return next((charge.times for charge in self.charges if charge.claims == claims), 0)

    def to_json(self) -> list[dict[str, Any]]:
        """Convert the account to plain JSON values."""
        return [
            {"claims": [claim.to_json() for claim in one.claims], "times": one.times}
            for one in self.charges
        ]

    @classmethod
    def from_json(cls, tree: list[dict[str, Any]]) -> Account:
        """Parse an account from JSON values."""
        return cls(
            tuple(
                Charge(tuple(map(Claim.from_json, one["claims"])), int(one["times"]))
                for one in tree
            )
        )


def charge(account: Account, claims: tuple[Claim, ...], busiest: int, uses: int = 1) -> Account:
    """Charge clients for responses, each at most `uses` times; call this before a response is sent.

    `busiest` is the largest number of responses of any client so far, these included. No client is
    charged for these claims more often than that, nor more than `uses` times in addition to before.
    Raises BudgetError for an unproven claim: what cannot be added up may not be sent.
    """
    for claim in claims:
        losses.refuse_unproven(claim)
    if not claims:
        return account
    before = account.times(claims)
    charged = Charge(claims, max(before, min(before + uses, busiest)))
    if before:
        return Account(tuple(charged if one.claims == claims else one for one in account.charges))
    return Account((*account.charges, charged)) if charged.times else account


def is_subsampled(claims: Sequence[Claim]) -> bool:
    """Whether claims cover every client that could have been sampled in a round, not only those
    that were.
    """
    return any(isinstance(losses.unwrap(claim.event), Sampled) for claim in claims)


def build_release(
    claim: Claim, arm: str, round_no: int, exchange: str, clients: int, busiest: int
) -> Released:
    """Build the record's entry for responses of `clients` clients; `busiest` is how often one of
    them was charged for the claim.
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
    """Compute the account of an arm from the record's entries alone.

    Claims of one exchange in one round were charged together. A client responds to an exchange
    once, so it was charged at most as often as the exchange took place. Releases that a resume
    superseded and did not repeat were charged in addition.
    """
    found = list(entries)
    account = Account()
    for together in _group_by_request(one for one in found if not one.superseded):
        claims = tuple(Claim.from_json(one.claim) for one in together)
        account = charge(account, claims, max(one.busiest for one in together))
    return add_superseded(account, (one for one in found if one.superseded))


def add_superseded(account: Account, entries: Iterable[Released]) -> Account:
    """Add releases that a resume did not repeat: the busiest client may have been charged for each
    of them too.
    """
    for together in _group_by_request(entries):
        claims = tuple(Claim.from_json(one.claim) for one in together)
        account = charge(account, claims, account.times(claims) + 1)
    return account


def _group_by_request(entries: Iterable[Released]) -> Iterable[list[Released]]:
    """Group entries that were charged together: those of one request."""
    found: dict[tuple[int, str, str], list[Released]] = {}
    for one in entries:
        found.setdefault((one.round_no, one.exchange, one.request), []).append(one)
    return found.values()


def compute_totals(account: Account, delta: float) -> tuple[Total, ...]:
    """Totals of the busiest client: per innermost unit, per update, per run, and per run at
    `delta`.

    All charges add up. Where no pure epsilon exists, the total per update is at `delta` too. Empty
    before the first charge.
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
    answers = [tuple((claim.event, 1) for claim in one.claims) for one in account.charges]
    charged = tuple((claim.event, one.times) for one in account.charges for claim in one.claims)
    update, run, run_at = (
        max((_sum_pure("update", answer) for answer in answers), key=_size),
        _sum_pure("run", charged),
        _compute_at("run", charged, delta),
    )
    if update.epsilon is None:
        return (
            *_compute_unit_totals(claims),
            max((_compute_at("update", answer, delta) for answer in answers), key=_size),
            run_at,
        )
    return (*_compute_unit_totals(claims), update, run, run_at)


def list_claims(account: Account) -> tuple[Claim, ...]:
    """Every claim that was charged, once."""
    return tuple(dict.fromkeys(claim for charge in account.charges for claim in charge.claims))


EventCounts = tuple[tuple[Event, int], ...]
"""Events, and how often each was charged."""


def _state_no_number(basis: str) -> tuple[Total, ...]:
    return tuple(
        Total(unit=unit, epsilon=None, delta=0.0, basis=basis) for unit in ("update", "run")
    )


def _size(total: Total) -> float:
    return math.inf if total.epsilon is None else total.epsilon


def _compute_unit_totals(claims: tuple[Claim, ...]) -> list[Total]:
    """Largest loss of a single use, for each unit smaller than an update."""
    worst: dict[str, Total] = {}
    for claim in claims:
        single = _sum_pure(claim.unit, ((losses.unwrap(claim.event), 1),))
        if claim.unit != "update" and single.epsilon is not None:
            worst[claim.unit] = max(worst.get(claim.unit, single), single, key=_size)
    return list(worst.values())


def _sum_pure(unit: str, charged: EventCounts) -> Total:
    """Sum of pure epsilons; None if an event is not pure."""
    epsilon = sum(
        (losses.compute_pure_epsilon(event) * times for event, times in charged), Fraction(0)
    )
    known = None if math.isinf(epsilon) else losses.round_up(epsilon)
    return Total(
        unit=unit, epsilon=known, delta=0.0, basis=EXACT if _is_single_use(charged) else SUM
    )


def _is_single_use(charged: EventCounts) -> bool:
    """Whether exactly one use of one event was charged."""
    return (
        len(charged) == 1 and charged[0][1] == 1 and losses.unwrap(charged[0][0]) == charged[0][0]
    )


def _compute_at(unit: str, charged: EventCounts, delta: float) -> Total:
    """Total at `delta`, plus the deltas of approximate events."""
    settled = losses.replace_dominated(charged, delta)
    if settled is None:
        return Total(unit=unit, epsilon=None, delta=delta, basis=COARSE)
    if settled.charged == charged:
        return _compose_at(unit, charged, delta)
    total = _compose_at(unit, settled.charged, settled.delta)
    if not covers_distance(total.epsilon or 0.0, delta, settled.distance):
        return Total(unit=unit, epsilon=None, delta=delta, basis=COARSE)
    basis = DOMINATED if total.basis in (EXACT, GAUSSIAN) else total.basis
    return replace(
        total,
        delta=losses.round_up(Fraction(total.delta) + Fraction(delta) - Fraction(settled.delta)),
        basis=basis,
    )


def _compose_at(unit: str, charged: EventCounts, delta: float) -> Total:
    brought = [(losses.compute_approximate(event), times) for event, times in charged]
    epsilon, failing = (
        sum((pair[place] * times for pair, times in brought), Fraction(0)) for place in (0, 1)
    )
    noise = losses.merge_gaussians(charged)
    if noise is not None:
        known = losses.round_up(Fraction(compute_epsilon(delta, noise)) + epsilon)
        basis = EXACT if _is_single_use(charged) else GAUSSIAN
        return Total(
            unit=unit,
            epsilon=known,
            delta=losses.round_up(Fraction(delta) + failing),
            basis=basis,
        )
    if all(isinstance(losses.unwrap(event), Approximate | Free) for event, _ in charged):
        # Only approximate events: basic composition, which needs no further delta.
        return Total(
            unit=unit,
            epsilon=losses.round_up(epsilon),
            delta=losses.round_up(failing),
            basis=SUM,
        )
    simple, composed = _sum_pure(unit, charged), _compose_tightest(unit, charged, delta)
    composed = replace(
        composed, epsilon=losses.round_up(Fraction(composed.epsilon or 0.0) + epsilon)
    )
    if simple.epsilon is not None and simple.epsilon <= _size(composed):
        return replace(simple, delta=delta)
    return replace(composed, delta=losses.round_up(Fraction(delta) + failing))


def _compose_tightest(unit: str, charged: EventCounts, delta: float) -> Total:
    """Smallest proved epsilon of the composition, without the events that `compute_approximate`
    counts.
    """
    from tacit.privacy.accounting.distribution import (
        compose_epsilon,  # numpy is heavy to load, and `tacit --help` should not wait for it
    )

    curved = any(isinstance(losses.unwrap(event), RenyiCurve) for event, _ in charged)
    counted = [
        (event, times)
        for event, times in charged
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
