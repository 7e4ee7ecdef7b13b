"""[ledger]: limits of a client's own ledger, and the delta of stated totals."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

from annotated_types import Gt, Lt
from pydantic.dataclasses import dataclass

from tacit.plan.codec import DPSum
from tacit.plan.kinds import STRICT, Count, Positive

if TYPE_CHECKING:
    from tacit.plan.plan import Plan


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Ledger:
    """Limits of a client's own ledger, beyond which the client does not respond, and the delta of
    stated totals.
    """

    delta: Annotated[float, Gt(0), Lt(1)] = 1e-5
    """Delta of the (epsilon, delta) total per run, unless the codec has its own delta."""
    epsilon: Positive | None = None
    """Privacy budget of a client, **per run** at that delta: it refuses a request that would exceed
    the budget.
    """
    participations: Count | None = None
    """Maximum number of rounds in which a client responds. `dp_sum` calibrates its noise to it."""
    separation: Count = 1
    """Minimum number of rounds between responses of a client: with 4 it may respond in rounds 1, 5
    and 9.
    """

    @property
    def rations(self) -> bool:
        """Whether a client may not respond in every round."""
        return self.participations is not None or self.separation > 1

    @property
    def limits_clients(self) -> bool:
        """Whether clients have their own ledgers and may refuse to respond."""
        return self.rations or self.epsilon is not None


def problems(plan: Plan) -> list[str]:
    """List requests of the plan that a client's ledger would refuse, one sentence each."""
    return [*_too_often(plan), *_too_much(plan), *_noise(plan)]


def _too_often(plan: Plan) -> list[str]:
    ledger, server = plan.ledger, plan.server
    if not ledger.rations:
        return []
    if server.cohort != "count":
        return [
            "server.cohort must be 'count' if clients do not respond in every round ([ledger]), got"
            f" {server.cohort!r}"
        ]
    size, clients = server.cohort_size or 0, plan.data.clients
    if plan.data.partition == "client" or not size:
        return []
    found, most = [], math.ceil(server.rounds * size / clients)
    if size * ledger.separation > clients:
        found.append(
            f"ledger.separation = {ledger.separation} with {size:,} clients per round requires at"
            f" least {size * ledger.separation:,} clients; got data.clients = {clients:,}"
        )
    if ledger.participations is not None and most > ledger.participations:
        found.append(
            f"ledger.participations must be at least {most}, since each of {server.rounds} rounds"
            f" samples {size:,} of {clients:,} clients; got {ledger.participations}"
        )
    return found


def _too_much(plan: Plan) -> list[str]:
    stated, allowed = getattr(plan.codec, "epsilon", None), plan.ledger.epsilon
    if (
        allowed is None
        or stated is None
        or getattr(plan.codec, "unit", "") != "run"
        or stated <= allowed
    ):
        return []
    return [
        f"codec.epsilon must be at most ledger.epsilon = {allowed:g} per run, beyond which clients"
        f" refuse; got {stated:g}"
    ]


def _noise(plan: Plan) -> list[str]:
    if not isinstance(plan.codec, DPSum) or plan.codec.noise == "independent":
        return []
    if plan.secure_aggregation is not None:
        return [
            "codec.noise must be 'independent' under [secure_aggregation], whose helpers draw new"
            " noise in each round; got 'banded'"
        ]
    if plan.ledger.separation < 2 or plan.ledger.participations is None:
        return [
            "codec.noise = 'banded' requires ledger.participations, and a ledger.separation of at"
            " least 2, since correlated noise assumes clients that respond several rounds apart"
        ]
    return []
