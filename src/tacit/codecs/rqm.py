"""Randomised quantisation (RQM): random levels, and stochastic rounding to one of them, with a
privacy guarantee.

`codecs/distributions/rqm_output.py` has the output distribution, and the proof that the stated
epsilon bounds what the program draws. For a value between two corners of the distribution, a first
32-bit word draws one of the two. A second word, compared with that corner's cumulative counts,
draws the level. The index of the level is sent, in as few bits as hold it; the server uses the
level's value.

Guarantees, for a server that sees every message: pure epsilon and a Rényi curve per coordinate,
composed over the sent coordinates of an update. Decoding is unbiased for clipped values to within m
2^-31 (c + Δ), below the resolution of a float32 for m up to 64. The variance of a coordinate is
(d/k) E[B(z)²] - v², where k of d coordinates are sent. Zero, huge, infinite and NaN values are all
mapped into range (NaN counts as 0).
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from tacit import plan
from tacit.codecs.contract import Codec, EncodedUpdate, Memory, Payload, wrap_payload
from tacit.codecs.distributions.rqm_output import (
    WORD,
    OutputDistribution,
    build_distribution,
    count_index_bits,
)
from tacit.codecs.rqm_tokens import hide_under_tokens
from tacit.codecs.rr_sampled import CoordinateSample
from tacit.codecs.stages.clip import clip_to_box
from tacit.codecs.sums import LevelSum
from tacit.privacy.claim import Claim, Repeated
from tacit.randomness import ClientDraws, PublicDraws, ServerDraws
from tacit.rows import Vector

_BLOCK = (
    1 << 14
)  # coordinates drawn at a time; a multiple of eight, so that blocks end at whole bytes


def make(settings: plan.RQM) -> Codec:
    """Build the randomised quantiser for a plan's clip, margin, levels and share of kept levels."""
    distribution = build_distribution(
        settings.clip, settings.margin, settings.levels, settings.keep
    )
    bits, steps = count_index_bits(settings.levels), settings.levels - 1
    ends = compute_cumulative_counts(distribution, bits)

    def sent(dim: int) -> int:
        return dim if settings.coordinates is None else min(dim, settings.coordinates)

    def places(dim: int) -> CoordinateSample | None:
        return None if sent(dim) == dim else CoordinateSample(dim, sent(dim))

    def encode(
        update: Vector, memory: Memory, *, own: ClientDraws, public: PublicDraws
    ) -> EncodedUpdate:
        chosen = places(len(update))
        return wrap_payload(
            randomise_levels(
                update if chosen is None else update[chosen(public)], distribution, ends, own
            )
        )

    def decode(total: LevelSum, *, public: PublicDraws, own: ServerDraws) -> Vector:
        dim = len(total.value())
        return np.asarray(
            total.value() * (dim / sent(dim) * distribution.reach / steps / total.weight),
            np.float32,
        )

    def variance(update: Vector) -> NDArray[np.float64]:
        values, dim = clip_to_box(update, distribution.clip).astype(np.float64), len(update)
        return np.asarray(
            dim / sent(dim) * np.interp(values, distribution.corners, distribution.second_moments)
            - values**2
        )

    made = Codec(
        name="rqm",
        payload_size=lambda dim: count_packed_bytes(sent(dim), bits),
        encoder=encode,
        empty=lambda dim: LevelSum(dim, settings.levels, bits, places(dim), sent(dim)),
        decoder=decode,
        clip_update=lambda update: clip_to_box(update, distribution.clip),
        variance=variance,
        claims=lambda dim, cohort: (_claim(settings, distribution, sent(dim), dim),),
    )
    return hide_under_tokens(made, settings.levels) if settings.tokens else made


def _claim(settings: plan.RQM, distribution: OutputDistribution, sent: int, dim: int) -> Claim:
    sampled = "" if sent == dim else f" on {sent} sampled coordinates"
    return Claim(
        mechanism=(
            f"randomised quantisation to {settings.levels} levels{sampled} (clip ±{distribution.clip:g},"
            f" margin {settings.margin:g})"
        ),
        event=Repeated(distribution.curve, sent),
        unit="coordinate",
        relation="replace all rows of one client",
        view="server",
        trust=("nobody, since each client randomises before anything leaves",),
        rests_on="nobody",
        source=(
            "Youn et al. 2023; epsilon exact from counts of 2^32 words, Rényi curve numerical, each"
            " the maximum over all values"
        ),
    )


