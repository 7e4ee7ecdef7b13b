"""tacit site requests, approve, refuse: the owner decides about each run."""

from __future__ import annotations

import getpass
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli import tables
from tacit.cli.options import AsJson, SiteFolder, Yes
from tacit.errors import PlanError, RunError, TacitError

if TYPE_CHECKING:
    from tacit.deployment.site.approval.approvals import JudgedRequest
    from tacit.deployment.site.approval.wording import RequestView
    from tacit.deployment.site.owner import Owner
    from tacit.privacy.site_ledger.decisions import Verdict

Target = Annotated[
    str,
    typer.Argument(
        metavar="RUN|HASH",
        help="A run that waits, or the hash of its plan or of the request; 12 digits are enough.",
        show_default=False,
    ),
]
ShowAll = Annotated[
    bool, typer.Option("--all", help="Also list requests that you have decided about.")
]


def requests(
    folder: SiteFolder,
    target: Annotated[
        str | None, typer.Argument(metavar="[RUN|HASH]", help="Show one request in full.")
    ] = None,
    show_all: ShowAll = False,
    as_json: AsJson = False,
) -> None:
    """List the runs that wait for your approval, or show one in full.

    Runs wait if `approve = "ask"` stands in policy.toml and its other rules
    allow them. A request says who asks, what the plan does, what leaves,
    the privacy loss and what is left of your limit. No row is read.

    \b
    Examples:
      tacit site requests hospital-a
      tacit site requests hospital-a readmissions-1-5f2e11aa
      tacit site requests hospital-a --all --json
    """
    from tacit.deployment.site.approval.approvals import find_request, list_requests
    from tacit.deployment.site.site_folder import load_owner

    owner = load_owner(folder)
    if target is not None:
        judged = find_request(owner, target)
        if as_json:
            tables.print_json("site-requests/1", {"requests": [_as_json(owner, judged)]})
        else:
            _print(folder, judged, _describe(owner, judged), plan=True)
        return
    found = [one for one in list_requests(owner) if show_all or one.state == "waiting"]
    if as_json:
        tables.print_json(
            "site-requests/1", {"requests": [_as_json(owner, judged) for judged in found]}
        )
        return
    if not found:
        tables.line(f"{folder}: no run waits for your approval")
        return
    rows = [
        (
            judged.request.run,
            judged.state,
            str(judged.request.bound["plan"])[:16],
            judged.request.first,
            "no longer" if judged.request.is_stale() else "yes",
        )
        for judged in found
    ]
    tables.table(("run", "state", "plan", "first asked", "server waits"), rows, prose=(0, 1))
    tables.say(
        f"`tacit site requests {folder} RUN` shows one; `tacit site approve {folder} RUN` and"
        f" `tacit site refuse {folder} RUN` decide."
    )


def approve(folder: SiteFolder, target: Target, yes: Yes = False, as_json: AsJson = False) -> None:
    """Approve a run that waits; it then begins.

    The request is shown first. The approval holds for exactly this: the
    plan, the server, the coordinator, the schema, your rows as they are,
    and the privacy loss. If one of them changes, the run asks again. The decision
    becomes an entry of your ledger. `tacit site refuse` withdraws it.

    \b
    Examples:
      tacit site approve hospital-a readmissions-1-5f2e11aa
      tacit site approve hospital-a 5f2e11aa90c1 --yes
    """
    _decide(folder, target, "approved", yes=yes, as_json=as_json)


