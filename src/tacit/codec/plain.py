"""The update as it is: 32 bits a parameter, no protection. The baseline everything else is measured against."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit import plan
from tacit.claim import Claim, Open
from tacit.codec.contract import Codec, Payload
from tacit.draws import Draws
from tacit.rows import Vector


def make(settings: plan.Codec) -> Codec:
    """Return the codec that sends float32 values in the clear."""
    return Codec(
        name="plain",
        payload_size=lambda dim: 4 * dim,
        encode=_encode,
        decode=_decode,
        adds_as="floats",
        clipped=lambda update: update,
        variance=lambda update: np.zeros(len(update)),
        claim=_claim,
    )


def _encode(update: Vector, own: Draws, public: Draws) -> Payload:
    # A view: the worker's own buffer is what is sent, nothing is copied.
    return update.view(np.uint8)


def _decode(total: NDArray[Any], weight: int) -> Vector:
    return (total / weight).astype(np.float32)


def _claim(dim: int) -> Claim:
    return Claim(
        mechanism="plain float32 update",
        loss=Open(),
        unit="update",
        count=1,
        relation="replace all rows of one client",
        view="server",
        trust=("the server and everyone who reads its traffic",),
        source="none: the update is sent as it is",
    )
