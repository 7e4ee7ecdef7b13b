"""An update as one short random vector that leans towards it: the most accurate pure local privacy
known (ProjUnit).

The update is cut to a length and rotated (`rotation`). Public randomness picks k of its d
coordinates for each message; the client sends a random vector of k numbers that leans towards them
(`privunit`). An update shorter than the clip is sent as its direction, or as the opposite one, so
often that the mean is its length. The server puts the numbers back in their places, scales them,
adds them up exactly and rotates once, when it decodes.

Guarantees: pure epsilon per update, whatever d and k are; `privunit` says what rests on floating
point. Whatever is not finite counts as no change. Decoding is unbiased for clipped updates, but for
the length of the k picked coordinates: it is taken to be that under a uniformly random rotation,
which is off by about 1/k of it (k is at least 32, or d). The squared error of one message is about
d / m² times the clip's square.

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
    """Return the codec for a plan's epsilon (per update), clip and number of coordinates."""
    return chain(clip_l2(settings.clip), last=build_biased_vector(settings))


@dataclass(frozen=True, kw_only=True)
class MessageShape:
    """How an update of `dim` parameters is sent: as `sent` numbers, for a clip, at an epsilon."""

    dim: int
    sent: int
    clip: float
    bias: Bias

    @property
    def places(self) -> CoordinateSample:
        """Return which coordinates a message speaks of."""
        return CoordinateSample(self.dim, self.sent)

    @property
    def scale(self) -> float:
        """Return what one step of a message stands for, once it is back in its place."""
        return self.clip * STEP / self.bias.mean * math.sqrt(self.dim / self.sent) / self._kept()

    def _kept(self) -> float:
        """Return the mean length of the picked coordinates of a random direction, times sqrt(d/k);
        1 if all are picked.
        """
        some, rest = self.sent / 2, (self.dim - self.sent) / 2
        logs = (
            math.lgamma(some + 0.5)
            - math.lgamma(some)
            + math.lgamma(some + rest)
            - math.lgamma(some + rest + 0.5)
        )
        return math.sqrt(self.dim / self.sent) * math.exp(logs) if rest else 1.0

    def variance(self, length: float) -> float:
        """Return the variance of a coordinate, on average over all, for an update of a length;
        rounding to steps adds STEP²/12.
        """
        squares = (self.sent - 1 + self.bias.second_moment) / STEP**2 + self.sent / 12
        return (self.scale**2 * squares - length**2) / self.dim


def choose_shape(settings: plan.ProjUnit, dim: int) -> MessageShape:
    """Return how an update of `dim` parameters is sent; raise ChainError if floating point is too
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
    """Return the end of a chain: a random vector that leans towards an update, whose length must be
    bounded.
    """

    def make(bound: Bound) -> Codec:
        def shape(dim: int) -> MessageShape:
            return choose_shape(settings, dim)

        def encode(
            update: Vector, memory: Memory, *, own: ClientDraws, public: PublicDraws
        ) -> EncodedUpdate:
            wanted = shape(len(update))
            length = float(np.linalg.norm(update.astype(np.float64))) / settings.clip
            picked = rotate(update)[wanted.places(public)].astype(np.float64)
            forwards = own.at("sign").words(1)[0] * 2.0**-64 < (1 + min(1.0, length)) / 2
            sent = draw_biased_vector(
                _normalise(picked) * (1 if forwards else -1), wanted.bias, own
            )
            return wrap_payload(sent.astype("<i2").view(np.uint8))

        def decode(total: PlacedSum, *, public: PublicDraws, own: ServerDraws) -> Vector:
            row = total.value() * (shape(len(total.value())).scale / total.weight)
            return np.asarray(rotate_back(row), np.float32)

        def variance(update: Vector) -> NDArray[np.float64]:
            length = float(np.linalg.norm(update.astype(np.float64)))
            return np.full(len(update), shape(len(update)).variance(length))

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

    return CodecStage(name="a vector that leans towards an update", make=make, needs=("l2",))


def _subtract_rounding(epsilon: float, sent: int) -> float:
    """Return the epsilon of the law that is drawn from, less what rounding may add."""
    left = epsilon - bound_rounding(epsilon, sent)
    if left < 0.9 * epsilon:
        raise ChainError(
            f"projunit(epsilon={epsilon:g} per update) needs fewer coordinates than {sent:,}, for"
            f" floating point may add {bound_rounding(epsilon, sent):.2g} to epsilon; lower"
            " codec.coordinates"
        )
    return left


def _normalise(picked: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a vector of length 1; any does where nothing was picked that is not zero."""
    length = float(np.linalg.norm(picked))
    if length > 0:
        return np.asarray(picked / length)
    return np.asarray(np.eye(1, len(picked))[0])


def _claim(epsilon: float, shape: MessageShape) -> Claim:
    return Claim(
        mechanism=(
            f"a random vector that leans towards {shape.sent:,} rotated coordinates (length cut to"
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
            "Asi, Feldman, Nelson, Nguyen and Talwar 2023; pure epsilon of the whole vector, less"
            " what floating point may add"
        ),
    )
