"""A run as its owner looks it up: its request in the queue, or the stored offer of an open run that was
never asked about.
"""

from __future__ import annotations

from tacit.deployment.site.approval.approvals import JudgedRequest, list_requests
from tacit.deployment.site.approval.bound_facts import collect_bound_facts
from tacit.deployment.site.approval.permission import derive_asked
from tacit.deployment.site.approval.request_queue import ApprovalRequest
from tacit.deployment.site.owner import Owner
from tacit.deployment.site.stored_runs import hash_plan, list_open_runs, load_offer, read_plan
from tacit.deployment.versions import read_offer
from tacit.privacy.policy import Policy


def find_known_run(owner: Owner, policy: Policy, run: str) -> JudgedRequest | None:
    """The request of a run, with the decision about it; None if neither the queue nor an open run has
    it. Raises PlanError if this version cannot read the stored offer.
    """
    for one in list_requests(owner):
        if one.request.run == run:
            return one
    body = load_offer(owner, run) if run in list_open_runs(owner) else None
    if body is None:
        return None
    offer = read_offer(body)
    plan = read_plan(offer, hash_plan(offer))
    asked = derive_asked(policy, plan, offer.simulated_noise, measured=offer.measures)
    bound = collect_bound_facts(owner, policy, run, body, offer, asked)
    changed = (owner.folder / "runs" / run).stat().st_mtime
    return JudgedRequest(
        request=ApprovalRequest(bound=bound, body=body, first="", last=changed), decision=None
    )
