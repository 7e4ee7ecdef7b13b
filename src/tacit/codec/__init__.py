"""What happens to an update before it leaves its client; one file per mechanism, one line here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tacit import plan
from tacit.codec import hashcomb, plain, rqm, rr, rr_sampled
from tacit.codec.chain import Last, Stage, chain
from tacit.codec.contract import Bound, Codec, Encoded, Memory, Payload, Phase, Sum, encoded

__all__ = [
    "Bound", "Codec", "Encoded", "Last", "Memory", "Payload", "Phase", "Stage", "Sum", "build", "chain", "encoded", "registered",
]  # fmt: skip

_MAKERS: dict[str, Callable[[Any], Codec]] = {
    "plain": plain.make,
    "rr": rr.make,
    "rr_sampled": rr_sampled.make,
    "rqm": rqm.make,
    "hashcomb": hashcomb.make,
}


def build(settings: plan.Codec) -> Codec:
    """Return the codec a plan asks for."""
    return _MAKERS[settings.name](settings)


def registered() -> tuple[str, ...]:
    """Return the names of all codecs."""
    return tuple(_MAKERS)
