"""A few randomised bits of a large update: sound for the whole update, because only those bits are
sent.

Public randomness picks k of the d coordinates for each message; each is sent as one randomised bit
at E/k, so the whole update is E-differentially private however large the model is. The server
scales what it gets by d/k.

Guarantees: epsilon per update at most E; unbiased; a coordinate's variance is (d/k) q²/f² - v².
Source: coordinate sampling over the one-bit channel of rr; k = E/2.177 minimises the variance
(where sinh(2t) = 4t, t = E/2k), and k = 1 below that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit import plan
from tacit.codecs.contract import Codec, Encoded, Memory, encoded
from tacit.codecs.rr import epsilon_of, flips_for, kept_signal, packed_size, randomised_bits
from tacit.codecs.stages.clip import into_box
from tacit.codecs.sums import LevelSum
from tacit.privacy.claim import Claim, Pure, Repeated
from tacit.randomness import ClientDraws, PublicDraws, ServerDraws
from tacit.rows import Vector

_BEST_EPSILON_PER_BIT = 2.177


def bits_for(epsilon: float, dim: int) -> int:
    """Return how many coordinates to report for epsilon per update."""
    return min(dim, max(1, round(epsilon / _BEST_EPSILON_PER_BIT)))


@dataclass(frozen=True)
class Places:
    """Which of `dim` coordinates a message speaks of: `bits` of them, chosen by its public
    randomness.
    """

    dim: int
    bits: int

    def __call__(self, public: PublicDraws) -> NDArray[np.int64]:
        """Return the coordinates in ascending order."""
        return np.sort(public.generator().choice(self.dim, self.bits, replace=False))


def _places(epsilon: float, dim: int) -> Places:
    return Places(dim, bits_for(epsilon, dim))


def make(settings: plan.RRSampled) -> Codec:
    """Return the sampled randomised-response codec for a plan's epsilon (per update) and clip."""
    epsilon, clip = settings.epsilon, settings.clip

    def flips(dim: int) -> int:
        return flips_for(epsilon / bits_for(epsilon, dim))

    def encode(update: Vector, memory: Memory, *, own: ClientDraws, public: PublicDraws) -> Encoded:
        return encoded(
            randomised_bits(
                update[_places(epsilon, len(update))(public)], flips(len(update)), clip, own
            )
        )

    def decode(total: LevelSum, *, public: PublicDraws, own: ServerDraws) -> Vector:
        dim = len(total.value())
        scale = dim / bits_for(epsilon, dim) * clip / kept_signal(flips(dim))
        return np.asarray(total.value() * (scale / total.weight), np.float32)

    def variance(update: Vector) -> NDArray[np.float64]:
        dim = len(update)
        largest = dim / bits_for(epsilon, dim) * (clip / kept_signal(flips(dim))) ** 2
        return np.asarray(largest - into_box(update, clip).astype(np.float64) ** 2)

    def claims(dim: int, cohort: int) -> tuple[Claim, ...]:
        bits = bits_for(epsilon, dim)
        return (
            Claim(
                mechanism=f"randomised response on {bits} sampled coordinates (clip ±{clip:g})",
                event=Repeated(Pure(epsilon_of(flips(dim))), bits),
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
        payload_size=lambda dim: packed_size(bits_for(epsilon, dim)),
        encoder=encode,
        decoder=decode,
        empty=lambda dim: LevelSum(dim, 2, 1, _places(epsilon, dim), bits_for(epsilon, dim)),
        clipped=lambda update: into_box(update, clip),
        variance=variance,
        claims=claims,
    )
