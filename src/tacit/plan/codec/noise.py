"""Codecs that add Gaussian noise: `gaussian`, `dp_sum`, and `paper_gaussian`, which promises
nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from annotated_types import Gt, Le, Lt
from pydantic.dataclasses import dataclass

from tacit.plan.kinds import STRICT, Count, Length, Positive, RunDelta, RunLoss

if TYPE_CHECKING:
    from tacit.plan.plan import Plan


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Gaussian:
    """Updates of bounded length with Gaussian noise each client adds: DP-FedAvg that trusts
    nobody.
    """

    unit: ClassVar[str] = "run"
    name: Literal["gaussian"] = "gaussian"
    epsilon: RunLoss
    """The loss all rounds together may cost a client that answers every one, **per run**."""
    delta: RunDelta
    """The chance with which it may cost more; totals per run are stated at it, whatever
    `ledger.delta` is.
    """
    clip: Length
    """Largest length (l2) of an update; longer ones are scaled. Public, never computed from data.
    """


@dataclass(frozen=True, kw_only=True, config=STRICT)
class DPSum:
    """Updates of bounded length, to whose sum Gaussian noise is added: DP-FedAvg that trusts the
    server, or under `[secure_aggregation]` its helpers. With `server.cohort = "poisson"` and no
    helpers less noise keeps the same loss, as long as only the server knows who was asked.
    """

    unit: ClassVar[str] = "run"
    adds_up: ClassVar[bool] = True
    name: Literal["dp_sum"] = "dp_sum"
    epsilon: RunLoss
    """The loss all rounds together may cost a client that answers every one, **per run**."""
    delta: RunDelta
    """The chance with which it may cost more; totals per run are stated at it, whatever
    `ledger.delta` is.
    """
    clip: Length
    """Largest length (l2) of an update; longer ones are scaled. Public, never computed from data.
    """
    noise: Literal["independent", "banded"] = "independent"
    """Noise of each round by itself; or `banded`: part of it is taken back in the rounds after, for
    less in the last model, where clients answer rarely and rounds apart
    ([noise-over-rounds.md](noise-over-rounds.md)).
    """


@dataclass(frozen=True, kw_only=True, config=STRICT)
class PaperGaussian:
    """Gaussian noise as the HashComb paper prints it, on updates that nothing bounds: no
    guarantee.
    """

    name: Literal["paper_gaussian"] = "paper_gaussian"
    stated_epsilon: Positive = 2.0
    """What the paper calls epsilon. No loss is bounded by it."""
    stated_delta: Annotated[float, Gt(0), Lt(1)] = 1e-3
    """What the paper calls delta."""
    gradient: Positive = 2.0
    """The paper's G, the length of a gradient; nothing is clipped to it."""
    lr: Positive = 0.05
    """The paper's η, the rate of local training; it is not taken from `local.lr`."""
    steps: Count = 1
    """The paper's Q, the gradient steps of one round."""
    row_ratio: Annotated[float, Gt(0), Le(1)] = 0.008
    """The paper's q, Q over the rows of a client."""
    logarithm: Literal["natural", "ten"] = "natural"
    """The logarithm of the formula; the variance the paper states comes out with `ten`."""
    factor: Literal["deviation", "variance"] = "deviation"
    """What a unit Gaussian is multiplied by; the paper's program takes the `variance`."""


def problems(codec: object, plan: Plan) -> list[str]:
    """Return a sentence for each setting of a codec with noise that cannot work."""
    if isinstance(codec, PaperGaussian) and 1.25 * codec.row_ratio <= codec.stated_delta:
        return [
            "codec.row_ratio: needs more than 0.8 codec.stated_delta, or the printed variance is"
            f" not above 0; got {codec.row_ratio:g} with stated_delta {codec.stated_delta:g}"
        ]
    if isinstance(codec, DPSum) and plan.server.cohort == "poisson" and plan.filter is not None:
        return [
            "server.cohort: needs 'all' or 'count' with codec.name = 'dp_sum' and [filter], since"
            " votes show everybody who was asked; got 'poisson'"
        ]
    if isinstance(codec, DPSum) and plan.server.weights != "equal":
        return [
            "server.weights: needs 'equal' with codec.name = 'dp_sum', since its noise covers one"
            f" client of weight 1; got {plan.server.weights!r}"
        ]
    return []
