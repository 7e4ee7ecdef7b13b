"""ProjUnit: a short random vector biased towards the update; the most accurate pure local DP
mechanism known.

The update is clipped to an L2 norm and rotated (`rotation`). Public randomness picks k of its d
coordinates for each message. The client sends a random vector of k integers that is biased towards
them (`privunit`). An update with a norm below the clip is sent as its direction or as the opposite
one, with probabilities that give the right mean. The server puts the integers back into their
coordinates, adds them up exactly, and scales and rotates the sum once, when it decodes.

Guarantees: pure epsilon per update, for any d and k; `privunit` says what depends on floating
point. An update that is not finite counts as zero. Decoding is unbiased for clipped updates, except
for one approximation: the norm of the k picked coordinates is taken to be its mean under a
uniformly random rotation, with a relative error of about 1/k (k is at least 32, or d). The squared
error of one message is about d / m² times the squared clip.

Source: Asi, Feldman, Nelson, Nguyen and Talwar 2023, *Fast Optimal Locally Private Mean Estimation
via Random Projections*.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit import plan
from tacit.codecs.contract import Bound, Codec, EncodedUpdate, Memory, wrap_payload
from tacit.codecs.distributions.privunit import (
    LARGEST,
    STEP,
    Bias,
    bound_norm,
    bound_rounding,
    choose_bias,
    draw_biased_vector,
)
from tacit.codecs.rr_sampled import CoordinateSample
from tacit.codecs.stages.chain import CodecStage, chain
from tacit.codecs.stages.clip import clip_l2
from tacit.codecs.stages.rotation import rotate, rotate_back
from tacit.codecs.sums import PlacedSum
from tacit.errors import ChainError
from tacit.privacy.claim import BiasedVector, Claim
from tacit.randomness import ClientDraws, PublicDraws, ServerDraws
from tacit.rows import Vector


def make(settings: plan.ProjUnit) -> Codec:
    """Build the codec for a plan's epsilon (per update), clip and number of coordinates."""
    return chain(clip_l2(settings.clip), last=build_biased_vector(settings))


@dataclass(frozen=True, kw_only=True)
class MessageShape:
    """How an update of `dim` parameters is sent: as `sent` integers, with this clip and bias."""

    dim: int
    sent: int
    clip: float
    bias: Bias

    @property
    def places(self) -> CoordinateSample:
        """Sampler of the coordinates that a message contains."""
        return CoordinateSample(self.dim, self.sent)

    @property
    def scale(self) -> float:
        """Value of one step of a message, after scaling up from the sampled coordinates."""
        return self.clip * STEP / self.bias.mean * math.sqrt(self.dim / self.sent) / self._kept()

    def _kept(self) -> float:
        """Mean L2 norm of the picked coordinates of a random direction, times sqrt(d/k); 1 if all
        are picked.
        """
        some, rest = self.sent / 2, (self.dim - self.sent) / 2
        logs = (
            math.lgamma(some + 0.5)
            - math.lgamma(some)
            + math.lgamma(some + rest)
            - math.lgamma(some + rest + 0.5)
        )
        return math.sqrt(self.dim / self.sent) * math.exp(logs) if rest else 1.0

    def variance(self, norm: float) -> float:
        """Variance of a coordinate, averaged over all, for an update of this L2 norm; rounding to
        steps adds STEP²/12.
        """
        squares = (self.sent - 1 + self.bias.second_moment) / STEP**2 + self.sent / 12
        return (self.scale**2 * squares - norm**2) / self.dim


def choose_shape(settings: plan.ProjUnit, dim: int) -> MessageShape:
    """Choose how an update of `dim` parameters is sent; raise ChainError if floating point is too
    coarse for that.
    """
    sent = min(dim, settings.coordinates or plan.ProjUnit.USUAL)
    return MessageShape(
        dim=dim,
        sent=sent,
        clip=settings.clip,
        bias=choose_bias(_subtract_rounding(settings.epsilon, sent)),
    )


def build_biased_vector(settings: plan.ProjUnit) -> CodecStage:
    """Build the end of a chain: a random vector biased towards an update with bounded L2 norm."""

    def make(bound: Bound) -> Codec:
        def shape(dim: int) -> MessageShape:
            return choose_shape(settings, dim)

        def encode(
            update: Vector, memory: Memory, *, own: ClientDraws, public: PublicDraws
        ) -> EncodedUpdate:
            wanted = shape(len(update))
            norm = float(np.linalg.norm(update.astype(np.float64))) / settings.clip
            picked = rotate(update)[wanted.places(public)].astype(np.float64)
            forwards = own.at("sign").words(1)[0] * 2.0**-64 < (1 + min(1.0, norm)) / 2
            sent = draw_biased_vector(
                _normalise(picked) * (1 if forwards else -1), wanted.bias, own
            )
            return wrap_payload(sent.astype("<i2").view(np.uint8))

        def decode(total: PlacedSum, *, public: PublicDraws, own: ServerDraws) -> Vector:
            row = total.value() * (shape(len(total.value())).scale / total.weight)
            return np.asarray(rotate_back(row), np.float32)

        def variance(update: Vector) -> NDArray[np.float64]:
            norm = float(np.linalg.norm(update.astype(np.float64)))
            return np.full(len(update), shape(len(update)).variance(norm))

        return Codec(
            name="projunit",
            payload_size=lambda dim: 2 * shape(dim).sent,
            encoder=encode,
            empty=lambda dim: PlacedSum(
                dim, LARGEST, shape(dim).sent, bound_norm(shape(dim).sent), shape(dim).places
            ),
            decoder=decode,
            clip_update=lambda update: update,
            variance=variance,
            claims=lambda dim, cohort: (_claim(settings.epsilon, shape(dim)),),
        )

    return CodecStage(name="a vector biased towards an update", make=make, needs=("l2",))


def _subtract_rounding(epsilon: float, sent: int) -> float:
    """Epsilon that is left for the distribution, after subtracting what rounding may add."""
    left = epsilon - bound_rounding(epsilon, sent)
    if left < 0.9 * epsilon:
        raise ChainError(
            f"projunit(epsilon={epsilon:g} per update): with {sent:,} coordinates floating point"
            f" may add {bound_rounding(epsilon, sent):.2g} to epsilon; lower codec.coordinates"
        )
    return left


def _normalise(picked: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale a vector to L2 norm 1; a zero vector becomes a fixed unit vector."""
    norm = float(np.linalg.norm(picked))
    if norm > 0:
        return np.asarray(picked / norm)
    return np.asarray(np.eye(1, len(picked))[0])


def _claim(epsilon: float, shape: MessageShape) -> Claim:
    return Claim(
        mechanism=(
            f"a random vector biased towards {shape.sent:,} rotated coordinates (clipped to L2 norm"
            f" {shape.clip:g})"
        ),
        event=BiasedVector(
            epsilon,
            chance=shape.bias.chance,
            free=shape.bias.free,
            slack=bound_rounding(epsilon, shape.sent),
        ),
        unit="update",
        relation="replace all rows of one client",
        view="server",
        trust=("nobody, since each client randomises before anything leaves",),
        rests_on="nobody",
        source=(
            "Asi, Feldman, Nelson, Nguyen and Talwar 2023; pure epsilon of the whole vector, with"
            " an allowance for floating point"
        ),
    )
