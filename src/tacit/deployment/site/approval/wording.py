"""A request in plain words: who asks, what the plan does, what leaves, its privacy loss, what is left.

Everything that the server chose is quoted so that nothing in it is hidden, and every list is bounded.
What weighs most comes first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tacit.assembly.planned_privacy import (
    describe_helpers,
    describe_planned_privacy,
    describe_planned_votes,
)
from tacit.deployment.site.approval.approvals import JudgedRequest
from tacit.deployment.site.approval.bound_facts import RunCost, read_cost
from tacit.deployment.site.approval.budget import Budget
from tacit.deployment.site.approval.permission import derive_asked
from tacit.deployment.site.owner import Owner
from tacit.deployment.site.stored_runs import hash_plan, read_plan
from tacit.plan import Plan, to_short_toml
from tacit.printable import printable, quote_name
from tacit.privacy.policy import Policy, Requirements
from tacit.privacy.statement.prose_rows import describe_planned_disclosure

SECTIONS = (
    ("warnings", "READ FIRST"),
    ("who", "who asks"),
    ("does", "what it does"),
    ("leaves", "what leaves"),
    ("costs", "privacy loss"),
    ("left", "what is left"),
)
"""Lists of a request in words, in the order in which an owner reads them, with their headings."""
_MOST_NAMES = 20
_IN_THE_CLEAR = {
    "clients": "the number of your clients",
    "rows": "the number of rows of each client",
    "classes": "the names of the classes to predict",
    "ranges": "rounded ends of the range of numeric columns",
    "exact_ranges": "the smallest and largest value of numeric columns",
    "formats": "which numeric columns have missing values, and how numbers are written",
    "categories": "the names of the categories of columns",
    "words": "the words of texts",
    "class_counts": (
        "how many rows of all sites together are alike in each equivalence class; your own counts leave"
        " encrypted"
    ),
}
"""Every fact of `CleartextKind` but `measures`, which has a sentence of its own."""


@dataclass(frozen=True, kw_only=True)
class RequestView:
    """A request as its owner reads it; each list has sentences. `warnings` need attention first."""

    run: str
    state: str
    fingerprint: str
    plan_hash: str
    first_asked: str
    is_stale: bool
    who: tuple[str, ...]
    warnings: tuple[str, ...]
    does: tuple[str, ...]
    leaves: tuple[str, ...]
    costs: tuple[str, ...]
    left: tuple[str, ...]
    statement: str
    plan_text: str


def describe_request(
    owner: Owner, policy: Policy, judged: JudgedRequest, budget: Budget
) -> RequestView:
    """Describe a request; reads no row. Raises PlanError if this version cannot read the plan."""
    request, offer = judged.request, judged.request.offer
    plan = read_plan(offer, hash_plan(offer))
    asked = derive_asked(policy, plan, offer.simulated_noise, measured=offer.measures)
    cost = read_cost(request.bound)
    return RequestView(
        run=request.run,
        state=judged.state,
        fingerprint=request.fingerprint,
        plan_hash=str(request.bound["plan"]),
        first_asked=request.first,
        is_stale=request.is_stale(),
        who=tuple(describe_asker(request.bound)),
        warnings=tuple(_list_warnings(plan, asked, cost, request.changes)),
        does=tuple(_describe_work(plan, asked)),
        leaves=tuple(_list_what_leaves(policy, plan, asked, measured=offer.measures)),
        costs=tuple(describe_cost(cost)),
        left=tuple(budget.describe_left(cost)),
        statement=printable(describe_planned_privacy(plan)),
        plan_text=printable(to_short_toml(plan)),
    )


def describe_asker(bound: dict[str, Any]) -> list[str]:
    """Who asks, as far as the site can know it."""
    server = f"The server {bound['server'] or 'of this site'}"
    if bound["authority"]:
        server += f", under the certificate authority {bound['authority'][:16]}…,"
    who = (
        f"The coordinator with the key {bound['coordinator'][:16]}… signed the offer."
        if bound["coordinator"]
        else "The offer carries no coordinator's signature: it comes from the server's own machine."
    )
    return [f"{server} asks.", who]


def describe_cost(cost: RunCost) -> list[str]:
    """The privacy loss of a run, in sentences."""
    if cost.epsilon is None:
        said = [
            "The epsilon is not known before the rows are read. You are asked again when it is, before"
            " anything is trained."
        ]
    else:
        counts = ", noisy counts of held-out rows included" if cost.counts else ""
        said = [
            f"At most epsilon {cost.epsilon:.4g} per client in the run of {cost.rounds:,} rounds"
            f" (delta {cost.delta:g}){counts}."
        ]
    if cost.without_epsilon:
        said.append("Some of what is sent has NO epsilon: nothing bounds what it reveals.")
    return said


def list_names(names: Iterable[str]) -> str:
    """Names that somebody else chose, quoted; a long list ends with the number of the others."""
    known = list(names)
    shown = ", ".join(quote_name(name) for name in known[:_MOST_NAMES])
    return shown + (f" and {len(known) - _MOST_NAMES:,} more" if len(known) > _MOST_NAMES else "")


def _list_warnings(
    plan: Plan, asked: Requirements, cost: RunCost, changes: Sequence[str]
) -> Iterable[str]:
    if changes:
        yield (
            f"You approved this run before. It asks again, since this changed: {', '.join(changes)}."
        )
    if plan.data.share is not None:
        yield "ROWS LEAVE: this plan takes rows themselves, not only updates."
    if cost.without_epsilon:
        yield "There is no epsilon for a part of what is sent."
    if asked.user_code:
        yield (
            "Program code that the plan names runs on this machine:"
            f" {list_names(map(str, asked.user_code))}."
        )
    if asked.simulation_noise:
        yield "The noise comes from a seed that others know, so they can remove it."
    if asked.trusts_server:
        yield "The guarantee relies on the server: it sees single updates, or adds the noise itself."


def _describe_work(plan: Plan, asked: Requirements) -> Iterable[str]:
    columns = asked.columns or {}
    label = columns.get("label", ())
    yield (
        f"Trains a model of kind {quote_name(asked.model)}"
        + (f" to predict {list_names(label)}" if label else "")
        + f", in {asked.rounds:,} rounds."
    )
    if asked.columns is None:
        yield "The plan names no columns: it takes them from your data."
    for role, names in columns.items():
        if role != "label":
            yield f"Reads as {role}: {list_names(names)}."
    yield f"The coordinator calls the plan {quote_name(plan.name)}."
    if asked.files:
        yield f"Reads these files on this machine: {list_names(asked.files)}."
    if asked.schema:
        yield f"Applies a schema to your rows, {asked.schema[:16]}…: rows that do not fit take no part."


def _describe_negotiation(plan: Plan) -> str:
    """What sites tell each other in a negotiation."""
    said = "keys by which the sites agree on a secret"
    if plan.negotiates_range:
        said += (
            "; your clients train once for it, and the other sites learn how far the values here reach,"
            " together with their own"
        )
    return said


def _list_what_leaves(
    policy: Policy, plan: Plan, asked: Requirements, *, measured: bool
) -> Iterable[str]:
    if plan.data.share is not None:
        yield (
            f"Rows: {printable(describe_planned_disclosure(plan.data.share))}. Columns:"
            f" {list_names(asked.released)}."
        )
    size = f", at most {asked.message_bytes:,} bytes each" if asked.message_bytes else ""
    yield f"Updates of the model from your clients, in each round they are asked{size}."
    if plan.secure_aggregation is not None:
        yield f"They leave encrypted: {describe_helpers(plan.secure_aggregation)}."
    if plan.filter is not None:
        yield f"Votes on other clients' updates. {describe_planned_votes(plan, plan.filter)}"
    if asked.negotiates:
        yield f"Before the first round: {_describe_negotiation(plan)}."
    clear = [_IN_THE_CLEAR[one] for one in asked.disclosures]
    if clear:
        yield f"Once, before the first round, in the clear: {'; '.join(clear)}."
    if measured and asked.measures:
        counts = {
            "noisy": "with noise",
            "exact": "EXACT, without noise",
            "off": "none, since your policy says so",
        }[policy.measures.counts]
        yield (
            f"How many held-out rows the model gets right, up to {asked.measures:,} times: {counts}."
        )
    yield "That your site takes part, and when."
