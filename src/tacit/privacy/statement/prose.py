"""The privacy statement for data owners, and short phrases about privacy for tables.

`tacit check`, the report and its cards, `tacit runs privacy`, `--json` and notebooks all take their
wording from here, so they agree. Bounds are rounded up and always carry their unit. What no bound
covers is listed by `unprotected`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from decimal import ROUND_CEILING, Decimal
from typing import Any

from tacit.privacy.accounting import losses
from tacit.privacy.claim import Claim, Disclosed, Repeated, Sampled, Total
from tacit.privacy.ledger.account import (
    COARSE,
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
"""Parameters of the example model in `write_planned`: the size is unknown until data is read."""

_SEEN_BY = {
    "nobody": "nobody",
    "server": "the server",
    "peers": "the other clients",
    "everyone": "everyone who gets a model",
}
"""Descriptions of the views of a claim."""

POOLED = "none: rows are pooled in one place"
_TELLING = 20.0
"""If epsilon per run is larger, the headline shows epsilon per update instead."""
KEPT = "nothing leaves a client"
CLEAR = "none: sent in the clear"
DECODED = "none: not differentially private, other clients can decode it"
ONLY_HEADS = "that of the last layers voted on; no other update is sent"
MIXED = "no single figure: the parts use different neighbouring relations"
_WITHOUT_NUMBER = {NO_NUMBER: CLEAR, HIDDEN: DECODED, UNLIKE: MIXED}
ANSWERS = {
    "head": ("last layer", "last layers"),
    "vote": ("set of votes", "sets of votes"),
    "measure": ("measure", "measures"),
}
"""Singular and plural of responses other than updates, by the unit of their claim."""


# Figures


def format_bound(value: float) -> str:
    """Format an upper bound: four significant digits, rounded up; an integer from 1000 on."""
    if value == 0 or math.isinf(value):
        return "0" if value == 0 else "∞"
    exact = Decimal(repr(value))  # the shortest decimal that parses to this float
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
    """Format a unit with its delta: "per run, delta 1e-05"."""
    return f"per {unit}, delta {_format_delta(delta)}" if delta else f"per {unit}"


def format_epsilon(value: float | None, unit: str, delta: float = 0.0) -> str:
    """Format an epsilon with its unit; None means that no bound exists."""
    return (
        f"no bound {format_unit(unit)}"
        if value is None
        else f"epsilon {format_bound(value)} {format_unit(unit, delta)}"
    )


def format_total(total: Total) -> str:
    """Format a total with its unit, without the word epsilon."""
    return format_epsilon(total.epsilon, total.unit, total.delta).removeprefix("epsilon ")


def _format_delta(delta: float) -> str:
    exact = Decimal(repr(delta))
    return f"{float(exact.quantize(Decimal(1).scaleb(exact.adjusted() - 2), rounding=ROUND_CEILING)):g}"


# The statement


def write_statement(
    account: Account, stated: Sequence[Total], before: Iterable[Released] = ()
) -> str:
    """Write the statement for data owners: the verdict, what was sent, the privacy loss, and the
    trust required.

    `before` lists releases before the first round. The statement names them; no total covers them.
    """
    claims = list_claims(account)
    if not claims:
        said = "No client has sent an update."
    elif all(losses.compute_pure_epsilon(claim.event) == 0 for claim in claims):
        said = "Nothing about a client leaves its machine."
    else:
        said = " ".join(_state_updates(account, stated))
    aside = _describe_preparation(before)
    return f"{said} {aside}" if aside else said


def _state_updates(account: Account, stated: Sequence[Total]) -> list[str]:
    claims = list_claims(account)
    left = f"{_capitalise(_describe_updates(account))}."
    trust = f"Trust required: {join_sorted(list_trust(claims))}."
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
    """Name those who see the outputs of claims with these views."""
    return join_sorted({_SEEN_BY[view] for view in views})


def write_verdict(stated: Sequence[Total]) -> str:
    """State in one sentence how well the totals protect a client."""
    if stated[0].epsilon is None:
        if stated[0].basis == NO_NUMBER:
            return (
                "There is no protection: what is sent in the clear can reveal the rows behind it."
            )
        if stated[0].basis == HIDDEN:
            return (
                "There is no differential privacy: what a client sends is hidden from the server,"
                " but other clients can read it."
            )
        if stated[0].basis == COARSE:
            return "There is no guarantee: no epsilon can be proved for this run."
        return "There is no single epsilon for the whole run, only one for each of its parts."
    sizes = {total.unit: total.epsilon for total in reversed(stated) if total.epsilon is not None}
    run = min(
        (total.epsilon for total in stated if total.unit == "run" and total.epsilon is not None),
        default=math.inf,
    )
    if run <= MEANINGFUL:
        return "Differential privacy protects everything a client sends during the run."
    if sizes["update"] <= MEANINGFUL:
        return (
            "Differential privacy protects each single update, but not all updates of a run"
            " together."
        )
    small = [
        unit for unit, size in sizes.items() if unit not in ("update", "run") and size <= MEANINGFUL
    ]
    if small:
        return (
            f"Only a single {small[0]} has a meaningful epsilon; a whole update and the run do not."
        )
    return "There is no meaningful protection: the noise is too small."


def _describe_updates(account: Account) -> str:
    several = any(one.claims[0].unit in ANSWERS for one in account.charges)
    parts: list[str] = []
    sampled = ""
    for one in account.charges:
        how = join_words([claim.mechanism for claim in one.claims])
        times = "once" if one.times == 1 else f"{one.times:,} times"
        if is_subsampled(one.claims):
            sampled = (
                f"in each of {_count_rounds(one.times)}, a client was sampled {_describe_rate(one)}"
                f" and then sent {how}"
            )
            continue
        if one.claims[0].unit in ANSWERS:
            parts.append(f"{times} {how}")
        elif how.startswith("updates "):  # "3 updates, clipped to …"
            parts.append(f"{_count_responses((one,))}, {how.removeprefix('updates ')}")
        else:
            parts.append(f"{_count_responses((one,))} as {how}")
    if sampled:
        return "; also ".join([sampled, *parts])
    return (
        "the client that took part most often sent"
        f" {'; '.join(parts) if several else join_words(parts)}"
    )


def describe_composition(total: Total, account: Account) -> str:
    """Say what a total composes."""
    if total.epsilon is None:
        return total.basis
    sampled = next((one for one in account.charges if is_subsampled(one.claims)), None)
    if sampled is not None:
        return (
            f"{_count_rounds(sampled.times) if total.unit == 'run' else 'one round alone'}, sampled"
            f" {_describe_rate(sampled)}, {total.basis}"
        )
    if total.unit == "run":
        return f"{_count_responses(account.charges)}, {total.basis}"
    if total.unit == "update":
        if any(one.claims[0].unit in ANSWERS for one in account.charges):
            return f"the response with the largest loss, {total.basis}"
        counts = {describe_uses(claim) for claim in list_claims(account)}
        uses = counts.pop() if len(counts) == 1 else ""
        return f"all {uses} of it together" if uses else f"one update alone, {total.basis}"
    return f"one {total.unit} alone"


def _count_rounds(count: int) -> str:
    return "1 round" if count == 1 else f"{count:,} rounds"


def _describe_rate(charged: Charge) -> str:
    rates = [
        event.rate
        for claim in charged.claims
        if isinstance(event := losses.unwrap(claim.event), Sampled)
    ]
    return f"with probability {max(rates):.3g}"


def describe_uses(claim: Claim) -> str:
    """Say how many uses one response composes, such as "650 bits"; empty for one use."""
    event = claim.event
    return (
        f"{event.count:,} {claim.unit}s" if isinstance(event, Repeated) and event.count > 1 else ""
    )


def _describe_preparation(before: Iterable[Released]) -> str:
    """Name releases before the first round, which no total covers, except disclosed rows."""
    named = [
        one.promise.mechanism
        for one in before
        if not isinstance(losses.unwrap(one.promise.event), Disclosed)
    ]
    return (
        "These figures do not cover what was released once, before the first round:"
        f" {'; '.join(group_names(named))}."
        if named
        else ""
    )


# Phrases for tables and for plans


def write_headline(stated: Sequence[Total], regime: str = "") -> str:
    """Summarise the privacy loss for a table cell: epsilon per run if it is meaningful, else per
    update.

    `regime` is "central" or "local…" where no updates are sent.
    """
    if regime == "central":
        return POOLED
    update = next((total for total in stated if total.unit == "update"), None)
    if regime.startswith("local") or (update is not None and update.epsilon == 0):
        return KEPT
    if update is None:
        return "nothing has been sent yet"
    if update.epsilon is None:
        return _WITHOUT_NUMBER.get(update.basis, update.basis)
    whole = find_run_total(stated)
    return (
        format_epsilon(update.epsilon, "update", update.delta)
        if whole is None
        else format_epsilon(whole.epsilon, "run", whole.delta)
    )


def find_run_total(stated: Sequence[Total]) -> Total | None:
    """Find the total per run, if its epsilon is small enough to be meaningful."""
    whole = next((total for total in stated if total.unit == "run"), None)
    return None if whole is None or whole.epsilon is None or whole.epsilon > _TELLING else whole


def write_planned(claims_at: Callable[[int], tuple[Claim, ...]], rounds: int, delta: float) -> str:
    """State the guarantee of a plan before any data is read.

    `claims_at` gives the codec's claims for a number of parameters. The model's size is unknown
    until data is read, so a large model serves as the example.
    """
    stated, twice = (_total_over(claims_at(size), rounds, delta) for size in (_MANY, 2 * _MANY))
    claims = claims_at(_MANY)
    trust = f"trust required: {join_sorted(list_trust(claims))}"
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
            f"which adds up to epsilon {format_bound(singles[0].epsilon or 0.0)} × parameters per"
            " update"
        )
    else:
        figures.append(
            f"epsilon {format_bound(update.epsilon)} {format_unit('update', update.delta)}, for up"
            f" to {_MANY:,} parameters"
        )
    figures.append(_describe_planned_run(stated[-1], rounds, grows))
    return f"{write_verdict(stated)} At most {', '.join(figures)}, if you {claims[0].relation}; {trust}"


def _describe_planned_run(run: Total, rounds: int, grows: bool) -> str:
    """State the loss of all rounds; composed only if it does not depend on the model's size."""
    if run.basis in (GAUSSIAN, EXACT, COMPOSED, DOMINATED) or (
        not grows and run.basis == NUMERICAL
    ):
        whole = "run of 1 round" if rounds == 1 else f"run of {rounds:,} rounds"
        return f"and epsilon {format_bound(run.epsilon or 0.0)} {format_unit(whole, run.delta)} ({run.basis})"
    return f"at most {rounds:,} × that per run, since epsilons of rounds add up (basic composition)"


