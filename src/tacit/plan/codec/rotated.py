"""Codecs that rotate an update before they randomise it: `projunit`, and `onebit` and `skellam`,
whose sum alone may be seen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from annotated_types import Ge, Gt, Le
from pydantic.dataclasses import dataclass

from tacit.plan.kinds import STRICT, Length, Needs, Per, RunDelta, RunLoss

if TYPE_CHECKING:
    from tacit.plan.plan import Plan

_Reporters = Annotated[float, Gt(0), Le(1)]


@dataclass(frozen=True, kw_only=True, config=STRICT)
class ProjUnit:
    """A short random vector that leans towards the update: sound for the whole update, trusting
    nobody.
    """

    unit: ClassVar[str] = "update"
    USUAL: ClassVar[int] = 1000
    name: Literal["projunit"] = "projunit"
    epsilon: Annotated[float, Ge(1e-2), Le(16), Needs("a value"), Per(unit)]
    """The loss one update may cost, **per update**."""
    clip: Length
    """Largest length (l2) of an update; longer ones are scaled. Public, never computed from data.
    """
    coordinates: Annotated[int, Ge(32), Le(1_000_000_000)] | None = None
    """How many numbers a message has, 16 bits each; more of them hardly help. If not given, 1000,
    or all parameters if fewer.
    """


@dataclass(frozen=True, kw_only=True, config=STRICT)
class OneBit:
    """One random bit per parameter, of which the server sees the sum alone: all clients' coins
    together are the noise.
    """

    unit: ClassVar[str] = "run"
    adds_up: ClassVar[bool] = True
    name: Literal["onebit"] = "onebit"
    epsilon: RunLoss
    """The loss all rounds together may cost a client that answers every one, **per run**."""
    delta: RunDelta
    """The chance with which it may cost more; totals per run are stated at it, whatever
    `ledger.delta` is.
    """
    clip: Length
    """Largest length (l2) of an update; longer ones are scaled. Public, never computed from data.
    """
    reporters: _Reporters = 1.0
    """The share of a round's clients whose coins are counted on: with fewer answers the model stays
    as it is.
    """


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Skellam:
    """Whole numbers to which each client adds its share of the noise, and of which the server sees
    the sum alone.
    """

    unit: ClassVar[str] = "run"
    adds_up: ClassVar[bool] = True
    name: Literal["skellam"] = "skellam"
    epsilon: RunLoss
    """The loss all rounds together may cost a client that answers every one, **per run**."""
    delta: RunDelta
    """The chance with which it may cost more; totals per run are stated at it, whatever
    `ledger.delta` is.
    """
    clip: Length
    """Largest length (l2) of an update; longer ones are scaled. Public, never computed from data.
    """
    bits: Annotated[int, Ge(8), Le(32)] = 18
    """Bits per parameter; numbers are added up modulo 2^bits. Fewer of them make steps coarser,
    which costs noise.
    """
    reporters: _Reporters = 1.0
    """The share of a round's clients whose noise is counted on: with fewer answers the model stays
    as it is.
    """


def problems(codec: object, plan: Plan) -> list[str]:
    """Return a sentence for each setting of a codec that has no meaning unless one sum over all
    clients is seen.
    """
    if not isinstance(codec, OneBit | Skellam):
        return []
    found, said = [], f"codec.name = {codec.name!r}"
    if plan.server.weights != "equal":
        found.append(
            f"server.weights: needs 'equal' with {said}, since its noise covers one client of"
            f" weight 1; got {plan.server.weights!r}"
        )
    if plan.server.sum_at == "site":
        found.append(
            f"server.sum_at: needs 'server' with {said}, whose noise is for one sum over all"
            " clients; got 'site'"
        )
    if plan.filter is not None and codec.reporters > 1 - plan.filter.max_rejected + 1e-9:
        found.append(
            f"codec.reporters: needs at most {1 - plan.filter.max_rejected:g}, since votes may"
            f" reject a share filter.max_rejected = {plan.filter.max_rejected:g} of the clients"
            f" whose noise counts; got {codec.reporters:g}"
        )
    return found
