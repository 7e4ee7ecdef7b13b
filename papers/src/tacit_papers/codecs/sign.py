"""The sign of each parameter's change and the mean absolute value: one bit each, biased, without
any protection. A baseline for bytes.

Guarantees: none of privacy. Decoding gives the sign times the mean absolute value, which is not the
update, not even on average. The server refuses an update that is not finite. Source: Bernstein,
Wang, Azizzadenesheli, Anandkumar 2018, *signSGD*, with the scale of Karimireddy et al. 2019.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.codecs import Codec, EncodedUpdate, Extent, Memory, OwnMechanism, wrap_payload
from tacit.codecs.plain import decode_mean
from tacit.codecs.sums.scaled import ScaledSum, build_scaled_payload, count_scaled_bytes
from tacit.privacy.claim import Claim, Open
from tacit.randomness import ClientDraws, PublicDraws
from tacit.rows import Vector


@dataclass(frozen=True, kw_only=True)
class Sign:
    """The keys of `[codec.settings]`: there are none."""


def make(settings: Sign, extent: Extent) -> Codec:
    """Build the codec that sends signs and their mean absolute value."""
    return Codec(
        name="sign",
        payload_size=lambda dim: count_scaled_bytes(dim, 1),
        encoder=_encode,
        empty=lambda dim: ScaledSum(dim, 2, 1),
        decoder=decode_mean,
        clip_update=lambda update: update,
        variance=lambda update: np.zeros(len(update)),
        claims=lambda dim, cohort: (_CLAIM,),
        unbiased=False,
    )


def _encode(
    update: Vector, memory: Memory, *, own: ClientDraws, public: PublicDraws
) -> EncodedUpdate:
    size = float(np.abs(update).mean(dtype=np.float64))
    return wrap_payload(build_scaled_payload(size, (update >= 0).astype(np.uint32), 1))


_CLAIM = Claim(
    mechanism="signs, one bit each, and their mean size",
    event=Open(),
    unit="update",
    relation="replace all rows of one client",
    view="server",
    trust=("the server and everyone who reads its traffic",),
    rests_on="nobody",
    source="none: taking signs saves bytes and protects nothing",
)


sign = OwnMechanism(settings=Sign, make=make)
