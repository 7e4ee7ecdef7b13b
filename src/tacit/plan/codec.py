"""[codec]: what happens to an update before it leaves the client; one class per codec, each with its own keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from annotated_types import Ge, Gt, Le, Lt
from pydantic.dataclasses import dataclass

from tacit.plan.kinds import STRICT, Count, Needs, Per, Positive, tables_in

if TYPE_CHECKING:
    from tacit.plan.plan import Plan

_LEAST = 1e-9
"""Below it the 32-bit threshold of a coin is exactly one half: nothing of the update would be left."""

_Clip = Annotated[Positive, Needs("the largest change of one weight", "try 1e-3, or ask `tacit advise`")]


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Plain:
    """32-bit numbers as they are: no protection."""

    name: Literal["plain"] = "plain"


@dataclass(frozen=True, kw_only=True, config=STRICT)
class RR:
    """One randomised bit per parameter."""

    unit: ClassVar[str] = "bit"
    name: Literal["rr"] = "rr"
    epsilon: Annotated[float, Ge(_LEAST), Le(20), Needs("a value"), Per(unit)]
    """The loss one bit may cost, **per bit**."""
    clip: _Clip
    """Largest change of one parameter in one round; public, never computed from data."""
    clip_l1: Positive | None = None
    """Also bound the sum of all changes of an update, which bounds the loss per update."""
    decoder: Literal["corrected", "printed"] = "corrected"
    """`printed` decodes as the paper prints it, which is wrong, to show the error."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class RRSampled:
    """A few randomised bits per update, sound for the whole update."""

    unit: ClassVar[str] = "update"
    name: Literal["rr_sampled"] = "rr_sampled"
    epsilon: Annotated[float, Ge(_LEAST), Le(1000), Needs("a value"), Per(unit)]
    """The loss one update may cost, **per update**."""
    clip: _Clip
    """Largest change of one parameter in one round; public, never computed from data."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class RQM:
    """A few random levels, and random rounding to one of them: a quantiser with a guarantee per coordinate."""

    name: Literal["rqm"] = "rqm"
    clip: _Clip
    """Largest change of one parameter in one round; public, never computed from data."""
    margin: Annotated[Positive, Needs("how far levels reach beyond the clip", "try the clip itself")]
    """How far levels reach beyond the clip. More of it costs accuracy and lowers epsilon."""
    levels: Annotated[int, Ge(2), Le(256)] = 16
    """How many levels there are; a parameter takes log2 of that in bits, rounded up."""
    keep: Annotated[float, Gt(0), Lt(1)] = 0.42
    """The probability that a level other than the outermost may be used. Less of it costs accuracy and lowers epsilon."""
    coordinates: Count | None = None
    """Send only this many parameters of each update, picked by public randomness; all others cost nothing."""
    tokens: bool = False
    """Send levels under tokens only clients can read, as `hashcomb` does; costs and claims stay the same."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class HashComb:
    """Quantised updates or weights under tokens only clients can read; not differentially private."""

    name: Literal["hashcomb"] = "hashcomb"
    of: Literal["updates", "weights"] = "updates"
    """What is sent: the changes of one round, or the weights after it, as published."""
    x_min: float | tuple[float, ...] | None = None
    """Least value of one parameter that is sent; a list has one for each layer of the model."""
    x_max: float | tuple[float, ...] | None = None
    """Greatest value of one parameter that is sent; a list has one for each layer."""
    agreed: str | None = None
    """The file in which `tacit negotiate --run NAME` left range and secret, NAME being the plan's `name`; instead of `x_min`
    and `x_max`, which the server then does not know."""
    enlargement: Positive = 2.0
    """The range is made longer on both sides by its largest absolute value divided by this; what lies outside is clamped."""
    levels: Annotated[int, Ge(1), Le(16)] = 8
    """The finest level; level l has 2^l channels."""
    selection: Literal["finest", "last_head", "subset"] = "finest"
    """The level of each parameter: the finest, or by shared coins the position of the last head or the number of heads."""
    mean_level: Positive | None = None
    """The expected level, if coins choose it."""
    tokens: Literal["keyed", "paper"] = "keyed"
    """`keyed` tokens differ by round and parameter; `paper` ones are the same for all, which shows the order of channels."""
    token_bits: Literal[28, 128] = 28
    """Length of a `paper` token; a `keyed` one has `levels` bits."""
    path: bool = False
    """Send one token for each level up to the parameter's own, in place of one for its own."""
    hash: Literal["sha256", "sha3"] = "sha256"
    """What keys of rounds and `paper` tokens are made with: HMAC-SHA-256 or HMAC-SHA3-256."""