def _total_over(claims: tuple[Claim, ...], updates: int, delta: float) -> tuple[Total, ...]:
    return compute_totals(charge(Account(), claims, updates, uses=updates), delta)


def describe_codec(codec: dict[str, Any]) -> str:
    """Name a plan's codec with its epsilon and unit."""
    from tacit.plan.codec import epsilon_unit  # late: `tacit --help` should not load pydantic

    name = str(codec.get("name", ""))
    stated = (
        format_epsilon(codec["epsilon"], epsilon_unit(name), float(codec.get("delta") or 0.0))
        if codec.get("epsilon")
        else ""
    )
    return f"{name}, {stated}" if stated else name


def list_trust(claims: Sequence[Claim]) -> list[str]:
    """List who must be trusted for all claims together; local-DP claims add nothing to others."""
    trusting = [claim for claim in claims if claim.rests_on != "nobody"] or claims
    return list(dict.fromkeys(word for claim in trusting for word in claim.trust)) or [
        "nobody else"
    ]


def _count_responses(charges: Sequence[Charge]) -> str:
    """Count responses, by name if all are of one kind."""
    kinds = {ANSWERS.get(one.claims[0].unit, ("update", "updates")) for one in charges}
    one, many = kinds.pop() if len(kinds) == 1 else ("response", "responses")
    count = sum(one.times for one in charges)
    return f"1 {one}" if count == 1 else f"{count:,} {many}"


def _capitalise(text: str) -> str:
    return text[:1].upper() + text[1:]
