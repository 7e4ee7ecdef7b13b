"""What happens to an update before it leaves its client: one file per mechanism, one line each
here.
"""

from __future__ import annotations

from typing import assert_never

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
from tacit.plan.kinds import OWN, tables_in

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


def build(settings: plan.Codec, extent: Extent | None = None) -> Codec:
    """Build the codec of a plan. A codec whose epsilon is per run, or with one range per layer,
    needs the extent of the run.
    """
    match settings:
        case plan.Plain():
            return plain.make(settings)
        case plan.RR():
            return rr.make(settings)
        case plan.RRSampled():
            return rr_sampled.make(settings)
        case plan.RQM():
            return rqm.make(settings)
        case plan.ProjUnit():
            return projunit.make(settings)
        case plan.QSGD():
            return qsgd.make(settings)
        case plan.HashComb():
            return hashcomb.make(settings, extent.layers if extent else ())
        case _:
            return _build_for_run(settings, extent)


def _build_for_run(
    settings: plan.Gaussian | plan.DPSum | plan.OneBit | plan.Skellam | plan.OwnCodec,
    extent: Extent | None,
) -> Codec:
    """Build a codec whose epsilon is per run: its noise depends on the number of rounds."""
    if extent is None:
        raise ChainError(
            f"codec {settings.name!r} depends on the length of the run; pass"
            " Extent(rounds=…, cohort=…) to build"
        )
    match settings:
        case plan.Gaussian():
            return gaussian.make(settings, extent)
        case plan.DPSum():
            return dp_sum.make(settings, extent)
        case plan.OneBit():
            return onebit.make(settings, extent)
        case plan.Skellam():
            return skellam.make(settings, extent)
        case plan.OwnCodec():
            return build_own(settings, extent)
        case _:
            assert_never(settings)


def list_codecs() -> tuple[str, ...]:
    """Names of all codecs that a plan can name, except those of a user's own."""
    return tuple(name for name in tables_in(plan.Codec) if name != OWN)
