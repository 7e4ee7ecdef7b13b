"""Why a site's reply is missing, in words of the server, and the error if too few replies are left."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from tacit.errors import BudgetError, PolicyError, RunError, TacitError, UndecidedError

Cause = Literal[
    "absent",
    "late",
    "revoked",
    "malformed",
    "policy",
    "budget",
    "data",
    "rows changed",
    "plan",
    "terms",
    "answered",
    "model",
    "order",
    "negotiation",
    "question",
    "ended",
    "unknown run",
    "ledger",
    "approval",
    "failed",
]
"""Absent, late, revoked and malformed are what the server sees; the others are a site's own word."""

ApprovalOutcome = Literal["approved", "refused", "undecided"]
"""What an owner decided about a run while the server waited."""

REASONS = {
    "policy": "its owner's policy does not allow it",
    "budget": "its owner's ledger has no budget left for it",
    "data": "its rows are not as the plan says",
    "rows changed": "its rows have changed since the run began",
    "plan": "it cannot run this plan",
    "terms": "it does not accept the terms of the run",
    "answered": "it has already answered this exchange, to another request",
    "model": "it was sent another model for this round before",
    "order": "it has already answered a later request",
    "negotiation": "it stopped the negotiation of secret and range; its own log says why",
    "question": "it does not accept the request; its own log says why",
    "ended": "the run has ended there",
    "unknown run": "it cannot continue the run; its own log says why",
    "ledger": "its ledger is damaged, is an older copy, or cannot be written; its own log says which",
    "approval": "its owner has not approved it",
    "failed": "it failed; its own log says why",
}
"""What the server says for each word of a site."""

NOT_REPEATABLE = ("answered", "model")
"""Words of sites that have answered in this round before, to what a resume cannot repeat."""


@dataclass(frozen=True, kw_only=True)
class MissingReply:
    """A reply that did not come: the cause as a word, the reason as a clause, the seconds that the
    server waited, and whether the request was sent at all.
    """

    cause: Cause
    reason: str
    seconds: float = 0.0
    asked: bool = True


def clean_rule_names(text: str) -> str:
    """The policy keys that a site names, for the record; anything else is not quoted."""
    return text if re.fullmatch(r"[A-Za-z0-9_.,/ -]*", text) else "it names no line of a policy"


def list_reasons(missing: Mapping[str, MissingReply]) -> str:
    """The missing sites and their reasons, for an error."""
    return "; ".join(f"{site}: {one.reason}" for site, one in sorted(missing.items()))


def build_quorum_error(
    message: str, least: int, got: int, missing: Mapping[str, MissingReply]
) -> TacitError:
    """The error for a run that too few sites respond to.

    UndecidedError if the sites whose owners have not decided would have been enough, PolicyError if
    those that refuse by their policies would have, BudgetError if those without budget, else
    RunError.
    """
    causes = [one.cause for one in missing.values()]
    policy, budget = causes.count("policy"), causes.count("budget")
    if got + causes.count("approval") >= least:
        return UndecidedError(message)
    if got + policy >= least:
        return PolicyError(message)
    if got + budget >= least:
        return BudgetError(message)
    if got + policy + budget >= least:
        return PolicyError(message) if policy >= budget else BudgetError(message)
    return RunError(message)