_RunLoss = Annotated[float, Ge(1e-3), Le(50), Needs("a value"), Per("run")]
_RunDelta = Annotated[float, Gt(0), Lt(0.5), Needs("the chance with which epsilon may not hold, per run", "try 1e-5")]
_Length = Annotated[Positive, Needs("the largest length of an update", "try 1")]


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Gaussian:
    """Updates of bounded length with Gaussian noise each client adds: DP-FedAvg that trusts nobody."""

    unit: ClassVar[str] = "run"
    name: Literal["gaussian"] = "gaussian"
    epsilon: _RunLoss
    """The loss all rounds together may cost a client that answers every one, **per run**."""
    delta: _RunDelta
    """The chance with which it may cost more; totals per run are stated at it, whatever `ledger.delta` is."""
    clip: _Length
    """Largest length (l2) of an update; longer ones are scaled. Public, never computed from data."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class DPSum:
    """Updates of bounded length, to whose sum the server adds Gaussian noise: DP-FedAvg that trusts the server."""

    unit: ClassVar[str] = "run"
    name: Literal["dp_sum"] = "dp_sum"
    epsilon: _RunLoss
    """The loss all rounds together may cost a client that answers every one, **per run**."""
    delta: _RunDelta
    """The chance with which it may cost more; totals per run are stated at it, whatever `ledger.delta` is."""
    clip: _Length
    """Largest length (l2) of an update; longer ones are scaled. Public, never computed from data."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class PaperGaussian:
    """Gaussian noise as the HashComb paper prints it, on updates that nothing bounds: no guarantee."""

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


