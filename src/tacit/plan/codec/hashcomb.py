"""`hashcomb`: quantised values as tokens that only clients can decode."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from annotated_types import Ge, Le
from pydantic.dataclasses import dataclass

from tacit.plan.kinds import STRICT, Many, Positive

if TYPE_CHECKING:
    pass


@dataclass(frozen=True, kw_only=True, config=STRICT)
class HashComb:
    """Quantised updates or weights, sent as tokens that only clients can decode; not differentially
    private.
    """

    name: Literal["hashcomb"] = "hashcomb"
    of: Literal["updates", "weights"] = "updates"
    """What is sent: the update of a round, or the weights after it, as in the paper."""
    x_min: float | Many[float] | None = None
    """Minimum of a parameter's value; a list has one minimum per layer of the model."""
    x_max: float | Many[float] | None = None
    """Maximum of a parameter's value; a list has one maximum per layer."""
    agreed: str | None = None
    """The file with range and secret that `tacit negotiate --run NAME` wrote, where NAME is the
    plan's `name`. It replaces `x_min` and `x_max`, which the server then does not know.
    """
    enlargement: Positive = 2.0
    """The range is enlarged on both sides by its largest absolute value divided by this number;
    values outside are clamped.
    """
    levels: Annotated[int, Ge(1), Le(16)] = 8
    """The finest level; level l has 2^l channels."""
    selection: Literal["finest", "last_head", "subset"] = "finest"
    """The level of each parameter: the finest, or drawn by shared coin tosses, as the position of
    the last head or as the number of heads.
    """
    mean_level: Positive | None = None
    """The expected level, if it is drawn by coin tosses."""
    tokens: Literal["keyed", "paper"] = "keyed"
    """`keyed` tokens differ by round and parameter; `paper` tokens are the same for all, which
    reveals the order of channels.
    """
    token_bits: Literal[28, 128] = 28
    """Length of a `paper` token; a `keyed` one has `levels` bits."""
    path: bool = False
    """Send one token for each level up to the parameter's own, instead of a single token."""
    hash: Literal["sha256", "sha3"] = "sha256"
    """The hash of round keys and `paper` tokens: HMAC-SHA-256 or HMAC-SHA3-256."""


def problems(codec: HashComb, *, negotiates_range: bool) -> list[str]:
    """List settings of hashcomb that cannot work, one sentence each."""
    found = [] if negotiates_range else _range(codec)
    if (codec.selection == "finest") != (codec.mean_level is None):
        found.append(
            "codec.mean_level is required if codec.selection is 'last_head' or 'subset', and only"
            f" then; got codec.selection = {codec.selection!r} and mean_level {codec.mean_level}"
        )
    if codec.mean_level is not None and codec.mean_level > codec.levels:
        found.append(
            f"codec.mean_level must be at most codec.levels = {codec.levels}, got"
            f" {codec.mean_level:g}"
        )
    if codec.token_bits != 28 and codec.tokens == "keyed":
        found.append(
            "codec.token_bits requires codec.tokens = 'paper', since keyed tokens have"
            f" {codec.levels} bits; remove it"
        )
    return found


def _range(codec: HashComb) -> list[str]:
    """List what is wrong with the range to quantise."""
    if codec.agreed is not None:
        if (codec.x_min, codec.x_max) == (None, None):
            return []
        return [
            "codec.agreed cannot be combined with codec.x_min and codec.x_max; remove it or them"
        ]
    if codec.x_min is None or codec.x_max is None:
        return [
            "codec.x_min and codec.x_max are required: the minimum and maximum of a parameter; try"
            " ±1e-2 for updates, ±0.35 for weights, or a table [negotiation], or `tacit negotiate`"
            " and codec.agreed = 'agreed.json'"
        ]
    if isinstance(codec.x_min, tuple) != isinstance(codec.x_max, tuple):
        return [
            "codec.x_min and codec.x_max must both be numbers, or both lists with one value per"
            " layer"
        ]
    lows, highs = (
        ends if isinstance(ends, tuple) else (ends,) for ends in (codec.x_min, codec.x_max)
    )
    if len(lows) != len(highs):
        return [
            f"codec.x_max must have as many values as codec.x_min, {len(lows)}, got {len(highs)}"
        ]
    if isinstance(codec.x_min, tuple) and codec.tokens == "paper":
        return [
            "codec.x_min must be one number for all layers, since paper tokens have one range; got"
            " a list"
        ]
    for low, high in zip(lows, highs, strict=True):
        if not low < high:
            return [f"codec.x_max must be greater than codec.x_min = {low:g}, got {high:g}"]
        if codec.of == "updates" and not low <= 0 <= high:
            return [
                f"codec.x_min, codec.x_max: the range of updates must contain 0, got {low:g} to"
                f" {high:g}"
            ]
    return []
