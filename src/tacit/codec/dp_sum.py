"""Gaussian noise at the server, on the sum of all updates: central DP-FedAvg. Clients clip the length and send whole steps.

The server adds noise to the sum with randomness of its own and divides by the agreed number of clients per round, whoever
answered. It sees every update as it is and must be trusted: to add the noise, and to keep the updates to itself. Taking a
client out, so that its answer counts as no change, moves the sum by at most the clip. A message longer than that is refused.

Guarantees, for whoever sees the models: epsilon at delta for the whole run, for a client that answers every round. All clients
must weigh the same. The sum is exact, and so is its noise (`gaussian_noise`). Whatever is not finite counts as no change.
"""

from __future__ import annotations

import numpy as np

from tacit import plan
from tacit.claim import Claim, Gaussian
from tacit.codec.chain import Last, chain
from tacit.codec.clip import clip_l2
from tacit.codec.contract import Bound, Codec, Encoded, Extent, Memory, encoded
from tacit.codec.gaussian_noise import STEPS, whole_noise
from tacit.codec.sums import WholeSum
from tacit.codec.whole_run import Loss, Scale, scale_for
from tacit.draws import Draws
from tacit.rows import Vector


def make(settings: plan.DPSum, extent: Extent) -> Codec:
    """Return the codec whose decoder adds as much noise as keeps a plan's epsilon and delta over all its rounds."""
    return chain(clip_l2(settings.clip), last=noisy_sum(Loss(epsilon=settings.epsilon, delta=settings.delta), extent))


def noisy_sum(loss: Loss, extent: Extent) -> Last:
    """Return the end of a chain: a sum that gets Gaussian noise when it is decoded; the length of updates must be bounded."""

    def make(bound: Bound) -> Codec:
        def scale(dim: int) -> Scale:
            return scale_for(loss, extent, bound.l2, 1, dim)

        def encode(update: Vector, memory: Memory, own: Draws, public: Draws) -> Encoded:
            return encoded(scale(len(update)).whole(update).astype("<i4").view(np.uint8))

        def decode(total: WholeSum, public: Draws, own: Draws) -> Vector:
            steps = total.value() + whole_noise(own, len(total.value()))
            return np.asarray((steps + 0.5) * (scale(len(steps)).step / extent.cohort), np.float32)

        return Codec(
            name="dp_sum",
            payload_size=lambda dim: 4 * dim,
            encode=encode,
            empty=lambda dim: WholeSum(dim, scale(dim).radius, length=scale(dim).radius),
            decode=decode,
            clipped=lambda update: update,
            variance=lambda update: np.zeros(len(update)),
            claims=lambda dim, cohort: (_claim(scale(dim)),),
            sum_noise=lambda dim: scale(dim).stddev,
        )

    return Last(name="Gaussian noise on the sum", make=make, needs=("l2",))


def _claim(scale: Scale) -> Claim:
    return Claim(
        mechanism=f"numbers cut to a length of {scale.clip:g}, to whose sum the server adds Gaussian noise of {scale.stddev:.3g}",
        event=Gaussian(STEPS / scale.radius),
        unit="update",
        relation="add or remove one client",
        view="everyone",
        trust=("the server, which sees every update as it is, adds the noise and shows nobody anything but the models",),
        source="Balle and Wang 2018, analytic calibration for all rounds together; noise in whole steps on an exact sum",
    )
