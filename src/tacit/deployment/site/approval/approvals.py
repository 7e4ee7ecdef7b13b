"""The owner's decisions about runs, and the check that a run has one. Decisions are in the site's
ledger; no message of a server leads to one.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import Any, Literal

from tacit.deployment.site.approval.bound_facts import (
    BoundFacts,
    hash_bound,
    is_covered,
    list_changes,
)
from tacit.deployment.site.approval.request_queue import ApprovalRequest, RequestQueue
from tacit.deployment.site.owner import Owner
from tacit.errors import PlanError, PolicyError, RequestError, RunError
from tacit.plan import Plan
from tacit.privacy.policy import Policy, SiteLedger
from tacit.privacy.site_ledger.decisions import RunDecision, Verdict

ASK = 'policy.approve = "ask"'
LONGEST_REASON = 500
_SHORTEST_HASH = 12
RequestState = Literal["waiting", "approved", "refused"]


@dataclass(frozen=True, kw_only=True)
class JudgedRequest:
    """A request and the last decision about its run, if there is one."""

    request: ApprovalRequest
    decision: RunDecision | None

    @property
    def state(self) -> RequestState:
        """What the owner decided about exactly this request."""
        if self.decision is None:
            return "waiting"
        if self.decision.verdict == "refused":
            return "refused"
        return "approved" if is_covered(self.decision.bound, self.request.bound) else "waiting"


def require_approval(
    owner: Owner, run: str, body: bytes, bound: BoundFacts, *, is_open: bool
) -> str:
    """Return the hash of the facts that the owner approved for a run, if they cover `bound`.

    Raises PolicyError if the owner refused the run, RequestError if the owner has not decided: the
    request is then in the queue. Once the run is open, its own fingerprint of the rows counts.
    """
    with closing(open_ledger(owner)) as book:
        decided = book.find_decision(run)
        if decided is not None and is_open:
            bound = {**bound, "data": decided.bound["data"]}
        if decided is not None and decided.verdict == "refused":
            raise PolicyError(f"{ASK}: the owner of this site refused run {run}")
        if decided is not None and is_covered(decided.bound, bound):
            return hash_bound(decided.bound)
        changes = tuple(list_changes(decided.bound, bound)) if decided is not None else ()
        added = RequestQueue(owner.folder).add(
            bound, body, changes, lambda one: _is_waiting(book, one)
        )
    commands = f"`tacit site requests {owner.folder} {run}` shows it"
    if added == "new":
        owner.warn(f"run {run} waits for your approval; {commands}", "INFO")
    if added == "changed":
        owner.warn(
            f"run {run} waits for another approval, since {', '.join(changes)} changed; {commands}"
        )
    if added == "full":
        owner.warn(
            f"run {run} waits for your approval, and the queue is full: decide about other runs"
            f" first; `tacit site requests {owner.folder}` lists them"
        )
    raise RequestError("approval", f"run {run} waits for the approval of this site's owner")


def is_still_approved(owner: Owner, run: str, approved: str) -> bool:
    """Whether the owner's last decision about a run is still the approval with this hash."""
    with closing(open_ledger(owner)) as book:
        decided = book.find_decision(run)
    return (
        decided is not None
        and decided.verdict == "approved"
        and hash_bound(decided.bound) == approved
    )


def list_requests(owner: Owner) -> list[JudgedRequest]:
    """All requests that the site keeps, with the decisions about their runs; oldest first."""
    found = RequestQueue(owner.folder).list()
    if not found:
        return []
    with closing(open_ledger(owner)) as book:
        return [JudgedRequest(request=one, decision=book.find_decision(one.run)) for one in found]


def find_request(owner: Owner, target: str) -> JudgedRequest:
    """The request that a run's name, the hash of its plan or the request's own hash names; a hash may
    be shortened. Raise RunError if there is none, PlanError if there are several.
    """
    known = list_requests(owner)
    found = [one for one in known if one.request.run == target]
    if not found and len(target) >= _SHORTEST_HASH:
        found = [
            one
            for one in known
            if any(
                digest.startswith(target.lower())
                for digest in (one.request.fingerprint, one.request.bound["plan"])
            )
        ]
    if len(found) > 1:
        waiting = [one for one in found if one.state == "waiting"]
        if len(waiting) == 1:
            return waiting[0]
        raise PlanError(
            f"{target[:16]} names {len(found)} requests; give one of their runs:"
            f" {', '.join(one.request.run for one in found)}"
        )
    if not found:
        raise RunError(
            f"{owner.folder}: no run or plan {target!r} has asked for approval;"
            f" `tacit site requests {owner.folder}` lists those that have"
        )
    return found[0]


def decide(
    owner: Owner,
    shown: ApprovalRequest,
    verdict: Verdict,
    *,
    by: str,
    reason: str = "",
    seen: dict[str, Any] | None = None,
) -> RunDecision:
    """Record the owner's decision about a request as it was shown. Raise RunError if it has changed
    since.
    """
    if len(reason) > LONGEST_REASON:
        raise PlanError(f"a reason has at most {LONGEST_REASON} characters, got {len(reason):,}")
    now = RequestQueue(owner.folder).find(shown.run)
    if now is None or now.fingerprint != shown.fingerprint:
        raise RunError(
            f"run {shown.run}: the request changed after it was shown, and nothing was decided;"
            " read it again"
        )
    made = RunDecision(
        run=shown.run, verdict=verdict, bound=shown.bound, by=by, reason=reason, seen=seen or {}
    )
    with closing(open_ledger(owner)) as book:
        book.record_decision(made)
    return made


def open_ledger(owner: Owner) -> SiteLedger:
    """Open the ledger for decisions: nothing is charged, so the plan does not matter."""
    return owner.open_ledger(owner.policy() or Policy(), Plan())


def _is_waiting(book: SiteLedger, request: ApprovalRequest) -> bool:
    return (
        JudgedRequest(request=request, decision=book.find_decision(request.run)).state == "waiting"
    )
