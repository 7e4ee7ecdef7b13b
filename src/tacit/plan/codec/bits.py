"""Codecs that send randomised bits of an update: `rr` and `rr_sampled`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from annotated_types import Ge, Le
from pydantic.dataclasses import dataclass

from tacit.plan.kinds import STRICT, Clip, Needs, Per, Positive

if TYPE_CHECKING:
    from tacit.plan.plan import Plan

_LEAST = 1e-9
"""Below it the 32-bit threshold of a coin is exactly one half, and the bit is independent of the
update.
"""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class RR:
    """One randomised bit per parameter."""

    unit: ClassVar[str] = "bit"
    adds_up: ClassVar[bool] = True
    name: Literal["rr"] = "rr"
    epsilon: Annotated[float, Ge(_LEAST), Le(20), Needs("a value"), Per(unit)]
    """Privacy loss of one bit, **per bit**."""
    clip: Clip
    """Largest change of one parameter in one round; public, never computed from data."""
    clip_l1: Positive | None = None
    """Also clip each update to this L1 norm, which bounds the loss per update."""
    decoder: Literal["corrected", "printed"] = "corrected"
    """`printed` uses the paper's decoding formula, which is wrong, to show its error."""
    of: Literal["updates", "weights"] = "updates"
    """What the bits encode. `weights`: the trained weights themselves, each clipped to ±`clip`, as
    in LDP-FL (Sun et al. 2020).
    """


@dataclass(frozen=True, kw_only=True, config=STRICT)
class RRSampled:
    """A few randomised bits per update, with a guarantee for the whole update."""

    unit: ClassVar[str] = "update"
    name: Literal["rr_sampled"] = "rr_sampled"
    epsilon: Annotated[float, Ge(_LEAST), Le(1000), Needs("a value"), Per(unit)]
    """Epsilon **per update**."""
    clip: Clip
    """Largest change of one parameter in one round; public, never computed from data."""


def problems(codec: RR, plan: Plan) -> list[str]:
    """List settings of rr that cannot work, one sentence each."""
    if codec.of == "weights" and plan.server.one_by_one:
        return [
            f"codec.of must be 'updates' with server.rule = {plan.server.rule!r}, which compares"
            " updates; got 'weights'"
        ]
    return []