def compute_cumulative_counts(distribution: OutputDistribution, bits: int) -> NDArray[np.int64]:
    """For each corner, the number of words that give each level or a lower one; padded with 2^32 to
    a power of two.
    """
    ends = np.full((len(distribution.counts), 1 << bits), WORD, np.int64)
    ends[:, : distribution.counts.shape[1]] = distribution.counts.cumsum(axis=1)
    return ends


def count_packed_bytes(count: int, bits: int) -> int:
    """Number of bytes that hold `count` numbers of `bits` bits."""
    return (count * bits + 7) // 8


def randomise_levels(
    update: Vector, distribution: OutputDistribution, ends: NDArray[np.int64], own: ClientDraws
) -> Payload:
    """Draw one randomised level per coordinate, and pack them. Words are drawn block by block, to
    stay in the cache.
    """
    levels = distribution.counts.shape[1]
    bits, step = count_index_bits(levels), 2 * distribution.reach / (levels - 1)
    # Number of levels at or below -clip: cell `first + n` of the levels is cell n of the
    # corners.
    first = float(np.sum(distribution.levels <= -distribution.clip * (1 - 1e-9)) - 1)
    payload = np.empty(count_packed_bytes(len(update), bits), np.uint8)
    stream, words, found = own.stream(), np.empty(2 * _BLOCK, np.uint32), np.zeros(_BLOCK, np.uint8)
    for start in range(0, len(update), _BLOCK):
        some = update[start : start + _BLOCK]
        stream.fill(words[: 2 * len(some)])
        draw_levels(
            some,
            words,
            distribution.corners,
            (distribution.reach / step - first, 1 / step),
            ends,
            found,
        )
        pack(found, len(some), bits, payload[start * bits // 8 :])
    return payload


@numba.njit(nogil=True, cache=True, error_model="numpy")
def draw_levels(
    update: Vector,
    words: NDArray[np.uint32],
    corners: NDArray[np.float64],
    cells: tuple[float, float],
    ends: NDArray[np.int64],
    found: NDArray[np.uint8],
) -> None:
    """Write the index of a random level for each coordinate into `found`; each uses two words.

    `cells` turns a value into the number of its cell between corners: an offset, and a factor for
    the value. If rounding misses the cell by one, the value is treated as the corner between them,
    which it equals up to rounding.
    """
    last, width = corners.size - 2, ends.shape[1]
    flat = ends.reshape(ends.size)
    for i in range(update.size):
        value = float(update[i])
        value = value if value == value else 0.0
        value = min(max(value, corners[0]), corners[last + 1])
        cell = np.int64(min(max(value * cells[1] + cells[0], 0.0), float(last)))
        left, right = corners[cell], corners[cell + 1]
        share = min(max((value - left) / (right - left), 0.0), 1.0)
        corner = cell + np.int64(np.int64(words[2 * i]) < np.int64(np.rint(share * 4294967296.0)))
        word = np.int64(words[2 * i + 1])
        base, half = corner * width, width >> 1
        start = base
        while half > 0:  # count ends at or below the word; no branch depends on the draw
            start += half * np.int64(flat[start + half - 1] <= word)
            half >>= 1
        found[i] = start - base


@numba.njit(nogil=True, cache=True)
def pack(found: NDArray[np.uint8], count: int, bits: int, payload: Payload) -> None:
    """Write numbers of `bits` (at most 8) bits each into `payload`, lowest bit first; bits past the
    end are zero.
    """
    for i in range(count, min(found.size, (count + 7) // 8 * 8)):
        found[i] = 0
    size = (count * bits + 7) // 8
    for group in range((count + 7) // 8):
        eight = np.uint64(0)
        for k in range(8):
            eight |= np.uint64(found[8 * group + k]) << np.uint64(k * bits)
        for byte in range(min(bits, size - group * bits)):
            payload[group * bits + byte] = np.uint8((eight >> np.uint64(8 * byte)) & np.uint64(255))