def refuse(
    folder: SiteFolder,
    target: Target,
    reason: Annotated[
        str, typer.Option("--reason", help="Why; it stays in your ledger and is not sent.")
    ] = "",
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Refuse a run, also one that you approved: it then stops at your site.

    The server learns that your policy does not allow it. What has left
    stays charged. The decision becomes an entry of your ledger.

    \b
    Examples:
      tacit site refuse hospital-a readmissions-1-5f2e11aa --reason "epsilon too large"
    """
    _decide(folder, target, "refused", yes=yes, as_json=as_json, reason=reason)


def _decide(
    folder: Path, target: str, verdict: Verdict, *, yes: bool, as_json: bool, reason: str = ""
) -> None:
    from tacit.deployment.site.approval.approvals import decide, find_request
    from tacit.deployment.site.approval.bound_facts import read_cost
    from tacit.deployment.site.approval.budget import read_budget
    from tacit.deployment.site.site_folder import load_owner, read_policy
    from tacit.privacy.policy import Policy

    owner = load_owner(folder)
    judged = find_request(owner, target)
    if as_json and not yes:
        raise PlanError("--json cannot ask; give --yes as well, after you have read the request")
    budget = read_budget(owner, read_policy(folder) or Policy())
    if not as_json:
        try:
            _print(folder, judged, _describe(owner, judged))
        except TacitError as error:
            if verdict == "approved":
                raise
            tables.say(f"The request cannot be shown: {error}")
    question = {"approved": "Approve this run?", "refused": "Refuse this run?"}[verdict]
    if not yes and not typer.confirm(question, err=True):
        raise RunError(f"{folder}: nothing was decided")
    seen = budget.describe_seen()
    made = decide(
        owner, judged.request, verdict, by=f"{getpass.getuser()}, command", reason=reason, seen=seen
    )
    if as_json:
        facts = {
            "run": made.run,
            "verdict": made.verdict,
            "request": judged.request.fingerprint,
            "plan": made.bound["plan"],
            "by": made.by,
            "reason": made.reason,
            "cost": asdict(read_cost(made.bound)),
            **seen,
        }
        tables.print_json("site-decision/1", facts)
        return
    late = (
        "; the server has not asked for a while, so its deployment may have gone on without you"
        if verdict == "approved" and judged.request.is_stale()
        else ""
    )
    tables.line(f"run {made.run}: {verdict}; the decision is in the ledger{late}")


def _describe(owner: Owner, judged: JudgedRequest) -> RequestView:
    from tacit.deployment.site.approval.budget import read_budget
    from tacit.deployment.site.approval.wording import describe_request
    from tacit.privacy.policy import Policy

    policy = owner.policy() or Policy()
    return describe_request(owner, policy, judged, read_budget(owner, policy))


def _print(folder: Path, judged: JudgedRequest, view: RequestView, *, plan: bool = False) -> None:
    from tacit.deployment.site.approval.wording import SECTIONS

    tables.line(f"run {view.run}: {view.state}, first asked {view.first_asked}")
    for name, heading in SECTIONS:
        for place, sentence in enumerate(getattr(view, name)):
            tables.say(f"  {heading + ':' if place == 0 else '':15}{sentence}")
    tables.say(f"  {'statement:':15}{view.statement}")
    tables.say(f"  {'plan:':15}{view.plan_hash}")
    tables.say(f"  {'request:':15}{view.fingerprint}")
    if judged.decision is not None:
        reason = f": {judged.decision.reason}" if judged.decision.reason else ""
        tables.say(
            f"  {'decided:':15}{judged.decision.verdict} on {judged.decision.day} by"
            f" {judged.decision.by}{reason}"
        )
    if plan:
        for text in view.plan_text.splitlines():
            tables.line(f"    {text}")
        tables.line(f"to decide: tacit site approve {folder} {view.run}")


def _as_json(owner: Owner, judged: JudgedRequest) -> dict[str, Any]:
    from tacit.deployment.site.approval.wording import SECTIONS

    request, decision = judged.request, judged.decision
    facts: dict[str, Any] = {
        "run": request.run,
        "state": judged.state,
        "request": request.fingerprint,
        "bound": request.bound,
        "first_asked": request.first,
        "server_waits": not request.is_stale(),
        "changes": list(request.changes),
        "decision": None
        if decision is None
        else {
            "verdict": decision.verdict,
            "day": decision.day,
            "by": decision.by,
            "reason": decision.reason,
        },
    }
    try:
        view = asdict(_describe(owner, judged))
    except TacitError as error:
        return {**facts, "error": str(error), "view": None}
    names = (*(name for name, _ in SECTIONS), "statement", "plan_text")
    return {**facts, "error": "", "view": {name: view[name] for name in names}}
