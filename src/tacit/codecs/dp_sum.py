"""Gaussian noise on the sum of all updates: central DP-FedAvg. Clients clip to an L2 norm and send
integers.

Without helpers the server adds the noise, with its own randomness. It sees every unprotected update,
or sums of each site (`server.sum_at`). It must be trusted to add the noise, and to keep what it
sees to itself. Under secure aggregation
each helper adds the full noise to its share of the sum. So the server never sees the sum without
noise, and clients that drop out take no noise away. The noise of several helpers adds up. The sum
is divided by the agreed number of clients per round, however many responded. Removing a client, so
that its response counts as zero, changes the sum by at most the clip. Where the server can read
messages, it refuses one with a larger norm.

Guarantees, for everybody who sees the models: epsilon at delta for the whole run, for a client that
responds in every round. With Poisson cohorts (`server.cohort = "poisson"`) and no helpers, privacy
is amplified by subsampling: less noise gives the same guarantee, as long as only the server knows
who was sampled. All clients must have the same weight. The sum is exact, and so is its noise
(`gaussian_noise`). An update that is not finite counts as zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from tacit import plan
from tacit.codecs.contract import (
    Bound,
    Codec,
    EncodedUpdate,
    Extent,
    IntegerCoding,
    Memory,
    Payload,
    wrap_payload,
)
from tacit.codecs.distributions.banded import (
    FINE_BITS,
    BandedNoise,
    choose_coefficients,
    compute_column_norm,
    compute_relative_noise,
)
from tacit.codecs.distributions.gaussian_noise import LARGEST, STEPS
from tacit.codecs.stages.chain import CodecStage, chain
from tacit.codecs.stages.clip import clip_l2
from tacit.codecs.stages.integer_rows import add_updates
from tacit.codecs.stages.integer_updates import Loss, Scale, choose_scale
from tacit.codecs.sums import IntegerSum
from tacit.errors import ChainError
from tacit.privacy.claim import SEES_UPDATES, Claim, GaussianNoise, Sampled
from tacit.randomness import ClientDraws, PublicDraws, ServerDraws
from tacit.rows import Vector

_COARSER = 6
"""32-bit integers have steps 2^6 times as large: 2^20 of them per standard deviation of the noise,
which leaves space for the sum.
"""
_FINE = 1 << 8
"""Least number of steps per clip; with fewer, the error of rounding to integers would be
noticeable.
"""


def make(settings: plan.DPSum, extent: Extent) -> Codec:
    """Build the codec whose noise on the sum keeps a plan's epsilon and delta over all rounds."""
    loss = Loss(epsilon=settings.epsilon, delta=settings.delta)
    banded = _is_banded(settings)
    codec = chain(clip_l2(settings.clip), last=build_noisy_sum(loss, extent, banded=banded))
    if extent.helpers:
        return codec

    def empty(dim: int) -> IntegerSum:
        scale = _choose_scale(loss, extent, settings.clip, dim, _choose_bands(extent, banded))
        adding = partial(add_updates, scale=scale)
        return IntegerSum(dim, scale.radius, norm=scale.radius, adding=adding)

    return replace(codec, empty=empty, takes_updates=True)


def _is_banded(settings: plan.DPSum) -> bool:
    match settings.noise:
        case "independent":
            return False
        case "banded":
            return True
        case _:
            assert_never(settings.noise)


def build_noisy_sum(loss: Loss, extent: Extent, *, banded: bool = False) -> CodecStage:
    """Build the end of a chain: Gaussian noise on the sum of updates with bounded L2 norm.

    With `banded` the noise of different rounds is correlated, as far as the separation of a
    client's responses allows.
    """
    helpers, bands = extent.helpers, _choose_bands(extent, banded)

    def make(bound: Bound) -> Codec:
        @lru_cache(maxsize=4)  # needed for every message
        def scale(dim: int) -> Scale:
            fine = _choose_scale(loss, extent, bound.l2, dim, bands)
            coarse = fine.coarsen(_COARSER)
            return coarse if helpers and _fits_32_bits(coarse, extent) else fine

        def encode(
            update: Vector, memory: Memory, *, own: ClientDraws, public: PublicDraws
        ) -> EncodedUpdate:
            return wrap_payload(
                scale(len(update)).round_to_integers(update).astype("<i4").view(np.uint8)
            )

        def decode(total: IntegerSum, *, public: PublicDraws, own: ServerDraws) -> Vector:
            noisy = (
                total.value()
                if helpers
                else total.value() + scale(len(total.value())).noise(own, len(total.value()))
            )
            # Each party's noise is a floored Gaussian: half a step too low on average.
            middle = noisy + 0.5 * max(1, helpers)
            return np.asarray(middle * (scale(len(noisy)).step / extent.cohort), np.float32)

        together = BandedNoise(bands)

        def decode_over_rounds(total: IntegerSum, round_no: int, *, own: ServerDraws) -> Vector:
            noisy = total.value() + together.at(own, round_no, len(total.value()))
            return np.asarray((noisy + 0.5) * (scale(len(noisy)).step / extent.cohort), np.float32)

        return Codec(
            name="dp_sum",
            payload_size=lambda dim: 4 * dim,
            encoder=encode,
            empty=lambda dim: IntegerSum(dim, scale(dim).radius, norm=scale(dim).radius),
            decoder=decode,
            clip_update=lambda update: update,
            variance=lambda update: np.zeros(len(update)),
            claims=lambda dim, cohort: (_claim(scale(dim), extent, bands),),
            sum_noise=lambda dim: scale(dim).stddev * math.sqrt(max(1, helpers)),
            known_noise=lambda dim: (
                scale(dim).stddev
                * math.sqrt(max(1, helpers))
                * compute_relative_noise(bands, extent.rounds)
            ),
            integers=_build_integer_coding(scale, helpers) if helpers else None,
            rounds_decoder=decode_over_rounds if bands else None,
        )

    return CodecStage(name="Gaussian noise on the sum", make=make, needs=("l2",))


