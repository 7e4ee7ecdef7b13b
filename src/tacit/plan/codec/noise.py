"""Codecs with Gaussian noise: `gaussian` and `dp_sum`."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic.dataclasses import dataclass

from tacit.plan.kinds import STRICT, Norm, RunDelta, RunLoss

if TYPE_CHECKING:
    from tacit.plan.plan import Plan


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Gaussian:
    """Clipped updates with Gaussian noise that each client adds: DP-FedAvg with local DP."""

    unit: ClassVar[str] = "run"
    name: Literal["gaussian"] = "gaussian"
    epsilon: RunLoss
    """Privacy loss of a client that responds in all rounds, **per run**."""
    delta: RunDelta
    """Probability that the loss is larger. Totals per run are stated at this delta, not at
    `ledger.delta`.
    """
    clip: Norm
    """Maximum L2 norm of an update; larger updates are scaled down. Public, never computed from
    data.
    """


@dataclass(frozen=True, kw_only=True, config=STRICT)
class DPSum:
    """Clipped updates; Gaussian noise is added to their sum: DP-FedAvg with central DP, which
    trusts the server, or the helpers of `[secure_aggregation]`. Only with `server.cohort =
    "poisson"` and without helpers does privacy amplification by subsampling reduce the noise; only
    the server may then know who was sampled.
    """

    unit: ClassVar[str] = "run"
    adds_up: ClassVar[bool] = True
    name: Literal["dp_sum"] = "dp_sum"
    epsilon: RunLoss
    """Privacy loss of a client that responds in all rounds, **per run**."""
    delta: RunDelta
    """Probability that the loss is larger. Totals per run are stated at this delta, not at
    `ledger.delta`.
    """
    clip: Norm
    """Maximum L2 norm of an update; larger updates are scaled down. Public, never computed from
    data.
    """
    noise: Literal["independent", "banded"] = "independent"
    """`independent` noise in each round, or `banded`: noise correlated over rounds (banded matrix
    factorisation), so that less of it remains in the last model. `banded` requires clients that
    respond rarely, several rounds apart ([noise-over-rounds.md](concepts/noise-over-rounds.md)).
    """


def problems(codec: DPSum, plan: Plan) -> list[str]:
    """List settings of a codec with noise that cannot work, one sentence each."""
    if plan.server.cohort == "poisson" and plan.filter is not None:
        return [
            "server.cohort must be 'all' or 'count' with codec.name = 'dp_sum' and [filter], since"
            " votes reveal who was sampled; got 'poisson'"
        ]
    if plan.server.weights != "equal":
        return [
            "server.weights must be 'equal' with codec.name = 'dp_sum', since its noise covers one"
            f" client of weight 1; got {plan.server.weights!r}"
        ]
    return []
