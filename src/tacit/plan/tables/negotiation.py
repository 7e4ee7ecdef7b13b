"""[negotiation]: before round one sites agree on a secret, and on a range, that the server cannot
read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from annotated_types import Ge, Le
from pydantic.dataclasses import dataclass

from tacit.plan.codec import HashComb, readable
from tacit.plan.kinds import STRICT

if TYPE_CHECKING:
    from tacit.plan.plan import Plan


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Negotiation:
    """Before round one the sites agree on a secret, which keys tokens, over the server, which
    cannot read it. If `codec.name = "hashcomb"` has no range, they agree on one too: it covers the
    values that any client would send in round one ([negotiate.md](guides/negotiate.md)).
    """

    limit: Annotated[float, Ge(1e-6), Le(1e9)] = 16.0
    """Largest absolute value of the range. A site that misstates its values can widen the range up
    to it, and no further; values beyond it are clamped.
    """


def problems(plan: Plan) -> list[str]:
    """List settings that contradict a negotiation, one sentence each."""
    found = list[str]()
    if plan.regime != "federated":
        found.append(
            f"[negotiation] cannot be used with regime = {plan.regime!r}, which sends nothing;"
            " remove the table"
        )
    if isinstance(plan.codec, HashComb) and plan.codec.agreed is not None:
        found.append(
            "[negotiation] cannot be combined with codec.agreed, which names the result of an"
            " earlier one; remove one of them"
        )
    if readable(plan.codec) and plan.features.quantise is None:
        found.append(
            "[negotiation] requires tokens, which its secret keys: codec.name = 'hashcomb', 'rqm'"
            " with codec.tokens, or [features.quantise]; remove the table"
        )
    return found
