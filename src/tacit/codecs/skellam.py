"""Integers with a share of the noise from each client, added up modulo a power of two: distributed
DP-FedAvg under secure aggregation.

A client clips its update to an L2 norm and rotates it (`rotation`), scales it, rounds it
stochastically to integers of bounded L2 norm, adds Skellam noise (`skellam_noise`), and sends the
result modulo 2^bits. The noise of many clients adds up to Skellam noise.

Guarantees, for everyone who sees the sums: epsilon at delta for the whole run, for a client that
responds in every round, if its update is removed: then it sends noise only. The server must see
only the sum, with the noise of at least the agreed number of clients in it. All clients must have
the same weight. Norms are checked in integers, and noise is drawn in integers. `skellam_loss`
proves that the sums reveal no more than Gaussian noise with almost the same standard deviation.

Decoding gives the clipped update on average, unless a sum leaves the modulus: the scale leaves
space for four standard deviations of a coordinate even if all updates were equal.

Source: Agarwal, Kairouz and Liu 2021, *The Skellam Mechanism for Differentially Private Federated
Learning*.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit import plan
from tacit.codecs.contract import (
    TRUST_IN_CLIENTS,
    Bound,
    Codec,
    EncodedUpdate,
    Extent,
    IntegerCoding,
    Memory,
    Payload,
    wrap_payload,
)
from tacit.codecs.distributions.skellam_loss import bound_shift
from tacit.codecs.distributions.skellam_noise import (
    DISTANCE,
    PARTS,
    WIDEST,
    draw_skellam,
    round_variance_up,
)
from tacit.codecs.stages.chain import CodecStage, chain
from tacit.codecs.stages.clip import clip_l2
from tacit.codecs.stages.integer_updates import Loss
from tacit.codecs.stages.rotation import rotate, rotate_back
from tacit.codecs.sums import ModularSum
from tacit.codecs.sums.packing import count_packed_bytes, pack_integers, unpack_integers
from tacit.errors import ChainError
from tacit.privacy.accounting.dominated_loss import compute_epsilon
from tacit.privacy.accounting.gaussian_loss import calibrate_multiplier
from tacit.privacy.claim import Claim, GaussianDominated
from tacit.randomness import ClientDraws, PublicDraws, ServerDraws
from tacit.rows import Vector

_FINE = 50.0
"""Steps per clip, divided by the root of the number of parameters. Rounding then increases the L2
norm of updates by 1e-4; a finer grid would not help.
"""
_TRIES = 100
"""Stochastic roundings before rounding towards zero; each has a small enough norm with probability
at least 0.39.
"""


@dataclass(frozen=True, kw_only=True)
class SumFormat:
    """What both sides know of a round: how many clients count for the guarantee, how many may
    respond, and the bits per integer.
    """

    min_clients: int
    max_clients: int
    bits: int
    rounds: int


@dataclass(frozen=True, kw_only=True)
class IntegerGrid:
    """Updates of L2 norm at most `clip` as integers: `scale` steps per unit, a squared norm of at
    most `squares`, and noise of variance `parts`.
    """

    clip: float
    scale: float
    squares: int
    parts: int
    event: GaussianDominated

    @property
    def stddev(self) -> float:
        """Standard deviation of one client's noise, in units of an update."""
        return math.sqrt(self.parts / PARTS) / self.scale

    def round_randomly(self, row: Vector, own: ClientDraws) -> NDArray[np.int64]:
        """Round a rotated update stochastically to integers with a squared norm of at most
        `squares`.
        """
        wanted = row.astype(np.float64) * self.scale
        below = np.floor(wanted)
        thresholds = np.rint((wanted - below) * 2.0**32).astype(np.int64)
        words, stream = np.empty(len(row), np.uint32), own.stream()
        for _ in range(_TRIES):
            stream.fill(words)
            steps = below.astype(np.int64) + (words < thresholds)
            if int(np.square(steps).sum()) <= self.squares:
                return steps
        steps = np.trunc(wanted).astype(np.int64)
        return steps if int(np.square(steps).sum()) <= self.squares else np.zeros_like(steps)