def _get_rate(extent: Extent) -> float:
    """Sampling rate of a client; 1 under secure aggregation, where the server's helpers know the
    cohort.
    """
    return 1.0 if extent.helpers else extent.rate


def _choose_bands(extent: Extent, banded: bool) -> tuple[int, ...]:
    """Coefficients of the correlated noise; empty if the noise of all rounds is independent."""
    return (
        choose_coefficients(extent.rounds, min(extent.separation, extent.rounds)) if banded else ()
    )


def _choose_scale(
    loss: Loss, extent: Extent, clip: float, dim: int, bands: tuple[int, ...]
) -> Scale:
    releases = extent.rounds if extent.rate < 1 else extent.max_responses
    found = choose_scale(
        loss,
        clip,
        compute_column_norm(bands),
        releases=releases,
        numbers=extent.rounds * dim,
        rate=_get_rate(extent),
    )
    if not bands:
        return found
    if found.radius >> FINE_BITS < 1:
        raise ChainError(
            f"codec.noise = 'banded' allows a noise multiplier up to {STEPS >> FINE_BITS:,}; raise"
            " codec.epsilon"
        )
    return found.coarsen(FINE_BITS)


def _fits_32_bits(scale: Scale, extent: Extent) -> bool:
    """Whether no sum can leave signed 32-bit integers, at a scale that is still far finer than the
    noise.
    """
    return scale.radius >= _FINE and _bound_sum(scale, extent.max_clients, extent.helpers) < 1 << 31


def _bound_sum(scale: Scale, clients: int, helpers: int) -> int:
    """Bound the absolute value of an integer in a sum: each client's is at most the radius, and
    noise is bounded.
    """
    return clients * scale.radius + helpers * (LARGEST // (STEPS // scale.steps) + 1)


def _build_integer_coding(scale: Callable[[int], Scale], helpers: int) -> IntegerCoding:
    """Describe how messages add up under secure aggregation: modulo 2^32 if that is certain to be
    enough, else modulo 2^64.
    """

    def bits(dim: int) -> int:
        return 64 if scale(dim).steps == STEPS else 32

    def read(payload: Payload, dim: int) -> NDArray[Any]:
        numbers = payload.view("<i4")
        return numbers.view("<u4") if bits(dim) == 32 else numbers.astype("<i8").view("<u8")

    return IntegerCoding(
        bits=bits,
        size=lambda dim: dim,
        read=read,
        build_sum=IntegerSum.of,
        noise=lambda dim, own: scale(dim).noise(own, dim),
        bound=lambda dim, clients: _bound_sum(scale(dim), clients, helpers),
    )


def _claim(scale: Scale, extent: Extent, bands: tuple[int, ...]) -> Claim:
    helpers, rate = extent.helpers, _get_rate(extent)
    who, trust, source = (
        "the server adds",
        _SERVER,
        "Balle and Wang 2018, analytic calibration for all rounds together",
    )
    noise = GaussianNoise(scale.steps / scale.radius / compute_column_norm(bands))
    kept = (
        [f"the client's own ledger, which limits it to {extent.max_responses:,} responses"]
        if extent.participations
        else []
    )
    if bands:
        kept = [f"{kept[0]}, at least {extent.separation} rounds apart"]
        source = f"{source}; Choquette-Choo et al. 2023, banded noise for responses that are rounds apart"
    if rate < 1:
        trust = f"{_SERVER}, and keeps secret who was sampled in a round"
        source = (
            "Koskela, Jälkö and Honkela 2020, privacy loss distribution of all rounds on Poisson"
            " samples (dp-accounting)"
        )
    if helpers:
        who = "a helper adds" if helpers == 1 else f"each of {helpers} helpers adds"
        trust = _HELPER if helpers == 1 else _HELPERS
    together = ", correlated over rounds" if bands else ""
    return Claim(
        mechanism=(
            f"updates clipped to L2 norm {scale.clip:g}; {who} Gaussian noise (σ ="
            f" {scale.stddev:.3g}) to their sum{together}"
        ),
        event=noise if rate == 1 else Sampled(noise, rate),
        unit="update",
        relation="add or remove one client",
        view="everyone",
        trust=(trust, *kept),
        rests_on="helpers" if helpers else "server",
        source=f"{source}; integer noise on an exact sum",
    )


_SERVER = (
    f"the server, which {SEES_UPDATES}, adds the noise and shows nobody anything but the models"
)
_HELPER = (
    "that the server and its helper do not collude, and that the helper adds the noise and does not"
    " subtract it from the models it sees: nobody could notice, and the sum of the updates would"
    " remain"
)
_HELPERS = (
    "that the server and all its helpers do not collude: one helper that keeps its secrets and adds"
    " its noise is enough"
)
