"""Codecs that round an update to levels: `rqm`, and `qsgd`, which protects nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from annotated_types import Ge, Gt, Le, Lt
from pydantic.dataclasses import dataclass

from tacit.plan.kinds import STRICT, Clip, Count, Needs, Positive

if TYPE_CHECKING:
    from tacit.plan.plan import Plan


@dataclass(frozen=True, kw_only=True, config=STRICT)
class RQM:
    """A few random levels, and random rounding to one of them: a quantiser with a guarantee per
    coordinate.
    """

    name: Literal["rqm"] = "rqm"
    clip: Clip
    """Largest change of one parameter in one round; public, never computed from data."""
    margin: Annotated[
        Positive, Needs("how far levels reach beyond the clip", "try the clip itself")
    ]
    """How far levels reach beyond the clip. More of it costs accuracy and lowers epsilon."""
    levels: Annotated[int, Ge(2), Le(256)] = 16
    """How many levels there are; a parameter takes log2 of that in bits, rounded up."""
    keep: Annotated[float, Gt(0), Lt(1)] = 0.42
    """The probability that a level other than the outermost may be used. Less of it costs accuracy
    and lowers epsilon.
    """
    coordinates: Count | None = None
    """Send only this many parameters of each update, picked by public randomness; all others cost
    nothing.
    """
    tokens: bool = False
    """Send levels under tokens only clients can read, as `hashcomb` does; costs and claims stay the
    same.
    """


@dataclass(frozen=True, kw_only=True, config=STRICT)
class QSGD:
    """A few bits per parameter by random rounding, for the bytes: no protection."""

    name: Literal["qsgd"] = "qsgd"
    bits: Annotated[int, Ge(1), Le(16)] = 8
    """Bits per parameter, the sign among them."""
    norm: Literal["l2", "max"] = "l2"
    """The range of the levels: the L2 norm of the update, as published, or its largest absolute
    value, which rounds less.
    """


def problems(codec: object, plan: Plan) -> list[str]:
    """Return a sentence for each setting of a codec with levels that cannot work."""
    found = list[str]()
    if not isinstance(codec, RQM):
        return found
    if not 1e-3 <= codec.margin / codec.clip <= 1e3:
        found.append(
            "codec.margin: needs a value from codec.clip / 1000 to 1000 codec.clip; got"
            f" {codec.margin:g} with clip {codec.clip:g}"
        )
    if codec.tokens and codec.coordinates is not None:
        found.append(
            "codec.tokens: needs all coordinates of an update, to be counted by coordinate; leave"
            " out codec.coordinates"
        )
    return found
