"""Whether the owner approved a run, as far as it is known when that is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.deployment.site.approval.approvals import require_approval
from tacit.deployment.site.approval.bound_facts import collect_bound_facts
from tacit.deployment.site.approval.permission import derive_asked
from tacit.deployment.site.owner import Owner
from tacit.deployment.versions import read_offer
from tacit.plan import Plan
from tacit.privacy.policy import Policy

if TYPE_CHECKING:
    from tacit.deployment.site.site_side import SiteSide


def require_run_approval(
    owner: Owner,
    policy: Policy,
    run: str,
    body: bytes,
    plan: Plan,
    built: SiteSide | None = None,
    *,
    is_open: bool = True,
) -> str:
    """Raise PolicyError or RequestError unless the owner approved the run as it is now known."""
    offer = read_offer(body)
    asked = derive_asked(policy, plan, offer.simulated_noise, built, measured=offer.measures)
    bound = collect_bound_facts(owner, policy, run, body, offer, asked)
    return require_approval(owner, run, body, bound, is_open=is_open)
