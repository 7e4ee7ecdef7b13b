"""A few randomised bits of a large update: a sound epsilon for the whole update, because only those
bits are sent.

Public randomness picks k of the d coordinates for each message. Each is sent as one randomised bit
at E/k, so the whole update is E-differentially private for a model of any size. The server scales
the bits by d/k.

Guarantees: epsilon per update at most E; unbiased; the variance of a coordinate is (d/k) q²/f² -
v². Source: coordinate sampling over the one-bit channel of rr; k = E/2.177 minimises the variance
(where sinh(2t) = 4t, t = E/2k), and k = 1 below that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit import plan
from tacit.codecs.contract import Codec, EncodedUpdate, Memory, wrap_payload
from tacit.codecs.rr import (
    compute_bit_epsilon,
    compute_flips,
    compute_kept_signal,
    count_packed_bytes,
    randomise_bits,
)
from tacit.codecs.stages.clip import clip_to_box
from tacit.codecs.sums import LevelSum
from tacit.privacy.claim import Claim, Pure, Repeated
from tacit.randomness import ClientDraws, PublicDraws, ServerDraws
from tacit.rows import Vector

_BEST_EPSILON_PER_BIT = 2.177


def choose_bit_count(epsilon: float, dim: int) -> int:
    """Number of coordinates to report for an epsilon per update."""
    return min(dim, max(1, round(epsilon / _BEST_EPSILON_PER_BIT)))


@dataclass(frozen=True)
class CoordinateSample:
    """The `bits` of `dim` coordinates that a message contains, chosen by its public randomness."""

    dim: int
    bits: int

    def __call__(self, public: PublicDraws) -> NDArray[np.int64]:
        """Draw the coordinates, in ascending order."""
        return np.sort(public.generator().choice(self.dim, self.bits, replace=False))


def _sample_coordinates(epsilon: float, dim: int) -> CoordinateSample:
    return CoordinateSample(dim, choose_bit_count(epsilon, dim))


def make(settings: plan.RRSampled) -> Codec:
    """Build the sampled randomised-response codec for a plan's epsilon (per update) and clip."""
    epsilon, clip = settings.epsilon, settings.clip

    def flips(dim: int) -> int:
        return compute_flips(epsilon / choose_bit_count(epsilon, dim))

    def encode(
        update: Vector, memory: Memory, *, own: ClientDraws, public: PublicDraws
    ) -> EncodedUpdate:
        return wrap_payload(
            randomise_bits(
                update[_sample_coordinates(epsilon, len(update))(public)],
                flips(len(update)),
                clip,
                own,
            )
        )

    def decode(total: LevelSum, *, public: PublicDraws, own: ServerDraws) -> Vector:
        dim = len(total.value())
        scale = dim / choose_bit_count(epsilon, dim) * clip / compute_kept_signal(flips(dim))
        return np.asarray(total.value() * (scale / total.weight), np.float32)

    def variance(update: Vector) -> NDArray[np.float64]:
        dim = len(update)
        largest = (
            dim / choose_bit_count(epsilon, dim) * (clip / compute_kept_signal(flips(dim))) ** 2
        )
        return np.asarray(largest - clip_to_box(update, clip).astype(np.float64) ** 2)

    def claims(dim: int, cohort: int) -> tuple[Claim, ...]:
        bits = choose_bit_count(epsilon, dim)
        return (
            Claim(
                mechanism=f"randomised response on {bits} sampled coordinates (clip ±{clip:g})",
                event=Repeated(Pure(compute_bit_epsilon(flips(dim))), bits),
                unit="bit",
                relation="replace all rows of one client",
                view="server",
                trust=("nobody, since each client randomises before anything leaves",),
                rests_on="nobody",
                source=(
                    "coordinate sampling over the one-bit channel of rr; pure composition over the"
                    " sent bits"
                ),
            ),
        )

    return Codec(
        name="rr_sampled",
        payload_size=lambda dim: count_packed_bytes(choose_bit_count(epsilon, dim)),
        encoder=encode,
        decoder=decode,
        empty=lambda dim: LevelSum(
            dim, 2, 1, _sample_coordinates(epsilon, dim), choose_bit_count(epsilon, dim)
        ),
        clip_update=lambda update: clip_to_box(update, clip),
        variance=variance,
        claims=claims,
    )