@dataclass(frozen=True, kw_only=True, config=STRICT)
class QSGD:
    """A few bits per parameter by random rounding, for the bytes: no protection."""

    name: Literal["qsgd"] = "qsgd"
    bits: Annotated[int, Ge(1), Le(16)] = 8
    """Bits per parameter, the sign among them."""
    size: Literal["length", "largest"] = "length"
    """What levels reach to: the update's length (l2), as published, or its largest value, which rounds less."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Sign:
    """One bit per parameter, its sign, and one mean size, for the bytes: no protection, and biased."""

    name: Literal["sign"] = "sign"


Codec = Plain | RR | RRSampled | RQM | HashComb | Gaussian | DPSum | PaperGaussian | QSGD | Sign


def epsilon_unit(name: str) -> str:
    """Return what the epsilon of the codec of that name is per."""
    return str(getattr(tables_in(Codec).get(name), "unit", "update"))


def problems(plan: Plan) -> list[str]:
    """Return a sentence if updates are to be coded that nobody sends, or for settings that cannot work."""
    return [
        *_unsent(plan), *_levels(plan.codec), *_tokens(plan), *_hashcomb(plan), *_weights(plan), *_printed(plan.codec),
    ]  # fmt: skip


def readable(codec: Codec) -> bool:
    """Return whether a server can read what updates add up to; else only clients can."""
    return not isinstance(codec, HashComb) and not (isinstance(codec, RQM) and codec.tokens)


def _tokens(plan: Plan) -> list[str]:
    found = []
    if not readable(plan.codec) and plan.data.share is not None:
        found.append(
            f"data.share: needs a codec the server can read, to train on rows of its own; got tokens ({plan.codec.name!r})"
        )
    if isinstance(plan.codec, RQM) and plan.codec.tokens and plan.codec.coordinates is not None:
        found.append("codec.tokens: needs all coordinates of an update, to be counted by coordinate; leave out codec.coordinates")
    return found


def _unsent(plan: Plan) -> list[str]:
    if plan.regime == "federated" or isinstance(plan.codec, Plain):
        return []
    return [f"codec.name: needs 'plain', since regime = {plan.regime!r} sends no update; got {plan.codec.name!r}"]


def _levels(codec: Codec) -> list[str]:
    if not isinstance(codec, RQM) or 1e-3 <= codec.margin / codec.clip <= 1e3:
        return []
    return [f"codec.margin: needs a value from codec.clip / 1000 to 1000 codec.clip; got {codec.margin:g} with clip {codec.clip:g}"]


def _printed(codec: Codec) -> list[str]:
    if not isinstance(codec, PaperGaussian) or 1.25 * codec.row_ratio > codec.stated_delta:
        return []
    return [
        f"codec.row_ratio: needs more than 0.8 codec.stated_delta, or the printed variance is not above 0; got {codec.row_ratio:g} "
        f"with stated_delta {codec.stated_delta:g}"
    ]


def _weights(plan: Plan) -> list[str]:
    if not isinstance(plan.codec, DPSum) or plan.server.weights == "equal":
        return []
    return [
        f"server.weights: needs 'equal' with codec.name = 'dp_sum', since its noise covers one client of weight 1; "
        f"got {plan.server.weights!r}"
    ]


def _hashcomb(plan: Plan) -> list[str]:
    codec, found = plan.codec, list[str]()
    if not isinstance(codec, HashComb):
        return found
    found += _range(codec)
    if (codec.selection == "finest") != (codec.mean_level is None):
        found.append(
            f"codec.mean_level: needs a selection by coins, and that needs it; got {codec.selection!r}, {codec.mean_level}"
        )
    if codec.mean_level is not None and codec.mean_level > codec.levels:
        found.append(f"codec.mean_level: needs at most codec.levels = {codec.levels}, got {codec.mean_level:g}")
    if codec.token_bits != 28 and codec.tokens == "keyed":
        found.append(f"codec.token_bits: needs codec.tokens = 'paper', since keyed tokens have {codec.levels} bits; leave it out")
    return found


def _range(codec: HashComb) -> list[str]:
    """Return a sentence if there is no range to quantise, or none that can hold what is sent."""
    if codec.agreed is not None:
        if (codec.x_min, codec.x_max) == (None, None):
            return []
        return ["codec.agreed: needs no codec.x_min and codec.x_max beside it, got both; leave out the one or the others"]
    if codec.x_min is None or codec.x_max is None:
        return [
            "codec.x_min: needs the least value to be sent, and codec.x_max the greatest; try ±1e-2 for updates, ±0.35 for "
            "weights, or `tacit negotiate` and codec.agreed = 'agreed.json'"
        ]
    if isinstance(codec.x_min, tuple) != isinstance(codec.x_max, tuple):
        return ["codec.x_max: needs a list, one value for each layer, if codec.x_min is one, and a number if not"]
    lows, highs = (ends if isinstance(ends, tuple) else (ends,) for ends in (codec.x_min, codec.x_max))
    if len(lows) != len(highs):
        return [f"codec.x_max: needs as many values as codec.x_min = {len(lows)}, got {len(highs)}"]
    if isinstance(codec.x_min, tuple) and codec.tokens == "paper":
        return ["codec.x_min: needs one number for all layers, since published tokens name one range; got a list"]
    for low, high in zip(lows, highs, strict=True):
        if not low < high:
            return [f"codec.x_max: needs a value above codec.x_min = {low:g}, got {high:g}"]
        if codec.of == "updates" and not low <= 0 <= high:
            return [f"codec.x_min: needs a range that holds 0, no change; got {low:g} to {high:g}"]
    return []
