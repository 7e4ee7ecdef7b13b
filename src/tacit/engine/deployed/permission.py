"""Whether an owner's policy allows what a plan asks: before rows are read, and again once the size of the model is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tacit import codec
from tacit.claim import Claim
from tacit.engine.exchanges import HelperSums
from tacit.errors import PolicyError
from tacit.ledger.owner import Policy
from tacit.ledger.owner.asked import refusals, violations
from tacit.ledger.owner.facts import facts_of
from tacit.plan import Plan
from tacit.record import DisclosedRows

if TYPE_CHECKING:
    from tacit.engine.deployed.built import Built


def refuse_unless_allowed(
    policy: Policy, plan: Plan, plan_hash: bytes, simulated_noise: bool, built: Built | None = None
) -> None:  # fmt: skip
    """Raise PolicyError that names every line of the policy which a plan goes beyond.

    Before rows are read the size of the model may be unknown; a codec whose price depends on it is judged when it is built.
    """
    claims = _claims(built) if built else _claims_of_any_size(plan)
    asked = facts_of(plan, plan_hash.hex(), claims or ())
    asked = replace(asked, tells=(*asked.tells, "measures"), simulation_noise=simulated_noise)
    if claims is None:
        asked = replace(asked, epsilon_per_update=0.0, epsilon_per_run=0.0)
    # Sites run the plan itself and nothing beside it; how a simulation divides rows says nothing about the cohort.
    clients = built.terms.clients if built else None
    asked = replace(asked, baselines=(), cohort=plan.server.cohort_size or clients)
    found = refusals(policy, asked)
    if found:
        raise PolicyError("\n".join(found))


def check_rows(policy: Policy, shared: DisclosedRows) -> None:
    """Raise PolicyError if rows that would leave go beyond the policy."""
    found = violations(policy, shared)
    if found:
        raise PolicyError("\n".join(found))


def _claims(built: Built) -> list[tuple[Claim, ...]]:
    asked = [one for one in built.exchanges.values() if not isinstance(one, HelperSums)]
    return [one.claims(built.plan.server.cohort_size or built.terms.clients) for one in asked]


def _claims_of_any_size(plan: Plan) -> Sequence[tuple[Claim, ...]] | None:
    """Return what an update costs if that does not depend on the size of the model; None if it does."""
    clients = plan.server.cohort_size or plan.data.clients
    made = codec.build(plan.codec, codec.Extent.of(plan, max(clients, plan.data.clients)))
    small, large = made.claims(2, clients), made.claims(3, clients)
    return [small] if small == large else None
