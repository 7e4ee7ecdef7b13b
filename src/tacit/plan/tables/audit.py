"""[audit]: what a run is tested for while it runs."""

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
    """What a run is tested for while it runs."""

    canaries: Annotated[int, Ge(100), Le(100_000)] | None = None
    """So many made-up clients with random updates, of whom a random half takes part: what the
    models tell about who did is measured against the claimed loss ([canaries.md](canaries.md)).
    4,000 are plenty. In simulations only.
    """


def problems(plan: Plan) -> list[str]:
    """Return a sentence for each combination of settings that has no meaning."""
    if plan.audit.canaries is None:
        return []
    if plan.secure_aggregation is not None:
        return [
            "audit.canaries: needs a sum the server itself adds noise to; got"
            " [secure_aggregation], so"
            " remove one of them"
        ]
    if isinstance(plan.codec, DPSum):
        return []
    return [
        "audit.canaries: needs codec.name = 'dp_sum', whose noise is on a sum that canaries can"
        f" hide in; got {plan.codec.name!r}"
    ]
