"""Unprotected float32 updates, 32 bits per parameter: the baseline of all comparisons."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tacit import plan
from tacit.codecs.contract import Codec, EncodedUpdate, Memory, wrap_payload
from tacit.codecs.stages.chain import CodecStage, chain
from tacit.codecs.stages.clip import clip_l2
from tacit.codecs.sums import ClippedFloatSum, FloatSum
from tacit.privacy.claim import Claim, Open
from tacit.randomness import ClientDraws, PublicDraws, ServerDraws
from tacit.rows import Vector


def make(settings: plan.Plain) -> Codec:
    """Build the codec that sends float32 values in the clear, clipped to an L2 norm if the plan
    says so.
    """
    if settings.clip_l2 is None:
        return _build_unclipped()
    clip = settings.clip_l2
    clear = CodecStage(
        name="plain",
        make=lambda bound: replace(
            _build_unclipped(), empty=lambda dim: ClippedFloatSum(dim, clip)
        ),
    )
    return chain(clip_l2(clip), last=clear)


def _build_unclipped() -> Codec:
    return Codec(
        name="plain",
        payload_size=lambda dim: 4 * dim,
        encoder=_encode,
        empty=FloatSum,
        decoder=decode_mean,
        clip_update=lambda update: update,
        variance=lambda update: np.zeros(len(update)),
        claims=_claims,
        takes_updates=True,
    )


def _encode(
    update: Vector, memory: Memory, *, own: ClientDraws, public: PublicDraws
) -> EncodedUpdate:
    # A copy: the worker reuses the buffer of the update, and a message owns its bytes.
    return wrap_payload(update.copy().view(np.uint8))


def decode_mean(total: FloatSum, *, public: PublicDraws, own: ServerDraws) -> Vector:
    """Divide the sum by its weight."""
    return (total.value() / total.weight).astype(np.float32)


def _claims(dim: int, cohort: int) -> tuple[Claim, ...]:
    return (
        Claim(
            mechanism="plain float32 update",
            event=Open(),
            unit="update",
            relation="replace all rows of one client",
            view="server",
            trust=("the server and everyone who reads its traffic",),
            rests_on="nobody",
            source="none: the update is sent unprotected",
        ),
    )
