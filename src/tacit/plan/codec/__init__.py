"""[codec]: how updates are encoded before they leave the client; one class per codec."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from tacit.plan.codec import bits, hashcomb, levels, noise, rotated
from tacit.plan.codec.bits import RR, RRSampled
from tacit.plan.codec.hashcomb import HashComb
from tacit.plan.codec.levels import QSGD, RQM
from tacit.plan.codec.noise import DPSum, Gaussian
from tacit.plan.codec.own import OwnCodec
from tacit.plan.codec.plain import Plain
from tacit.plan.codec.rotated import OneBit, ProjUnit, Skellam
from tacit.plan.kinds import tables_in

if TYPE_CHECKING:
    from tacit.plan.plan import Plan

__all__ = [
     "QSGD", "RQM", "RR", "Codec", "DPSum", "Gaussian", "HashComb", "OneBit", "OwnCodec",
    "Plain", "ProjUnit", "RRSampled", "Skellam", "epsilon_unit", "problems", "readable",
    "sums_integers",
]  # fmt: skip

Codec = (
    Plain
    | RR
    | RRSampled
    | RQM
    | ProjUnit
    | HashComb
    | Gaussian
    | DPSum
    | OneBit
    | Skellam
    | QSGD
    | OwnCodec
)


def epsilon_unit(name: str) -> str:
    """The unit of the epsilon of the codec with this name."""
    return str(getattr(tables_in(Codec).get(name), "unit", "update"))


def problems(plan: Plan) -> list[str]:
    """List settings of the codec that cannot work, one sentence each."""
    return [*_unsent(plan), *_unread(plan), *_own_problems(plan)]


def _own_problems(plan: Plan) -> list[str]:
    """List problems that only this codec has; the files of other codecs are not visited."""
    match plan.codec:
        case RR():
            return bits.problems(plan.codec, plan)
        case RQM():
            return levels.problems(plan.codec)
        case HashComb():
            return hashcomb.problems(plan.codec, negotiates_range=plan.negotiates_range)
        case DPSum():
            return noise.problems(plan.codec, plan)
        case OneBit() | Skellam():
            return rotated.problems(plan.codec, plan)
        case Plain() | RRSampled() | ProjUnit() | Gaussian() | QSGD() | OwnCodec():
            return []
        case _:
            assert_never(plan.codec)


def readable(codec: Codec) -> bool:
    """Whether the server can read the sum of updates; otherwise only clients can."""
    return not isinstance(codec, HashComb) and not (isinstance(codec, RQM) and codec.tokens)


def sums_integers(codec: Codec) -> bool:
    """Whether a site can add its clients' messages as integers, which is exact in any order.

    Codecs whose noise is for one sum over all clients, and tokens that only clients can read, are
    added in one place.
    """
    match codec:
        case RR() | RRSampled() | ProjUnit() | Gaussian() | DPSum():
            return True
        case RQM():
            return not codec.tokens
        case Plain() | QSGD() | HashComb() | OneBit() | Skellam() | OwnCodec():
            return False
        case _:
            assert_never(codec)


def _unread(plan: Plan) -> list[str]:
    if readable(plan.codec) or plan.data.share is None:
        return []
    return [
        "data.share requires a codec that the server can decode, since the server trains on"
        f" disclosed rows; got tokens ({plan.codec.name!r})"
    ]


def _unsent(plan: Plan) -> list[str]:
    if plan.regime == "federated" or isinstance(plan.codec, Plain):
        return []
    return [
        f"codec.name must be 'plain', since regime = {plan.regime!r} sends no update; got"
        f" {plan.codec.name!r}"
    ]
