"""Codecs with Gaussian noise: `gaussian`, `dp_sum`, and `paper_gaussian`, which has no guarantee."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from annotated_types import Gt, Le, Lt
from pydantic.dataclasses import dataclass

from tacit.plan.kinds import STRICT, Count, Norm, Positive, RunDelta, RunLoss

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
    respond rarely, several rounds apart ([noise-over-rounds.md](noise-over-rounds.md)).
    """


@dataclass(frozen=True, kw_only=True, config=STRICT)
class PaperGaussian:
    """Gaussian noise as printed in the HashComb paper, on unclipped updates: no guarantee."""

    name: Literal["paper_gaussian"] = "paper_gaussian"
    stated_epsilon: Positive = 2.0
    """The paper's epsilon. It bounds no privacy loss."""
    stated_delta: Annotated[float, Gt(0), Lt(1)] = 1e-3
    """The paper's delta."""
    gradient: Positive = 2.0
    """The paper's G, the norm of a gradient; nothing is clipped to it."""
    lr: Positive = 0.05
    """The paper's η, the local learning rate; it is not taken from `local.lr`."""
    steps: Count = 1
    """The paper's Q, the gradient steps of one round."""
    row_ratio: Annotated[float, Gt(0), Le(1)] = 0.008
    """The paper's q, Q over the rows of a client."""
    logarithm: Literal["natural", "ten"] = "natural"
    """The logarithm of the formula; `ten` gives the variance that the paper states."""
    factor: Literal["deviation", "variance"] = "deviation"
    """The factor of a unit Gaussian; the paper's program uses the `variance`."""


def problems(codec: DPSum | PaperGaussian, plan: Plan) -> list[str]:
    """List settings of a codec with noise that cannot work, one sentence each."""
    if isinstance(codec, PaperGaussian) and 1.25 * codec.row_ratio <= codec.stated_delta:
        return [
            "codec.row_ratio must exceed 0.8 codec.stated_delta, or the printed variance is not"
            f" positive; got {codec.row_ratio:g} with stated_delta {codec.stated_delta:g}"
        ]
    if isinstance(codec, DPSum) and plan.server.cohort == "poisson" and plan.filter is not None:
        return [
            "server.cohort must be 'all' or 'count' with codec.name = 'dp_sum' and [filter], since"
            " votes reveal who was sampled; got 'poisson'"
        ]
    if isinstance(codec, DPSum) and plan.server.weights != "equal":
        return [
            "server.weights must be 'equal' with codec.name = 'dp_sum', since its noise covers one"
            f" client of weight 1; got {plan.server.weights!r}"
        ]
    return []
