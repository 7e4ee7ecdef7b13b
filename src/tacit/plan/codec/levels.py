"""Codecs that round an update to levels: `rqm`, and `qsgd`, which protects nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from annotated_types import Ge, Gt, Le, Lt
from pydantic.dataclasses import dataclass

from tacit.plan.kinds import STRICT, Clip, Count, Needs, Positive

if TYPE_CHECKING:
    pass


@dataclass(frozen=True, kw_only=True, config=STRICT)
class RQM:
    """Randomised quantisation: random rounding to a random subset of levels, with a guarantee per
    coordinate.
    """

    name: Literal["rqm"] = "rqm"
    clip: Clip
    """Largest change of one parameter in one round; public, never computed from data."""
    margin: Annotated[
        Positive, Needs("how far the levels extend beyond the clip", "try the clip itself")
    ]
    """How far the levels extend beyond the clip. A larger margin lowers epsilon and accuracy."""
    levels: Annotated[int, Ge(2), Le(256)] = 16
    """Number of levels; a parameter takes ceil(log2(levels)) bits."""
    keep: Annotated[float, Gt(0), Lt(1)] = 0.42
    """Probability that a level other than the outermost two may be used. A smaller probability
    lowers epsilon and accuracy.
    """
    coordinates: Count | None = None
    """Send only this many parameters of each update, chosen by public randomness; the others incur
    no privacy loss.
    """
    tokens: bool = False
    """Send levels as tokens that only clients can decode, as `hashcomb` does; the privacy claim is
    the same.
    """


@dataclass(frozen=True, kw_only=True, config=STRICT)
class QSGD:
    """A few bits per parameter by random rounding, to reduce bytes: no protection."""

    name: Literal["qsgd"] = "qsgd"
    bits: Annotated[int, Ge(1), Le(16)] = 8
    """Bits per parameter, including the sign."""
    norm: Literal["l2", "max"] = "l2"
    """The range of the levels: the L2 norm of the update, as published, or its largest absolute
    value, which rounds less.
    """


def problems(codec: RQM) -> list[str]:
    """List settings of rqm that cannot work, one sentence each."""
    found = list[str]()
    if not 1e-3 <= codec.margin / codec.clip <= 1e3:
        found.append(
            "codec.margin must be between codec.clip / 1000 and 1000 codec.clip, got"
            f" {codec.margin:g} with clip {codec.clip:g}"
        )
    if codec.tokens and codec.coordinates is not None:
        found.append(
            "codec.tokens requires all coordinates of an update, since tokens are counted per"
            " coordinate; remove codec.coordinates"
        )
    return found
