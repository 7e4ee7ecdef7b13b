"""Integers with a share of the noise from each client, added up modulo a power of two: DP-FedAvg
under secure aggregation.

A client clips its update to an L2 norm and rotates it (`rotation`), scales it, rounds it at random
to integers of bounded L2 norm, adds Skellam noise (`skellam_noise`), and sends the result modulo
2^bits. The noise of many clients adds up to Skellam noise.

Guarantees, for everyone who sees the sums: epsilon at delta for the whole run, for a client that
answers every round, if its update is removed: it sends noise alone then. The server must see the
sum alone, with the noise of at least the agreed number of clients in it. All clients must have the
same weight. Norms are checked in integers, and noise is drawn in them. `skellam_law` proves that
the sums reveal no more than Gaussian noise of almost the same size.

Decoding gives the clipped update back on average, unless a sum leaves the modulus: the scale leaves
room for four standard deviations of a coordinate even if all updates were the same.

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
    OTHERS,
    Bound,
    Codec,
    Encoded,
    Extent,
    Memory,
    Payload,
    Wholes,
    encoded,
)
from tacit.codecs.distributions.skellam_loss import bound_shift
from tacit.codecs.distributions.skellam_noise import (
    DISTANCE,
    PARTS,
    WIDEST,
    skellam_noise,
    variance_of,
)
from tacit.codecs.stages.chain import Last, chain
from tacit.codecs.stages.clip import clip_l2
from tacit.codecs.stages.integer_updates import Loss
from tacit.codecs.stages.rotation import rotated, rotated_back
from tacit.codecs.sums import ModularSum
from tacit.codecs.sums.packing import packed, packed_size, unpacked
from tacit.errors import ChainError
from tacit.privacy.accounting.dominated_loss import compute_epsilon
from tacit.privacy.accounting.gaussian_loss import calibrate_multiplier
from tacit.privacy.claim import Claim, GaussianDominated
from tacit.randomness import ClientDraws, PublicDraws, ServerDraws
from tacit.rows import Vector

_FINE = 50.0
"""Steps to the root of the number of parameters, in a clip: then rounding makes updates longer by
1e-4, and more would not help.
"""
_TRIES = 100
"""Random roundings before one towards zero is taken; each is short enough with a chance of at least
0.39.
"""


@dataclass(frozen=True, kw_only=True)
class Wires:
    """What both sides know of a round: how many clients count, how many may answer, and the bits of
    a number.
    """

    counted: int
    most: int
    bits: int
    rounds: int


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Updates of a length of at most `clip` as whole numbers: `scale` to a unit, squares up to
    `squares`, noise of `parts`.
    """

    clip: float
    scale: float
    squares: int
    parts: int
    event: GaussianDominated

    @property
    def stddev(self) -> float:
        """Return the standard deviation of one client's noise, in units of an update."""
        return math.sqrt(self.parts / PARTS) / self.scale

    def whole(self, row: Vector, own: ClientDraws) -> NDArray[np.int64]:
        """Return a rotated update, rounded at random to whole numbers whose squares add up to at
        most `squares`.
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
    """Return the codec whose clients together add as much noise as keeps a plan's epsilon and delta
    over all its rounds.
    """
    return chain(clip_l2(settings.clip), last=shared_noise(settings, extent))


def shared_noise(settings: plan.Skellam, extent: Extent) -> Last:
    """Return the end of a chain: whole numbers, each client with its share of the noise; updates
    must be bounded in length.
    """
    counted = max(1, math.floor(settings.reporters * extent.cohort))
    wires = Wires(counted=counted, most=extent.most, bits=settings.bits, rounds=extent.rounds)
    loss = Loss(epsilon=settings.epsilon, delta=settings.delta)

    def make(bound: Bound) -> Codec:
        def grid(dim: int) -> Grid:
            return grid_for(loss, wires, bound.l2, dim)

        def encode(
            update: Vector, memory: Memory, *, own: ClientDraws, public: PublicDraws
        ) -> Encoded:
            chosen = grid(len(update))
            steps = chosen.whole(rotated(update), own.at("rounding")) + skellam_noise(
                chosen.parts, own.at("noise"), len(update)
            )
            return encoded(packed(steps & ((1 << wires.bits) - 1), wires.bits))

        def decode(total: ModularSum, *, public: PublicDraws, own: ServerDraws) -> Vector:
            sums = total.value()
            return np.asarray(
                rotated_back(sums / (grid(len(sums)).scale * total.weight)), np.float32
            )

        def variance(update: Vector) -> NDArray[np.float64]:
            chosen, row = grid(len(update)), rotated(update).astype(np.float64)
            off = row * chosen.scale - np.floor(row * chosen.scale)
            return np.full(
                len(update), chosen.stddev**2 + (off * (1 - off)).mean() / chosen.scale**2
            )  # on average

        return Codec(
            name="skellam",
            payload_size=lambda dim: packed_size(dim, wires.bits),
            encoder=encode,
            empty=lambda dim: ModularSum(dim, wires.bits),
            decoder=decode,
            clipped=lambda update: update,
            variance=variance,
            claims=lambda dim, cohort: (_claim(grid(dim), wires, extent.helpers),),
            known_noise=lambda dim: grid(dim).stddev * math.sqrt(extent.cohort),
            whole=_whole(wires.bits) if extent.helpers else None,
            fewest=counted,
        )

    return Last(name="whole numbers with a share of the noise", make=make, needs=("l2",))


@lru_cache(maxsize=64)
def grid_for(loss: Loss, wires: Wires, clip: float, dim: int) -> Grid:
    """Return the whole numbers and the noise that keep a loss over all rounds, at the largest scale
    that fits the bits.

    Raises ChainError if the numbers of all clients do not fit.
    """
    least = calibrate_multiplier(loss.epsilon, loss.delta) * math.sqrt(wires.rounds)

    def at(ratio: float) -> Grid:
        return grid_with(ratio * least, wires, clip, dim)

    low, high = 1.0, 1.25
    while compute_epsilon(loss.delta, at(high).event, wires.rounds) > loss.epsilon:
        low, high = high, 1.5 * high
        if high > 100:
            raise ChainError(
                f"skellam(epsilon={loss.epsilon:g} per run, bits={wires.bits}) needs more bits for"
                f" {wires.most:,} clients and {dim:,} parameters, or a larger epsilon or delta;"
                " raise codec.bits"
            )
    while high / low > 1 + 2e-5:
        middle = math.sqrt(low * high)
        low, high = (
            (low, middle)
            if compute_epsilon(loss.delta, at(middle).event, wires.rounds) <= loss.epsilon
            else (middle, high)
        )
    return at(high)


def grid_with(multiplier: float, wires: Wires, clip: float, dim: int) -> Grid:
    """Return the grid for noise of `multiplier` clips on the sum of the clients that count."""
    spread = (
        wires.most**2 / dim + multiplier**2 * wires.most / wires.counted
    )  # of a coordinate of the sum, in clips squared
    room = 4.0 ** (wires.bits - 1) - 4 * wires.most
    if room <= 16 * spread:
        raise ChainError(
            f"skellam(bits={wires.bits}) needs more bits for {wires.most:,} clients with noise of"
            f" {multiplier:.3g} clips; raise codec.bits"
        )
    steps = math.sqrt(room / (16 * spread))  # to a clip
    steps = min(steps, _FINE * math.sqrt(dim), WIDEST * math.sqrt(wires.counted) / multiplier)
    squares = longest(steps, dim)
    parts = variance_of((multiplier * steps) ** 2 / wires.counted)
    shift = bound_shift(wires.counted * parts / PARTS) * math.sqrt(squares)
    event = GaussianDominated(noise_multiplier=1 / shift, distance=wires.most * dim * DISTANCE)
    return Grid(clip=clip, scale=steps / clip, squares=squares, parts=parts, event=event)


def longest(steps: float, dim: int) -> int:
    """Return the most that squares of a rounded update of so many steps may add up to.

    Either rounding moved each number by one, or it came out as one of those at least 39 % of
    roundings that are no longer (a martingale bound at the chance e^(-1/2)).
    """
    always = (steps + math.sqrt(dim)) ** 2
    mostly = steps**2 + dim / 4 + steps + math.sqrt(dim) / 2
    return math.floor(min(always, mostly))


def _whole(bits: int) -> Wholes:
    """How numbers modulo 2^bits add up under secure aggregation: as the highest bits of 16-bit
    integers if they fit, else of 32.

    The shares are added modulo 2^width. A number stands in the highest bits, so what overflows is
    lost, and the server sees the sum modulo 2^bits and nothing else. In the lowest bits the carries
    would count the clients whose number is negative.
    """
    width = 16 if bits <= 16 else 32
    shift = width - bits

    def of(payload: Payload, dim: int) -> NDArray[Any]:
        numbers: NDArray[Any] = unpacked(payload, dim, bits).astype(f"<u{width // 8}")
        numbers <<= shift
        return numbers

    return Wholes(
        bits=lambda dim: width,
        size=lambda dim: dim,
        of=of,
        total=lambda numbers, weight: ModularSum.of(numbers >> shift, weight, bits),
    )


def _claim(grid: Grid, wires: Wires, helpers: int) -> Claim:
    alone = (
        "that the server sees the sum of a round alone, with the noise of at least"
        f" {wires.counted:,} clients in it"
    )
    return Claim(
        mechanism=(
            f"integers modulo 2^{wires.bits} of updates clipped to L2 norm {grid.clip:g}, each with"
            f" Skellam noise of σ = {grid.stddev:.3g}; taken out, a client sends noise alone"
        ),
        event=grid.event,
        unit="update",
        relation="add or remove one client",
        view="everyone",
        trust=(
            (f"{alone}: its helpers do not work together with it", OTHERS) if helpers else (alone,)
        ),
        rests_on="clients" if helpers else "server",
        source=(
            "Agarwal, Kairouz and Liu 2021; Skellam noise is dominated by Gaussian noise"
            " (codecs/distributions/skellam_loss.py); integers"
        ),
    )
