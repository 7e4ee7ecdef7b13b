"""`hashcomb`: levels under tokens only clients can read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from annotated_types import Ge, Le
from pydantic.dataclasses import dataclass

from tacit.plan.kinds import STRICT, Many, Positive

if TYPE_CHECKING:
    from tacit.plan.plan import Plan


@dataclass(frozen=True, kw_only=True, config=STRICT)
class HashComb:
    """Quantised updates or weights under tokens only clients can read; not differentially
    private.
    """

    name: Literal["hashcomb"] = "hashcomb"
    of: Literal["updates", "weights"] = "updates"
    """What is sent: the changes of one round, or the weights after it, as published."""
    x_min: float | Many[float] | None = None
    """Least value of one parameter that is sent; a list has one for each layer of the model."""
    x_max: float | Many[float] | None = None
    """Greatest value of one parameter that is sent; a list has one for each layer."""
    agreed: str | None = None
    """The file in which `tacit negotiate --run NAME` left range and secret, NAME being the plan's
    `name`; instead of `x_min` and `x_max`, which the server then does not know.
    """
    enlargement: Positive = 2.0
    """The range is made longer on both sides by its largest absolute value divided by this; what
    lies outside is clamped.
    """
    levels: Annotated[int, Ge(1), Le(16)] = 8
    """The finest level; level l has 2^l channels."""
    selection: Literal["finest", "last_head", "subset"] = "finest"
    """The level of each parameter: the finest, or by shared coins the position of the last head or
    the number of heads.
    """
    mean_level: Positive | None = None
    """The expected level, if coins choose it."""
    tokens: Literal["keyed", "paper"] = "keyed"
    """`keyed` tokens differ by round and parameter; `paper` ones are the same for all, which shows
    the order of channels.
    """
    token_bits: Literal[28, 128] = 28
    """Length of a `paper` token; a `keyed` one has `levels` bits."""
    path: bool = False
    """Send one token for each level up to the parameter's own, in place of one for its own."""
    hash: Literal["sha256", "sha3"] = "sha256"
    """What keys of rounds and `paper` tokens are made with: HMAC-SHA-256 or HMAC-SHA3-256."""


def problems(codec: object, plan: Plan) -> list[str]:
    """Return a sentence for each setting of hashcomb that cannot work."""
    found = list[str]()
    if not isinstance(codec, HashComb):
        return found
    found += _range(codec)
    if (codec.selection == "finest") != (codec.mean_level is None):
        found.append(
            "codec.mean_level: needs a selection by coins, and that needs it; got"
            f" {codec.selection!r}, {codec.mean_level}"
        )
    if codec.mean_level is not None and codec.mean_level > codec.levels:
        found.append(
            f"codec.mean_level: needs at most codec.levels = {codec.levels}, got"
            f" {codec.mean_level:g}"
        )
    if codec.token_bits != 28 and codec.tokens == "keyed":
        found.append(
            "codec.token_bits: needs codec.tokens = 'paper', since keyed tokens have"
            f" {codec.levels} bits; leave it out"
        )
    return found


def _range(codec: HashComb) -> list[str]:
    """Return a sentence if there is no range to quantise, or none that can hold what is sent."""
    if codec.agreed is not None:
        if (codec.x_min, codec.x_max) == (None, None):
            return []
        return [
            "codec.agreed: needs no codec.x_min and codec.x_max beside it, got both; leave out the"
            " one or the others"
        ]
    if codec.x_min is None or codec.x_max is None:
        return [
            "codec.x_min: needs the least value to be sent, and codec.x_max the greatest; try ±1e-2"
            " for updates, ±0.35 for weights, or `tacit negotiate` and codec.agreed = 'agreed.json'"
        ]
    if isinstance(codec.x_min, tuple) != isinstance(codec.x_max, tuple):
        return [
            "codec.x_max: needs a list, one value for each layer, if codec.x_min is one, and a"
            " number if not"
        ]
    lows, highs = (
        ends if isinstance(ends, tuple) else (ends,) for ends in (codec.x_min, codec.x_max)
    )
    if len(lows) != len(highs):
        return [f"codec.x_max: needs as many values as codec.x_min = {len(lows)}, got {len(highs)}"]
    if isinstance(codec.x_min, tuple) and codec.tokens == "paper":
        return [
            "codec.x_min: needs one number for all layers, since published tokens name one range;"
            " got a list"
        ]
    for low, high in zip(lows, highs, strict=True):
        if not low < high:
            return [f"codec.x_max: needs a value above codec.x_min = {low:g}, got {high:g}"]
        if codec.of == "updates" and not low <= 0 <= high:
            return [f"codec.x_min: needs a range that holds 0, no change; got {low:g} to {high:g}"]
    return []
