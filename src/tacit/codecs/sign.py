"""The sign of each parameter's change and their mean size: one bit each, biased, without any
protection. A baseline for bytes.

Guarantees: none of privacy. Decoding gives the sign times the mean absolute value, which is not the
update, not even on average. An update that is not finite is refused by the server. Source:
Bernstein, Wang, Azizzadenesheli, Anandkumar 2018, *signSGD*, with the scale of Karimireddy et al.
2019.
"""

from __future__ import annotations

import numpy as np

from tacit import plan
from tacit.codecs.contract import Codec, EncodedUpdate, Memory, wrap_payload
from tacit.codecs.plain import decode_mean
from tacit.codecs.sums.scaled import ScaledSum, build_scaled_payload, count_scaled_bytes
from tacit.privacy.claim import Claim, Open
from tacit.randomness import ClientDraws, PublicDraws
from tacit.rows import Vector


def make(settings: plan.Sign) -> Codec:
    """Return the codec that sends signs and one size."""
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
