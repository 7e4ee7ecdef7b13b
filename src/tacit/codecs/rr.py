"""One bit per parameter by randomised response: clip, stochastic one-bit quantiser, random flip,
pack.

The quantiser sends 1 with probability (v+q)/2q and the flip keeps that bit with probability
e^eps/(1+e^eps). Together they are one biased coin per coordinate, so one 32-bit word and one
integer comparison per coordinate do both steps exactly: P(1 | v) = threshold(v) / 2^32, where
threshold runs from `flips` at v = -q to 2^32 - flips at v = +q.

With `clip_l1` the whole update is scaled into an L1 ball before quantising. Then few coordinates
can be extreme at once, and the epsilon of the whole update is at most (C1/q + d 2^-32/f) (f + ln((1
+ e^eps) / 2)) for d coordinates. Here f is the part of the signal that the flips leave, and the
second term covers the rounding of thresholds to integers.

Guarantees: the log ratio of the probabilities of either output for any two values is at most
ln((2^32 - flips) / flips), attained at v = ±q; the decoded mean is unbiased for clipped values; the
variance of a coordinate is q²/f² - v². Zero, huge, infinite and NaN values are all mapped into
range (NaN counts as 0). Source: Nagy et al. 2023, algorithms 1 and 2. The printed decoder (equation
5) multiplies where it must divide; it is kept as decoder = "printed" for demonstration only.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Literal, assert_never

import numba
import numpy as np
from numpy.typing import NDArray

from tacit import plan
from tacit.codecs.contract import Bound, Codec, EncodedUpdate, Memory, Payload, wrap_payload
from tacit.codecs.stages.chain import CodecStage, chain
from tacit.codecs.stages.clip import clip_l1, clip_largest, clip_to_box
from tacit.codecs.stages.integer_bits import code_bits
from tacit.codecs.sums import BitSum
from tacit.privacy.claim import Claim, Pure, Repeated
from tacit.randomness import ClientDraws, PublicDraws, ServerDraws
from tacit.rows import Vector

Decoding = Literal["corrected", "printed"]
WORD = 1 << 32
_BLOCK = 1 << 14  # coordinates drawn at a time


def compute_flips(epsilon: float) -> int:
    """Smallest number of 32-bit words that flip a bit, such that epsilon per bit is not exceeded."""
    return math.ceil(WORD / (1.0 + math.exp(epsilon)))


def compute_bit_epsilon(flips: int) -> float:
    """Epsilon per bit of an integer threshold, rounded up: ln((2^32 - flips) / flips).

    As log1p of an exact numerator it is within two units in the last place, also where epsilon is
    tiny; the factor adds at least four.
    """
    return math.log1p((WORD - 2 * flips) / flips) * (1 + 2**-50)


def make(settings: plan.RR) -> Codec:
    """Build the one-bit randomised-response codec for a plan's epsilon (per bit) and clip (the
    paper's q).
    """
    bits = build_one_bit(compute_flips(settings.epsilon), settings.clip, settings.decoder)
    before = (
        () if settings.clip_l1 is None else (clip_largest(settings.clip), clip_l1(settings.clip_l1))
    )
    return replace(chain(*before, last=bits), of=settings.of)


def build_one_bit(flips: int, clip: float, decoder: Decoding = "corrected") -> CodecStage:
    """Build the end of a chain: one randomised bit per coordinate, flipped by `flips` of 2^32
    words, of values clipped to ±clip.
    """
    keep = compute_kept_signal(flips)

    def encode(
        update: Vector, memory: Memory, *, own: ClientDraws, public: PublicDraws
    ) -> EncodedUpdate:
        return wrap_payload(randomise_bits(update, flips, clip, own))

    def decode(total: BitSum, *, public: PublicDraws, own: ServerDraws) -> Vector:
        share = total.value() / total.weight
        match decoder:
            case "corrected":
                return np.asarray((2 * share - 1) * (clip / keep), np.float32)
            case "printed":
                return np.asarray((share - flips / WORD) * keep * 2 * clip - clip, np.float32)
            case _:
                assert_never(decoder)

    def clipped(update: Vector) -> Vector:
        return clip_to_box(update, clip)

    def variance(update: Vector) -> NDArray[np.float64]:
        return np.asarray((clip / keep) ** 2 - clipped(update).astype(np.float64) ** 2)

    def make(bound: Bound) -> Codec:
        return Codec(
            name="rr",
            payload_size=count_packed_bytes,
            encoder=encode,
            empty=BitSum,
            decoder=decode,
            clip_update=clipped,
            variance=variance,
            claims=lambda dim, cohort: (_claim(flips, clip, bound, dim),),
            unbiased=decoder == "corrected",
            integers=code_bits(),
        )

    return CodecStage(name=f"one_bit(clip={clip:g})", make=make)


def _claim(flips: int, clip: float, bound: Bound, dim: int) -> Claim:
    ball = "" if math.isinf(bound.l1) else f", L1 clip {bound.l1:g}"
    return Claim(
        mechanism=f"one-bit randomised response (clip ±{clip:g}{ball})",
        event=Repeated(
            Pure(compute_bit_epsilon(flips)),
            dim,
            most=bound_update_epsilon(flips, clip, bound.l1, dim),
        ),
        unit="bit",
        relation="replace all rows of one client",
        view="server",
        trust=("nobody, since each client randomises before anything leaves",),
        rests_on="nobody",
        source="Nagy et al. 2023, with the corrected decoder; exactly P(1|v) = threshold(v)/2^32",
    )


def compute_kept_signal(flips: int) -> float:
    """Part of the signal that the flips leave (f)."""
    return (WORD - 2 * flips) / WORD


def randomise_bits(update: Vector, flips: int, clip: float, own: ClientDraws) -> Payload:
    """Draw one randomised bit per coordinate, and pack them. Words are drawn block by block, to
    stay in the cache.
    """
    payload = np.empty(count_packed_bytes(len(update)), np.uint8)
    largest = WORD // 2 - flips
    stream, words, flags = own.stream(), np.empty(_BLOCK, np.uint32), np.zeros(_BLOCK, np.uint8)
    for start in range(0, len(update), _BLOCK):
        some = update[start : start + _BLOCK]
        stream.fill(words[: len(some)])
        quantise_flip_pack(some, words, largest / clip, largest, flags, payload[start // 8 :])
    return payload


def bound_update_epsilon(flips: int, clip: float, ball: float, dim: int) -> float:
    """Bound the epsilon of a whole update under an L1 bound.

    Proof. A coordinate v is sent as 1 with probability (1 + s)/2, where s = rint(v f 2^31 / q) /
    2^31 and |s| <= f; so
    |s| <= |v| f/q + 2^-32, and all |s| of one update sum to at most S = f (C1/q + d 2^-32/f). For two updates, the log ratio
    of either output at a coordinate is at most ln(1 + |s|) - ln(1 - |s'|). The first terms sum to
    at most S, since ln(1 + s) <= s. In the second, -ln(1 - s') is convex and 0 at 0, so at most s'
    (-ln(1 - f))/f, and they sum to at most S (-ln(1 - f))/f. With 1 - f = 2/(1 + e^eps) both
    together are (C1/q + d 2^-32/f) (f + ln((1 + e^eps)/2)). The ball is widened for float32
    arithmetic: a part in 2^20 for scaling into it, 2^-149 a coordinate for the smallest floats.
    """
    epsilon, keep = compute_bit_epsilon(flips), compute_kept_signal(flips)
    widened = (ball * (1 + 2**-20) + dim * 2**-149) / clip + dim * 2**-32 / keep
    return widened * (keep + math.log((1 + math.exp(epsilon)) / 2)) * (1 + 2**-40)  # rounded up


def count_packed_bytes(dim: int) -> int:
    """Number of bytes that hold one bit per parameter."""
    return (dim + 7) // 8


@numba.njit(nogil=True, cache=True, error_model="numpy")
def quantise_flip_pack(
    update: NDArray[Any],
    words: NDArray[np.uint32],
    scale: float,
    largest: int,
    flags: NDArray[np.uint8],
    payload: Payload,
) -> None:
    """Write the randomised bits of an update into `payload`, lowest bit first; bits past the end
    are zero.

    threshold(v) - 2^31 = clamp(v * scale, ±largest) is compared with the word shifted by 2^31: the
    same test as word < threshold(v), in signed arithmetic that fits 32 bits. `flags` is a scratch
    buffer of a multiple of eight bytes, at least as long as the update. The two plain loops, one
    over coordinates and one over bytes, are both vectorised.
    """
    limit = float(largest)
    size, whole = update.size, (update.size + 7) // 8
    for i in range(size):
        wanted = float(update[i]) * scale
        wanted = wanted if wanted == wanted else 0.0
        threshold = np.int32(np.rint(min(max(wanted, -limit), limit)))
        flags[i] = np.int32(np.int64(words[i]) - 2147483648) < threshold
    for i in range(size, 8 * whole):
        flags[i] = 0
    eights = flags.view(np.uint64)
    for byte in range(whole):
        # The lowest bits of eight bytes, moved into the top byte: bit k of the result is flag k.
        payload[byte] = (eights[byte] * np.uint64(0x0102040810204080)) >> np.uint64(56)
