"""What is said where clients vote on each other: a round then has answers of several kinds, and
each is told by itself.

Losses of last layers, votes and updates may be under different changes of data, and then have no
sum.
"""

from __future__ import annotations

from tacit.privacy.accounting import losses
from tacit.privacy.claim import Claim, Repeated
from tacit.privacy.ledger.account import Account, Charge, charge, compute_totals, list_claims
from tacit.privacy.statement.prose import ANSWERS, format_bound, format_epsilon

_KINDS = {"vote": "Votes", "head": "Last layers", "update": "Updates"}


def state_parts(account: Account, delta: float, averaged: str) -> str:
    """Return what votes cost each tester, last layers each contributor, and updates, each by
    itself.

    `averaged` is the filter's `aggregate`: "updates" or "heads"; empty in a plan without a filter,
    of which nothing is said.
    """
    if not averaged:
        return ""
    kinds: dict[str, list[Charge]] = {}
    for payment in account.payments:
        unit = payment.claims[0].unit
        kinds.setdefault(unit if unit in ANSWERS else "update", []).append(payment)
    accounts = {kind: Account(tuple(kinds[kind])) for kind in _KINDS if kind in kinds}
    said = [
        _state_votes(one, delta) if kind == "vote" else _state_part(kind, one, delta)
        for kind, one in accounts.items()
    ]
    if "vote" in accounts:
        said.insert(1, _state_scope(averaged))
    return " ".join(said)


def state_planned_parts(claims: tuple[Claim, ...], rounds: int, delta: float, averaged: str) -> str:
    """Return the same before any data is read, from the claims of one round's last layers and
    votes.
    """
    account = Account()
    for claim in claims:
        account = charge(account, (claim,), rounds, uses=rounds)
    return state_parts(account, delta, averaged)


def _state_votes(account: Account, delta: float) -> str:
    """Return what votes cost: each, in a round, and in the run."""
    claims = list_claims(account)
    stated = compute_totals(account, delta)
    if stated[0].epsilon is None:
        return "Votes: sent as they are, so no epsilon exists for testers."
    in_round = next(total for total in stated if total.unit == "update")
    counts = [claim.event.count for claim in claims if isinstance(claim.event, Repeated)]
    rounds = sum(one.times for one in account.payments)
    run = (
        ""
        if rounds == 1
        else f", and {format_epsilon(stated[-1].epsilon, f'run of {rounds:,} rounds', stated[-1].delta)}"
    )
    if not counts:  # of a secure sum: one noise for all of them
        together = format_epsilon(in_round.epsilon, "tester and round", in_round.delta)
        return f"Votes: {together}, for all votes together{run}, if you {claims[0].relation}."
    each, count = next(total for total in stated if total.unit == "vote"), max(counts)
    return (
        f"Votes: epsilon {format_bound(each.epsilon or 0.0)} each, {count:,} per round ="
        f" {format_bound(in_round.epsilon or 0.0)} per tester and round{run}, if you {claims[0].relation}."
    )


def _state_part(kind: str, account: Account, delta: float) -> str:
    """Return what answers of one kind cost: each, and in the run."""
    claims, stated, word = (
        list_claims(account),
        compute_totals(account, delta),
        ANSWERS.get(kind, ("update", ""))[0],
    )
    if any(losses.is_unprotected(claim.event) for claim in claims):
        return f"{_KINDS[kind]}: no epsilon exists ({stated[0].basis.partition(': ')[2]})."
    each, rounds = (
        next(total for total in stated if total.unit == "update"),
        sum(one.times for one in account.payments),
    )
    run = (
        ""
        if rounds == 1
        else f", and {format_epsilon(stated[-1].epsilon, f'run of {rounds:,} rounds', stated[-1].delta)}"
    )
    return (
        f"{_KINDS[kind]}: {format_epsilon(each.epsilon, word, each.delta)}{run}, if you"
        f" {claims[0].relation}."
    )


def _state_scope(averaged: str) -> str:
    if averaged == "updates":
        return "Filter only; the accepted update itself needs its own protection."
    return (
        "Filter only; what is averaged are the last layers themselves, and theirs is all the"
        " protection there is."
    )
