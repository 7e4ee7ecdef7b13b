"""The sentence a data owner may read: what left, what it can cost, how it adds up, whom it trusts."""

from __future__ import annotations

import math

from tacit.claim import Claim, Free, PureDP

_LARGE = 10.0
"""Above this a pure epsilon per update bounds nothing a person would notice."""


def statement(claim: Claim, totals: dict[str, float | None], updates: int) -> str:
    """Return the promise in words, with every number's unit."""
    if isinstance(claim.loss, Free):
        return "Nothing about a client leaves its machine."
    if updates == 0:
        return "No client has sent an update."
    if not isinstance(claim.loss, PureDP):
        return (
            f"Each client sends {_times(updates)} as {claim.mechanism}, visible to the {claim.view}. "
            "There is no differential privacy and no number to state: the updates can reveal the rows they came from."
        )
    return " ".join([_local(claim, totals, updates), _meaning(totals["update"])])


def _local(claim: Claim, totals: dict[str, float | None], updates: int) -> str:
    approximate = next(unit for unit in totals if unit.startswith("run ("))
    return (
        f"Each client randomises what it sends, so no one need be trusted: epsilon = {_figure(totals[claim.unit])} per "
        f"{claim.unit}, {_figure(totals['update'])} per update ({claim.count:,} {claim.unit}s), "
        f"{_figure(totals['run'])} per run ({_times(updates)}, pure composition), or {_figure(totals[approximate])} per "
        f"{approximate}. It bounds what changes if you {claim.relation}."
    )


def _meaning(per_update: float | None) -> str:
    assert per_update is not None
    if per_update > _LARGE:
        return (
            f"At {_figure(per_update)} per update this is no meaningful guarantee for a whole update: "
            "only single bits are deniable."
        )
    return "This bounds the whole update, whatever the server does with it."


def _figure(value: float | None) -> str:
    """Return a bound with four digits, rounded up: a promise is never stated smaller than it is."""
    if value is None:
        return "no number"
    step = 1.0 if value >= 1000 else 10.0 ** (math.floor(math.log10(value)) - 3)
    # A hair above a round number (an integer threshold's epsilon) is that number, not the next one.
    rounded = math.ceil(value / step - 1e-3) * step
    return f"{rounded:,.0f}" if value >= 1000 else f"{rounded:.4g}"


def _times(updates: int) -> str:
    return "1 update" if updates == 1 else f"{updates} updates"
