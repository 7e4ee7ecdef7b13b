"""Codecs that send bits of an update: `rr`, `rr_sampled`, and `sign`, which protects nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from annotated_types import Ge, Le
from pydantic.dataclasses import dataclass

from tacit.plan.kinds import STRICT, Clip, Needs, Per, Positive

if TYPE_CHECKING:
    from tacit.plan.plan import Plan

_LEAST = 1e-9
"""Below it the 32-bit threshold of a coin is exactly one half: nothing of the update would be left.
"""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class RR:
    """One randomised bit per parameter."""

    unit: ClassVar[str] = "bit"
    adds_up: ClassVar[bool] = True
    name: Literal["rr"] = "rr"
    epsilon: Annotated[float, Ge(_LEAST), Le(20), Needs("a value"), Per(unit)]
    """The loss one bit may cost, **per bit**."""
    clip: Clip
    """Largest change of one parameter in one round; public, never computed from data."""
    clip_l1: Positive | None = None
    """Also bound the sum of all changes of an update, which bounds the loss per update."""
    decoder: Literal["corrected", "printed"] = "corrected"
    """`printed` decodes as the paper prints it, which is wrong, to show the error."""
    of: Literal["updates", "weights"] = "updates"
    """What the bits are of. `weights`: the trained weights themselves, each within ±`clip`, as
    LDP-FL has it (Sun et al. 2020).
    """


@dataclass(frozen=True, kw_only=True, config=STRICT)
class RRSampled:
    """A few randomised bits per update, sound for the whole update."""

    unit: ClassVar[str] = "update"
    name: Literal["rr_sampled"] = "rr_sampled"
    epsilon: Annotated[float, Ge(_LEAST), Le(1000), Needs("a value"), Per(unit)]
    """The loss one update may cost, **per update**."""
    clip: Clip
    """Largest change of one parameter in one round; public, never computed from data."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Sign:
    """One bit per parameter, its sign, and one mean size, for the bytes: no protection, and
    biased.
    """

    name: Literal["sign"] = "sign"


def problems(codec: object, plan: Plan) -> list[str]:
    """Return a sentence if weights are sent to a rule that compares updates."""
    if isinstance(codec, RR) and codec.of == "weights" and plan.server.one_by_one:
        return [
            f"codec.of: needs 'updates' with server.rule = {plan.server.rule!r}, which compares"
            " updates; got 'weights'"
        ]
    return []
