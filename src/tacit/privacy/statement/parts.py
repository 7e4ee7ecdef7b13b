"""The statement for plans in which clients vote on each other's updates.

A round then has several kinds of responses: votes, last layers and updates. Their losses may use
different neighbouring relations, so each kind is stated separately and they are not added up.
"""

from __future__ import annotations

from tacit.privacy.accounting import losses
from tacit.privacy.claim import Claim, Repeated
from tacit.privacy.ledger.account import Account, Charge, charge, compute_totals, list_claims
from tacit.privacy.statement.prose import ANSWERS, format_bound, format_epsilon

_KINDS = {"vote": "Votes", "head": "Last layers", "update": "Updates"}


def state_parts(account: Account, delta: float, averaged: str) -> str:
    """State the loss of votes (per tester), of last layers (per contributor) and of updates.

    `averaged` is the filter's `aggregate`: "updates" or "heads". It is empty in a plan without a
    filter, and then so is the result.
    """
    if not averaged:
        return ""
    kinds: dict[str, list[Charge]] = {}
    for one in account.charges:
        unit = one.claims[0].unit
        kinds.setdefault(unit if unit in ANSWERS else "update", []).append(one)
    accounts = {kind: Account(tuple(kinds[kind])) for kind in _KINDS if kind in kinds}
    said = [
        _state_votes(one, delta) if kind == "vote" else _state_part(kind, one, delta)
        for kind, one in accounts.items()
    ]
    if "vote" in accounts:
        said.insert(1, _state_scope(averaged))
    return " ".join(said)


def state_planned_parts(claims: tuple[Claim, ...], rounds: int, delta: float, averaged: str) -> str:
    """State the parts before any data is read, from one round's claims."""
    account = Account()
    for claim in claims:
        account = charge(account, (claim,), rounds, uses=rounds)
    return state_parts(account, delta, averaged)


def _state_votes(account: Account, delta: float) -> str:
    """State the loss of votes: each, per round and per run."""
    claims = list_claims(account)
    stated = compute_totals(account, delta)
    if stated[0].epsilon is None:
        return "Votes: sent in the clear, so no epsilon exists for testers."
    in_round = next(total for total in stated if total.unit == "update")
    counts = [claim.event.count for claim in claims if isinstance(claim.event, Repeated)]
    rounds = sum(one.times for one in account.charges)
    run = (
        ""
        if rounds == 1
        else f", and {format_epsilon(stated[-1].epsilon, f'run of {rounds:,} rounds', stated[-1].delta)}"
    )
    if not counts:  # secure aggregation: one noise for all votes
        together = format_epsilon(in_round.epsilon, "tester and round", in_round.delta)
        return f"Votes: {together}, for all votes together{run}, if you {claims[0].relation}."
    each, count = next(total for total in stated if total.unit == "vote"), max(counts)
    return (
        f"Votes: epsilon {format_bound(each.epsilon or 0.0)} per vote; {count:,} votes per round add up to"
        f" epsilon {format_bound(in_round.epsilon or 0.0)} per tester and round{run}, if you {claims[0].relation}."
    )


def _state_part(kind: str, account: Account, delta: float) -> str:
    """State the loss of one kind of response: each, and per run."""
    claims, stated = list_claims(account), compute_totals(account, delta)
    if any(losses.is_unprotected(claim.event) for claim in claims):
        return f"{_KINDS[kind]}: no epsilon exists ({stated[0].basis.partition(': ')[2]})."
    word = ANSWERS.get(kind, ("update", ""))[0]
    each = next(total for total in stated if total.unit == "update")
    rounds = sum(one.times for one in account.charges)
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
        return "This covers the filter only; accepted updates need protection of their own."
    return (
        "This covers the filter only. The last layers themselves are averaged, so their epsilon is"
        " the only protection."
    )
