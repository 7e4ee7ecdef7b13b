"""Codecs that rotate an update before they randomise it: `projunit`, `onebit` and `skellam`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from annotated_types import Ge, Gt, Le
from pydantic.dataclasses import dataclass

from tacit.plan.kinds import STRICT, Needs, Norm, Per, RunDelta, RunLoss

if TYPE_CHECKING:
    from tacit.plan.plan import Plan

_Reporters = Annotated[float, Gt(0), Le(1)]


@dataclass(frozen=True, kw_only=True, config=STRICT)
class ProjUnit:
    """ProjUnit: a short random vector biased towards the update. Local DP for the whole update."""

    unit: ClassVar[str] = "update"
    USUAL: ClassVar[int] = 1000
    name: Literal["projunit"] = "projunit"
    epsilon: Annotated[float, Ge(1e-2), Le(16), Needs("a value"), Per(unit)]
    """Epsilon **per update**."""
    clip: Norm
    """Maximum L2 norm of an update; larger updates are scaled down. Public, never computed from
    data.
    """
    coordinates: Annotated[int, Ge(32), Le(1_000_000_000)] | None = None
    """Numbers per message, 16 bits each; more of them hardly help. Default: 1000, or all parameters
    if there are fewer.
    """


@dataclass(frozen=True, kw_only=True, config=STRICT)
class OneBit:
    """One random bit per parameter. The server sees only the sum; the randomness of all clients
    together is the noise (distributed DP).
    """

    unit: ClassVar[str] = "run"
    adds_up: ClassVar[bool] = True
    name: Literal["onebit"] = "onebit"
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
    reporters: _Reporters = 1.0
    """Minimum share of a round's clients whose randomness must be in the sum; with fewer responses
    the round leaves the model unchanged.
    """


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Skellam:
    """Integers to which each client adds its share of Skellam noise; the server sees only the sum
    (distributed DP).
    """

    unit: ClassVar[str] = "run"
    adds_up: ClassVar[bool] = True
    name: Literal["skellam"] = "skellam"
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
    bits: Annotated[int, Ge(8), Le(32)] = 18
    """Bits per parameter; integers are added modulo 2^bits. Fewer bits make steps coarser, which
    requires more noise.
    """
    reporters: _Reporters = 1.0
    """Minimum share of a round's clients whose noise must be in the sum; with fewer responses the
    round leaves the model unchanged.
    """


def problems(codec: OneBit | Skellam, plan: Plan) -> list[str]:
    """List settings that contradict a codec whose noise is for one sum over all clients."""
    found, said = [], f"codec.name = {codec.name!r}"
    if plan.server.weights != "equal":
        found.append(
            f"server.weights must be 'equal' with {said}, since its noise covers one client of"
            f" weight 1; got {plan.server.weights!r}"
        )
    if plan.server.sum_at == "site":
        found.append(
            f"server.sum_at must be 'server' with {said}, whose noise is for one sum over all"
            " clients; got 'site'"
        )
    if plan.filter is not None and codec.reporters > 1 - plan.filter.max_rejected + 1e-9:
        found.append(
            f"codec.reporters must be at most {1 - plan.filter.max_rejected:g}, since votes may"
            f" reject a share filter.max_rejected = {plan.filter.max_rejected:g} of the clients"
            f" whose noise counts; got {codec.reporters:g}"
        )
    return found
