"""[ledger]: what a client's own ledger allows, and how the account of privacy is stated."""

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
    """What a client's own ledger allows, and how the account of privacy is stated. A client does
    not answer beyond it.
    """

    delta: Annotated[float, Gt(0), Lt(1)] = 1e-5
    """The delta of the (epsilon, delta) total per run; a codec with a delta of its own states
    totals at that.
    """
    epsilon: Positive | None = None
    """The most a client spends, **per run** at that delta: it refuses an answer that would cost it
    more.
    """
    participations: Count | None = None
    """In how many rounds a client answers at most. `dp_sum` needs noise for no more."""
    separation: Count = 1
    """How many rounds lie at least from one answer of a client to its next: with 4 it may answer in
    rounds 1, 5 and 9.
    """

    @property
    def rations(self) -> bool:
        """Return whether a client may not answer in every round."""
        return self.participations is not None or self.separation > 1

    @property
    def limits_clients(self) -> bool:
        """Whether clients have ledgers of their own, by which they may refuse to answer."""
        return self.rations or self.epsilon is not None


def problems(plan: Plan) -> list[str]:
    """Return a sentence for each thing the plan asks of a client that its ledger would refuse, as
    far as that is known before.
    """
    return [*_too_often(plan), *_too_much(plan), *_noise(plan)]


def _too_often(plan: Plan) -> list[str]:
    ledger, server = plan.ledger, plan.server
    if not ledger.rations:
        return []
    if server.cohort != "count":
        return [
            "server.cohort: needs 'count' where clients do not answer in every round ([ledger]);"
            f" got {server.cohort!r}"
        ]
    size, clients = server.cohort_size or 0, plan.data.clients
    if plan.data.partition == "client" or not size:
        return []
    found, most = [], math.ceil(server.rounds * size / clients)
    if size * ledger.separation > clients:
        found.append(
            f"ledger.separation: needs at least {size * ledger.separation:,} clients, so that"
            f" {size:,} a round are {ledger.separation} rounds apart; got data.clients ="
            f" {clients:,}"
        )
    if ledger.participations is not None and most > ledger.participations:
        found.append(
            f"ledger.participations: needs at least {most}, since {server.rounds} rounds ask"
            f" {size:,} of {clients:,} clients each; got {ledger.participations}"
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
        f"codec.epsilon: needs at most ledger.epsilon = {allowed:g} per run, beyond which clients"
        f" refuse; got {stated:g}"
    ]


def _noise(plan: Plan) -> list[str]:
    if not isinstance(plan.codec, DPSum) or plan.codec.noise == "independent":
        return []
    if plan.secure_aggregation is not None:
        return [
            "codec.noise: needs 'independent' under [secure_aggregation], whose helpers draw each"
            " round's"
            " noise anew; got 'banded'"
        ]
    if plan.ledger.separation < 2 or plan.ledger.participations is None:
        return [
            "codec.noise: needs ledger.participations, and a ledger.separation of 2 or more, since"
            " noise of rounds goes together only where clients answer rounds apart; got 'banded'"
        ]
    return []
