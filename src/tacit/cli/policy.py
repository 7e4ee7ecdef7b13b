"""A data owner's policy, kept by every command that would let rows leave."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tacit.errors import PolicyError

if TYPE_CHECKING:
    from tacit.plan import Plan


def check_policy(plan: Plan, policy: Path | None) -> None:
    """Raise PolicyError if a run of the plan would let rows leave that the policy keeps; nothing has left by then.

    A plan that discloses no rows keeps every policy, and its data is not read.
    """
    if policy is None:
        return
    from tacit.ledger.policy import load_policy, violations

    limits = load_policy(policy)
    if plan.data.share is None:
        return
    from tacit.engine.simulated_data import preview

    broken = violations(limits, preview(plan).facts)
    if broken:
        raise refusal(policy, broken)


def refusal(policy: Path | None, broken: list[str]) -> PolicyError:
    """Return the refusal that names every way in which a plan goes beyond a policy."""
    return PolicyError("\n".join([f"refused: the plan goes beyond {policy}", *(f"  {sentence}" for sentence in broken)]))
