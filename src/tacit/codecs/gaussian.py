"""Gaussian noise at the client: local DP-FedAvg. Clip the update to an L2 norm, round it to
integers, add noise, send.

Replacing all rows of a client changes its clipped update by at most twice the clip, so that is the
sensitivity. A message is a vector of 32-bit integers. Noise is drawn in integers too
(`gaussian_noise`): no floating-point Gaussian is added anywhere.

Guarantees, for a server that sees every message: epsilon at delta for the whole run, for a client
that responds in every round. Decoding gives the clipped update to within a step, 2^-26 of the
noise. An update that is not finite counts as zero.
"""

from __future__ import annotations

import numpy as np

from tacit import plan
from tacit.codecs.contract import Bound, Codec, EncodedUpdate, Extent, Memory, wrap_payload
from tacit.codecs.distributions.gaussian_noise import (
    LARGEST,
    STEPS,
    bound_noise_norm,
    draw_gaussian,
)
from tacit.codecs.stages.chain import CodecStage, chain
from tacit.codecs.stages.clip import clip_l2
from tacit.codecs.stages.integer_updates import Loss, Scale, choose_scale_for_run
from tacit.codecs.sums import IntegerSum
from tacit.privacy.claim import Claim, GaussianNoise
from tacit.randomness import ClientDraws, PublicDraws, ServerDraws
from tacit.rows import Vector

_TIMES = 2  # the update may change into its opposite


def make(settings: plan.Gaussian, extent: Extent) -> Codec:
    """Build the codec whose noise keeps a plan's epsilon and delta over all rounds."""
    return chain(
        clip_l2(settings.clip),
        last=build_noisy(Loss(epsilon=settings.epsilon, delta=settings.delta), extent),
    )


def build_noisy(loss: Loss, extent: Extent) -> CodecStage:
    """Build the end of a chain: Gaussian noise, scaled to the bound on the L2 norm of an update."""

    def make(bound: Bound) -> Codec:
        def scale(dim: int) -> Scale:
            return choose_scale_for_run(loss, extent, bound.l2, _TIMES, dim)

        def encode(
            update: Vector, memory: Memory, *, own: ClientDraws, public: PublicDraws
        ) -> EncodedUpdate:
            steps = scale(len(update)).round_to_integers(update) + draw_gaussian(own, len(update))
            return wrap_payload(steps.astype("<i4").view(np.uint8))

        def decode(total: IntegerSum, *, public: PublicDraws, own: ServerDraws) -> Vector:
            # Noise is floored, which lowers it by half a step on average.
            return np.asarray(
                (total.value() / total.weight + 0.5) * scale(len(total.value())).step, np.float32
            )

        return Codec(
            name="gaussian",
            payload_size=lambda dim: 4 * dim,
            encoder=encode,
            empty=lambda dim: IntegerSum(
                dim, scale(dim).radius + LARGEST, norm=scale(dim).radius + bound_noise_norm(dim)
            ),
            decoder=decode,
            clip_update=lambda update: update,
            variance=lambda update: np.full(len(update), scale(len(update)).stddev ** 2),
            claims=lambda dim, cohort: (_claim(scale(dim)),),
        )

    return CodecStage(name="gaussian noise", make=make, needs=("l2",))


def _claim(scale: Scale) -> Claim:
    return Claim(
        mechanism=(
            f"updates clipped to L2 norm {scale.clip:g}, with Gaussian noise on each coordinate (σ ="
            f" {scale.stddev:.3g})"
        ),
        event=GaussianNoise(STEPS / (_TIMES * scale.radius)),
        unit="update",
        relation="replace all rows of one client",
        view="server",
        trust=("nobody, since each client adds noise before anything leaves",),
        rests_on="nobody",
        source=("Balle and Wang 2018, analytic calibration for all rounds together; integer noise"),
    )