def make(settings: plan.Skellam, extent: Extent) -> Codec:
    """Build the codec whose clients together add the noise that keeps a plan's epsilon and delta
    over all rounds.
    """
    return chain(clip_l2(settings.clip), last=build_noisy_integers(settings, extent))


def build_noisy_integers(settings: plan.Skellam, extent: Extent) -> CodecStage:
    """Build the end of a chain: integers, each client with its share of the noise, of updates with
    bounded L2 norm.
    """
    min_clients = max(1, math.floor(settings.reporters * extent.cohort))
    sums = SumFormat(
        min_clients=min_clients,
        max_clients=extent.max_clients,
        bits=settings.bits,
        rounds=extent.rounds,
    )
    loss = Loss(epsilon=settings.epsilon, delta=settings.delta)

    def make(bound: Bound) -> Codec:
        def grid(dim: int) -> IntegerGrid:
            return choose_grid(loss, sums, bound.l2, dim)

        def encode(
            update: Vector, memory: Memory, *, own: ClientDraws, public: PublicDraws
        ) -> EncodedUpdate:
            chosen = grid(len(update))
            steps = chosen.round_randomly(rotate(update), own.at("rounding")) + draw_skellam(
                chosen.parts, own.at("noise"), len(update)
            )
            return wrap_payload(pack_integers(steps & ((1 << sums.bits) - 1), sums.bits))

        def decode(total: ModularSum, *, public: PublicDraws, own: ServerDraws) -> Vector:
            sums = total.value()
            return np.asarray(
                rotate_back(sums / (grid(len(sums)).scale * total.weight)), np.float32
            )

        def variance(update: Vector) -> NDArray[np.float64]:
            chosen, row = grid(len(update)), rotate(update).astype(np.float64)
            off = row * chosen.scale - np.floor(row * chosen.scale)
            return np.full(
                len(update), chosen.stddev**2 + (off * (1 - off)).mean() / chosen.scale**2
            )  # on average

        return Codec(
            name="skellam",
            payload_size=lambda dim: count_packed_bytes(dim, sums.bits),
            encoder=encode,
            empty=lambda dim: ModularSum(dim, sums.bits),
            decoder=decode,
            clip_update=lambda update: update,
            variance=variance,
            claims=lambda dim, cohort: (_claim(grid(dim), sums, extent.helpers),),
            known_noise=lambda dim: grid(dim).stddev * math.sqrt(extent.cohort),
            integers=_build_integer_coding(sums.bits) if extent.helpers else None,
            min_clients=min_clients,
        )

    return CodecStage(name="integers with a share of the noise", make=make, needs=("l2",))


@lru_cache(maxsize=64)
def choose_grid(loss: Loss, sums: SumFormat, clip: float, dim: int) -> IntegerGrid:
    """Choose the grid and the noise that keep a loss over all rounds, at the largest scale that
    fits the bits.

    Raises ChainError if the integers of all clients do not fit.
    """
    least = calibrate_multiplier(loss.epsilon, loss.delta) * math.sqrt(sums.rounds)

    def at(ratio: float) -> IntegerGrid:
        return build_grid(ratio * least, sums, clip, dim)

    low, high = 1.0, 1.25
    while compute_epsilon(loss.delta, at(high).event, sums.rounds) > loss.epsilon:
        low, high = high, 1.5 * high
        if high > 100:
            raise ChainError(
                f"skellam: {sums.bits} bits are too few for epsilon {loss.epsilon:g} per run with"
                f" {sums.max_clients:,} clients and {dim:,} parameters; raise codec.bits,"
                " codec.epsilon or codec.delta"
            )
    while high / low > 1 + 2e-5:
        middle = math.sqrt(low * high)
        low, high = (
            (low, middle)
            if compute_epsilon(loss.delta, at(middle).event, sums.rounds) <= loss.epsilon
            else (middle, high)
        )
    return at(high)


