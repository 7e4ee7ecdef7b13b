"""Outputs about runs that wait for the owner of a site. The string below a key is its meaning."""

from __future__ import annotations

from typing import Literal, TypedDict


class RunCostFacts(TypedDict):
    """The privacy loss of a run per client."""

    epsilon: float | None
    """Largest epsilon of the run; null if it is not known before the rows are read."""
    delta: float
    """Probability that the loss is larger."""
    rounds: int
    """Number of rounds."""
    counts: bool
    """Whether noisy counts of held-out rows are part of it."""
    without_epsilon: bool
    """Whether something is also sent for which no epsilon exists."""


class BoundFactsOutput(TypedDict):
    """What an approval binds; a run that differs in one of these asks again."""

    run: str
    """Name of the run."""
    plan: str
    """Hash of the plan, as `tacit site policy check` prints it."""
    text: str
    """SHA-256 of the plan's text."""
    offer: str
    """SHA-256 of the whole offer."""
    schema: str
    """Hash of the plan's schema; empty without one."""
    server: str
    """Address of the server."""
    authority: str
    """SHA-256 of the certificate of the server's authority; empty without TLS."""
    coordinator: str
    """Fingerprint of the coordinator who signed the offer; empty if nobody did."""
    data: str
    """Keyed fingerprint of the site's rows and how they are read."""
    unit: str
    """Who the clients of the site are."""
    cost: RunCostFacts
    """Privacy loss."""


class OwnerDecision(TypedDict):
    """A decision of the owner about a run."""

    verdict: Literal["approved", "refused"]
    """The decision."""
    day: str
    """Its date, in UTC."""
    by: str
    """Who decided, and by which way."""
    reason: str
    """Why; empty if no reason was given."""


class RequestInWords(TypedDict):
    """A request in sentences, for the owner."""

    warnings: list[str]
    """What needs attention first."""
    who: list[str]
    """Who asks."""
    does: list[str]
    """What the plan does."""
    leaves: list[str]
    """What leaves the site."""
    costs: list[str]
    """Privacy loss of the run."""
    left: list[str]
    """What is left of the limit for all runs."""
    statement: str
    """The privacy statement of the plan."""
    plan_text: str
    """The plan, without settings that have their defaults."""


class ApprovalRequestOutput(TypedDict):
    """A run that asks for approval."""

    run: str
    """Name of the run."""
    state: Literal["waiting", "approved", "refused"]
    """What the owner decided about exactly this request."""
    request: str
    """Hash of everything that an approval would bind."""
    bound: BoundFactsOutput
    """What an approval would bind."""
    first_asked: str
    """When the server first asked."""
    server_waits: bool
    """Whether the server still asks."""
    changes: list[str]
    """What changed since the run was approved, if it was."""
    decision: OwnerDecision | None
    """The last decision about the run; null if there is none."""
    error: str
    """Why the request cannot be described; empty if it can."""
    view: RequestInWords | None
    """The request in sentences; null if it cannot be described."""


class SiteRequestsOutput(TypedDict):
    """Runs that wait for the owner of a site."""

    requests: list[ApprovalRequestOutput]
    """The requests, oldest first."""


class SiteDecisionOutput(TypedDict):
    """A decision about a run, now in the ledger."""

    run: str
    """Name of the run."""
    verdict: Literal["approved", "refused"]
    """The decision."""
    request: str
    """Hash of what was decided about."""
    plan: str
    """Hash of the plan."""
    by: str
    """Who decided."""
    reason: str
    """Why; empty if no reason was given."""
    cost: RunCostFacts
    """Privacy loss of the run."""
    micro_epsilon_left: int
    """What was left for the most charged client, in millionths of epsilon."""
    clients_charged: int
    """Clients that were charged in any run."""
