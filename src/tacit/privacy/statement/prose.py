"""Everything that is said about privacy, in words: the statement for data owners, phrases for
tables.

What is not covered stands in `unprotected`.

`tacit check`, the report, its cards, `tacit privacy`, `--json` and notebooks all ask here, so that
they agree. A bound is never stated smaller than it is, and never without what it is per.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from decimal import ROUND_CEILING, Decimal
from typing import Any

from tacit.privacy.accounting import losses
from tacit.privacy.claim import Claim, Disclosed, Repeated, Sampled, Total
from tacit.privacy.ledger.account import (
    COMPOSED,
    DOMINATED,
    EXACT,
    GAUSSIAN,
    HIDDEN,
    NO_NUMBER,
    NUMERICAL,
    UNLIKE,
    Account,
    Charge,
    charge,
    compute_totals,
    is_subsampled,
    list_claims,
)
from tacit.privacy.statement.lists import group_names, join_sorted, join_words
from tacit.runs.record import Released

MEANINGFUL = 10.0
"""An epsilon above this bounds nothing a person would notice."""
_MANY = 1_000_000
"""The size of model for which `planned` works an example out, since no data is read that would tell
the size.
"""

_SEEN_BY = {
    "nobody": "nobody",
    "server": "the server",
    "peers": "the other clients",
    "everyone": "everyone who gets a model",
}
"""Who sees what a claim is about."""

POOLED = "none: rows are pooled in one place"
_TELLING = 20.0
"""Beyond such an epsilon a whole run promises next to nothing: then the loss of one update is shown
first.
"""
KEPT = "nothing leaves a client"
CLEAR = "none: sent in the clear"
DECODED = "none: not differentially private, other clients can decode"
ONLY_HEADS = "that of the last layers that are voted on; no other update is sent"
MIXED = "no one figure: parts under different changes of data"
_WITHOUT_NUMBER = {NO_NUMBER: CLEAR, HIDDEN: DECODED, UNLIKE: MIXED}
ANSWERS = {
    "head": ("last layer", "last layers"),
    "vote": ("set of votes", "sets of votes"),
    "measure": ("measure", "measures"),
}
"""What an answer is called that is no update, by the unit of its claim: one, and many."""


# Figures


def format_bound(value: float) -> str:
    """Return an upper bound with four digits, rounded up; whole from 1000 on."""
    if value == 0 or math.isinf(value):
        return "0" if value == 0 else "∞"
    exact = Decimal(repr(value))  # the shortest number that reads as this float: 0.1 is 0.1
    step = Decimal(1) if exact >= 1000 else Decimal(1).scaleb(exact.adjusted() - 3)
    rounded = exact.quantize(step, rounding=ROUND_CEILING)
    return (
        f"{rounded:,.0f}"
        if rounded >= 1000
        else f"{rounded.normalize():f}"
        if rounded >= Decimal("1e-4")
        else f"{rounded:.3e}"
    )


def format_unit(unit: str, delta: float = 0.0) -> str:
    """Return what a total is per, such as "per run, delta 1e-05"."""
    return f"per {unit}, delta {_format_delta(delta)}" if delta else f"per {unit}"


def format_epsilon(value: float | None, unit: str, delta: float = 0.0) -> str:
    """Return an epsilon with what it is per; None says that no bound exists."""
    return (
        f"no bound {format_unit(unit)}"
        if value is None
        else f"epsilon {format_bound(value)} {format_unit(unit, delta)}"
    )


def format_total(total: Total) -> str:
    """Return a total as a figure with its unit."""
    return format_epsilon(total.epsilon, total.unit, total.delta).removeprefix("epsilon ")


def _format_delta(delta: float) -> str:
    exact = Decimal(repr(delta))
    return f"{float(exact.quantize(Decimal(1).scaleb(exact.adjusted() - 2), rounding=ROUND_CEILING)):g}"


# The statement


def write_statement(
    account: Account, stated: Sequence[Total], before: Iterable[Released] = ()
) -> str:
    """Return what a data owner may read: the verdict first, then what left, what it can cost, and
    whom it trusts.

    `before` are entries of what left before the first round: it is named here, and no total covers
    it.
    """
    claims = list_claims(account)
    if not claims:
        said = "No client has sent an update, so there is nothing to state about updates."
    elif all(losses.compute_pure_epsilon(claim.event) == 0 for claim in claims):
        said = "Nothing about a client leaves its machine."
    else:
        said = " ".join(_state_updates(account, stated))
    aside = _describe_preparation(before)
    return f"{said} {aside}" if aside else said


def _state_updates(account: Account, stated: Sequence[Total]) -> list[str]:
    claims = list_claims(account)
    left = f"{_capitalise(_describe_updates(account))}."
    trust = f"Trust required: {join_sorted(_list_trust(claims))}."
    if stated[0].epsilon is None:
        reason = stated[0].basis.partition(": ")[2]
        seen = f"Visible to {describe_views(claim.view for claim in claims)}."
        return [
            write_verdict(stated),
            left,
            seen,
            f"No epsilon exists per update or per run ({reason}).",
            trust,
        ]
    figures = join_words(
        [f"{format_total(total)} ({describe_composition(total, account)})" for total in stated]
    )
    holds = f"This holds against {describe_views(claim.view for claim in claims)}."
    return [
        write_verdict(stated),
        left,
        f"Epsilon is at most {figures}, if you {claims[0].relation}.",
        holds,
        trust,
    ]


def describe_views(views: Iterable[str]) -> str:
    """Return against whom figures hold: who sees what the claims are about."""
    return join_sorted({_SEEN_BY[view] for view in views})


def write_verdict(stated: Sequence[Total]) -> str:
    """Return in plain words what the totals mean for a person."""
    if stated[0].epsilon is None:
        if stated[0].basis == NO_NUMBER:
            return (
                "There is no protection: what was sent in the clear can reveal the rows behind it."
            )
        if stated[0].basis == HIDDEN:
            return (
                "There is no differential privacy: what a client sends is hidden from the server,"
                " but other clients can read it."
            )
        return "No protection is stated for the run as a whole, only for each of its parts."
    sizes = {total.unit: total.epsilon for total in reversed(stated) if total.epsilon is not None}
    run = min(
        (total.epsilon for total in stated if total.unit == "run" and total.epsilon is not None),
        default=math.inf,
    )
    if run <= MEANINGFUL:
        return "Differential privacy protects what a client sends in the whole run."
    if sizes["update"] <= MEANINGFUL:
        return (
            "Differential privacy protects each update by itself, but not all updates of a run"
            " together."
        )
    small = [
        unit for unit, size in sizes.items() if unit not in ("update", "run") and size <= MEANINGFUL
    ]
    if small:
        return (
            "This is no meaningful protection of a whole update, let alone of the run: only each"
            f" single {small[0]} is deniable."
        )
    return "This is no meaningful protection: the noise is too small."


def _describe_updates(account: Account) -> str:
    several, parts, sampled = (
        any(one.claims[0].unit in ANSWERS for one in account.payments),
        list[str](),
        "",
    )
    for one in account.payments:
        how = join_words([claim.mechanism for claim in one.claims])
        times = "once" if one.times == 1 else f"{one.times:,} times"
        if is_subsampled(one.claims):
            sampled = (
                f"in {_count_rounds(one.times)} each client was asked {_describe_rate(one)}, and if so sent"
                f" {how}"
            )
            continue
        parts.append(
            f"{times} {how}"
            if one.claims[0].unit in ANSWERS
            else f"{_count_answers((one,))} as {how}"
        )
    if sampled:
        return "; also ".join([sampled, *parts])
    return (
        "the client that took part most often sent"
        f" {'; '.join(parts) if several else join_words(parts)}"
    )


def describe_composition(total: Total, account: Account) -> str:
    """Return what a total is composed of."""
    if total.epsilon is None:
        return total.basis
    sampled = next((one for one in account.payments if is_subsampled(one.claims)), None)
    if sampled is not None:
        return (
            f"{_count_rounds(sampled.times) if total.unit == 'run' else 'one round alone'}, asked"
            f" {_describe_rate(sampled)}, {total.basis}"
        )
    if total.unit == "run":
        return f"{_count_answers(account.payments)}, {total.basis}"
    if total.unit == "update":
        if any(one.claims[0].unit in ANSWERS for one in account.payments):
            return f"the costliest answer alone, {total.basis}"
        counts = {describe_uses(claim) for claim in list_claims(account)}
        uses = counts.pop() if len(counts) == 1 else ""
        return f"all {uses} of it together" if uses else f"one update alone, {total.basis}"
    return f"one {total.unit} alone"


def _count_rounds(count: int) -> str:
    return "1 round" if count == 1 else f"{count:,} rounds"


def _describe_rate(payment: Charge) -> str:
    """Return with which chance clients are asked, where the claims of a payment are about a sample
    of them.
    """
    rates = [
        event.rate
        for claim in payment.claims
        if isinstance(event := losses.unwrap(claim.event), Sampled)
    ]
    return f"with a chance of {max(rates):.3g}"


def describe_uses(claim: Claim) -> str:
    """Return of how many uses an answer is made, in words; nothing if of one."""
    event = claim.event
    return (
        f"{event.count:,} {claim.unit}s" if isinstance(event, Repeated) and event.count > 1 else ""
    )


def _describe_preparation(before: Iterable[Released]) -> str:
    """Return what left before the first round and is in no total; rows that were handed over are
    spoken of elsewhere.
    """
    named = [
        one.promise.mechanism
        for one in before
        if not isinstance(losses.unwrap(one.promise.event), Disclosed)
    ]
    return (
        "Not counted in this is what left once, before the first round:"
        f" {'; '.join(group_names(named))}."
        if named
        else ""
    )


# Phrases for tables and for plans


def write_headline(stated: Sequence[Total], regime: str = "") -> str:
    """Return what a run costs a client, as a table's cell: all of it, if that is a figure that
    means something, else one update.

    `regime` is "central" or "local…" where no updates are sent.
    """
    if regime == "central":
        return POOLED
    update = next((total for total in stated if total.unit == "update"), None)
    if regime.startswith("local") or (update is not None and update.epsilon == 0):
        return KEPT
    if update is None:
        return "nothing has left yet"
    if update.epsilon is None:
        return _WITHOUT_NUMBER.get(update.basis, update.basis)
    whole = find_run_total(stated)
    return (
        format_epsilon(update.epsilon, "update", update.delta)
        if whole is None
        else format_epsilon(whole.epsilon, "run", whole.delta)
    )


def find_run_total(stated: Sequence[Total]) -> Total | None:
    """Return the total of the whole run, if its epsilon is small enough to mean something."""
    whole = next((total for total in stated if total.unit == "run"), None)
    return None if whole is None or whole.epsilon is None or whole.epsilon > _TELLING else whole


def write_planned(claims_at: Callable[[int], tuple[Claim, ...]], rounds: int, delta: float) -> str:
    """Return what a plan would promise, from the claims of its codec for a number of parameters; no
    data is read.

    The size of the model is not known before the data is read, so a large one is taken as an
    example.
    """
    stated, twice = (_total_over(claims_at(size), rounds, delta) for size in (_MANY, 2 * _MANY))
    claims = claims_at(_MANY)
    trust = f"trust required: {join_sorted(_list_trust(claims))}"
    update, larger = (
        next(total for total in one if total.unit == "update") for one in (stated, twice)
    )
    if update.epsilon is None:
        head = _WITHOUT_NUMBER.get(update.basis, update.basis)
        return (
            f"{head} ({join_words([claim.mechanism for claim in claims])}), so no bound exists per"
            f" update or per run; {trust}"
        )
    singles = [total for total in stated if total.unit not in ("update", "run")]
    grows = larger.epsilon is not None and larger.epsilon > 1.9 * update.epsilon
    figures = [format_epsilon(total.epsilon, total.unit) for total in singles]
    if grows and singles:
        figures.append(
            f"which adds up to epsilon {format_bound(singles[0].epsilon or 0.0)} × parameters per update"
        )
    else:
        figures.append(
            f"epsilon {format_bound(update.epsilon)} {format_unit('update', update.delta)}, for up to {_MANY:,}"
            " parameters"
        )
    figures.append(_describe_planned_run(stated[-1], rounds, grows))
    return f"{write_verdict(stated)} At most {', '.join(figures)}, if you {claims[0].relation}; {trust}"


def _describe_planned_run(run: Total, rounds: int, grows: bool) -> str:
    """Return what all rounds of a plan cost; composed where it does not grow with the number of
    parameters, which is not known.
    """
    if run.basis in (GAUSSIAN, EXACT, COMPOSED, DOMINATED) or (
        not grows and run.basis == NUMERICAL
    ):
        whole = "run of 1 round" if rounds == 1 else f"run of {rounds:,} rounds"
        return f"and epsilon {format_bound(run.epsilon or 0.0)} {format_unit(whole, run.delta)} ({run.basis})"
    return f"at most {rounds:,} × that per run (losses add up)"


def _total_over(claims: tuple[Claim, ...], updates: int, delta: float) -> tuple[Total, ...]:
    return compute_totals(charge(Account(), claims, updates, uses=updates), delta)


def describe_codec(codec: dict[str, Any]) -> str:
    """Return a plan's codec by name, with what its epsilon is per."""
    from tacit.plan.codec import (
        epsilon_unit,
    )  # here, so that `tacit --help` does not wait for pydantic

    name = str(codec.get("name", ""))
    stated = (
        format_epsilon(codec["epsilon"], epsilon_unit(name), float(codec.get("delta") or 0.0))
        if codec.get("epsilon")
        else ""
    )
    return f"{name}, {stated}" if stated else name


def _list_trust(claims: Sequence[Claim]) -> list[str]:
    return list(dict.fromkeys(word for claim in claims for word in claim.trust)) or ["nobody else"]


def _count_answers(payments: Sequence[Charge]) -> str:
    """Return how many answers were paid for, by name if all are of one kind."""
    kinds = {ANSWERS.get(one.claims[0].unit, ("update", "updates")) for one in payments}
    one, many = kinds.pop() if len(kinds) == 1 else ("answer", "answers")
    count = sum(payment.times for payment in payments)
    return f"1 {one}" if count == 1 else f"{count:,} {many}"


def _capitalise(text: str) -> str:
    return text[:1].upper() + text[1:]