def build_grid(multiplier: float, sums: SumFormat, clip: float, dim: int) -> IntegerGrid:
    """Build the grid for a noise multiplier of the sum over the clients that count."""
    spread = (
        sums.max_clients**2 / dim + multiplier**2 * sums.max_clients / sums.min_clients
    )  # of a coordinate of the sum, in clips squared
    room = 4.0 ** (sums.bits - 1) - 4 * sums.max_clients
    if room <= 16 * spread:
        raise ChainError(
            f"skellam: {sums.bits} bits are too few for {sums.max_clients:,} clients with a noise"
            f" multiplier of {multiplier:.3g}; raise codec.bits"
        )
    steps = math.sqrt(room / (16 * spread))  # to a clip
    steps = min(steps, _FINE * math.sqrt(dim), WIDEST * math.sqrt(sums.min_clients) / multiplier)
    squares = bound_squares(steps, dim)
    parts = round_variance_up((multiplier * steps) ** 2 / sums.min_clients)
    shift = bound_shift(sums.min_clients * parts / PARTS) * math.sqrt(squares)
    event = GaussianDominated(
        noise_multiplier=1 / shift, distance=sums.max_clients * dim * DISTANCE
    )
    return IntegerGrid(clip=clip, scale=steps / clip, squares=squares, parts=parts, event=event)


def bound_squares(steps: float, dim: int) -> int:
    """Bound the squared norm of a rounded update whose L2 norm was `steps`.

    Either rounding moved each coordinate by one, or the result is among the at least 39 % of
    roundings with no larger norm (a martingale bound with probability e^(-1/2)).
    """
    always = (steps + math.sqrt(dim)) ** 2
    mostly = steps**2 + dim / 4 + steps + math.sqrt(dim) / 2
    return math.floor(min(always, mostly))


def _build_integer_coding(bits: int) -> IntegerCoding:
    """Describe how integers modulo 2^bits add up under secure aggregation: as the highest bits of
    16-bit integers if they fit, else of 32-bit ones.

    Shares are added modulo 2^width. A number occupies the highest bits, so what overflows is lost,
    and the server sees the sum modulo 2^bits and nothing else. In the lowest bits the carries would
    count the clients whose number is negative.
    """
    width = 16 if bits <= 16 else 32
    shift = width - bits

    def read(payload: Payload, dim: int) -> NDArray[Any]:
        numbers: NDArray[Any] = unpack_integers(payload, dim, bits).astype(f"<u{width // 8}")
        numbers <<= shift
        return numbers

    return IntegerCoding(
        bits=lambda dim: width,
        size=lambda dim: dim,
        read=read,
        build_sum=lambda numbers, weight: ModularSum.of(numbers >> shift, weight, bits),
    )


def _claim(grid: IntegerGrid, sums: SumFormat, helpers: int) -> Claim:
    alone = (
        "that the server sees only the sum of a round, with the noise of at least"
        f" {sums.min_clients:,} clients in it"
    )
    return Claim(
        mechanism=(
            f"integers modulo 2^{sums.bits} of updates clipped to L2 norm {grid.clip:g}, each with"
            f" Skellam noise (σ = {grid.stddev:.3g}); a removed client sends only noise"
        ),
        event=grid.event,
        unit="update",
        relation="add or remove one client",
        view="everyone",
        trust=(
            (f"{alone}: it does not collude with its helpers", TRUST_IN_CLIENTS)
            if helpers
            else (alone,)
        ),
        rests_on="clients" if helpers else "server",
        source=(
            "Agarwal, Kairouz and Liu 2021; Skellam noise is dominated by Gaussian noise"
            " (codecs/distributions/skellam_loss.py); integers"
        ),
    )
