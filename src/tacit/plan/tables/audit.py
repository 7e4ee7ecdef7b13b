"""[audit]: audits during a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from annotated_types import Ge, Le
from pydantic.dataclasses import dataclass

from tacit.plan.codec import DPSum
from tacit.plan.kinds import STRICT

if TYPE_CHECKING:
    from tacit.plan.plan import Plan


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Audit:
    """Audits during a run."""

    canaries: Annotated[int, Ge(100), Le(100_000)] | None = None
    """Number of synthetic clients with random updates, of which a random half takes part. What the
    models reveal about which half it was is compared with the claimed privacy loss
    ([canaries.md](concepts/canaries.md)). 4,000 are plenty. Only in simulations.
    """


def problems(plan: Plan) -> list[str]:
    """List contradictory settings, one sentence each."""
    if plan.audit.canaries is None:
        return []
    if plan.secure_aggregation is not None:
        return [
            "audit.canaries requires noise that the server adds, so it cannot be combined with"
            " [secure_aggregation]; remove one of them"
        ]
    if isinstance(plan.codec, DPSum):
        return []
    return [
        "audit.canaries requires codec.name = 'dp_sum', whose noise is added to a sum; got"
        f" {plan.codec.name!r}"
    ]
