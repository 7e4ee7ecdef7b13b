"""What happens to an update before it leaves its client: one file per mechanism, one line each
here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tacit import plan
from tacit.codecs import (
    dp_sum,
    gaussian,
    hashcomb,
    onebit,
    plain,
    projunit,
    qsgd,
    rqm,
    rr,
    rr_sampled,
    skellam,
)
from tacit.codecs.contract import (
    Bound,
    Codec,
    EncodedUpdate,
    Extent,
    IntegerCoding,
    Memory,
    Payload,
    Sum,
    wrap_payload,
)
from tacit.codecs.own import OwnMechanism, build_own, check_own
from tacit.codecs.stages.chain import CodecStage, Stage, chain
from tacit.errors import ChainError

__all__ = [
    "Bound",
    "Codec",
    "CodecStage",
    "EncodedUpdate",
    "Extent",
    "IntegerCoding",
    "Memory",
    "OwnMechanism",
    "Payload",
    "Stage",
    "Sum",
    "build",
    "chain",
    "check_own",
    "list_codecs",
    "wrap_payload",
]  # fmt: skip

_MAKERS: dict[str, Callable[[Any], Codec]] = {
    "plain": plain.make,
    "rr": rr.make,
    "rr_sampled": rr_sampled.make,
    "rqm": rqm.make,
    "projunit": projunit.make,
    "qsgd": qsgd.make,
}


_MAKERS_FOR_A_RUN: dict[str, Callable[[Any, Extent], Codec]] = {
    "gaussian": gaussian.make,
    "dp_sum": dp_sum.make,
    "onebit": onebit.make,
    "skellam": skellam.make,
}
"""Codecs whose epsilon is per run: their noise depends on the number of rounds."""


def build(settings: plan.Codec, extent: Extent | None = None) -> Codec:
    """Build the codec of a plan. A codec whose epsilon is per run, or with one range per layer,
    needs the extent of the run.
    """
    if isinstance(settings, plan.HashComb):
        return hashcomb.make(settings, extent.layers if extent else ())
    if isinstance(settings, plan.OwnCodec) and extent is not None:
        return build_own(settings, extent)
    if settings.name in _MAKERS:
        return _MAKERS[settings.name](settings)
    if extent is None:
        raise ChainError(
            f"codec {settings.name!r} depends on the length of the run; pass"
            " Extent(rounds=…, cohort=…) to build"
        )
    return _MAKERS_FOR_A_RUN[settings.name](settings, extent)


def list_codecs() -> tuple[str, ...]:
    """Names of all codecs."""
    return (*_MAKERS, "hashcomb", *_MAKERS_FOR_A_RUN)
