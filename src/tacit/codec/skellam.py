"""Whole numbers with a share of the noise from each client, added up modulo a power of two: DP-FedAvg that trusts a secure sum.

A client cuts its update to a length and rotates it (`rotation`), scales it, rounds it at random to whole numbers that are not
too long, adds Skellam noise (`skellam_noise`), and sends the rest modulo 2^bits: next to nothing by itself, if the others are
unknown. Noise of many clients adds up to Skellam noise, whose sum keeps what is stated.

Guarantees, for whoever sees the sums: epsilon at delta for the whole run, for a client that answers every round, if its update is
taken out: it sends noise alone then. The server must see the sum alone, with the noise of at least the agreed number of clients
in it. All clients must weigh the same. Lengths are checked in whole numbers, and noise is drawn in them. The Rényi divergence, with
Δ2 and Δ1 the most a client's numbers can measure and v the variance of all noise, at whole orders α (between them (α - 1) times it
is convex), is at most

    α Δ2² / 2v + min(((2α - 1) Δ2² + 6 Δ1) / 4v², 3 Δ1 / 2v).

Decoding gives the clipped update back on average, but for sums that leave the modulus: its scale leaves room for four standard
deviations of a coordinate even if all updates were the same.

Source: Agarwal, Kairouz and Liu 2021, *The Skellam Mechanism for Differentially Private Federated Learning*.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit import plan
from tacit.claim import Claim, RenyiCurve
from tacit.codec.chain import Last, chain
from tacit.codec.clip import clip_l2
from tacit.codec.contract import Bound, Codec, Encoded, Extent, Memory, Payload, Wholes, encoded
from tacit.codec.rotation import rotated, rotated_back
from tacit.codec.skellam_noise import PARTS, WIDEST, skellam_noise, variance_of
from tacit.codec.sums import ModularSum
from tacit.codec.sums.packing import packed, packed_size, unpacked
from tacit.codec.whole_run import Loss
from tacit.draws import ClientDraws, PublicDraws, ServerDraws
from tacit.errors import ChainError
from tacit.gaussian_loss import multiplier_for
from tacit.renyi_loss import ORDERS, epsilon_at
from tacit.rows import Vector

_FINE = 50.0
"""Steps to the root of the number of parameters, in a clip: then rounding makes updates longer by 1e-4, and more would not help."""
_TRIES = 100
"""Random roundings before one towards zero is taken; each is short enough with a chance of at least 0.39."""


@dataclass(frozen=True, kw_only=True)
class Wires:
    """What both sides know of a round: how many clients count, how many may answer, and the bits of a number."""

    counted: int
    most: int
    bits: int
    rounds: int


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Updates of a length of at most `clip` as whole numbers: `scale` to a unit, squares up to `squares`, noise of `parts`."""

    clip: float
    scale: float
    squares: int
    parts: int
    curve: tuple[float, ...]

    @property
    def stddev(self) -> float:
        """Return the standard deviation of one client's noise, in units of an update."""
        return math.sqrt(self.parts / PARTS) / self.scale

    def whole(self, row: Vector, own: ClientDraws) -> NDArray[np.int64]:
        """Return a rotated update, rounded at random to whole numbers whose squares add up to at most `squares`."""
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
    """Return the codec whose clients together add as much noise as keeps a plan's epsilon and delta over all its rounds."""
    return chain(clip_l2(settings.clip), last=shared_noise(settings, extent))


def shared_noise(settings: plan.Skellam, extent: Extent) -> Last:
    """Return the end of a chain: whole numbers, each client with its share of the noise; updates must be bounded in length."""
    counted = max(1, math.floor(settings.reporters * extent.cohort))
    wires = Wires(counted=counted, most=extent.most, bits=settings.bits, rounds=extent.rounds)
    loss = Loss(epsilon=settings.epsilon, delta=settings.delta)

    def make(bound: Bound) -> Codec:
        def grid(dim: int) -> Grid:
            return grid_for(loss, wires, bound.l2, dim)

        def encode(update: Vector, memory: Memory, *, own: ClientDraws, public: PublicDraws) -> Encoded:
            chosen = grid(len(update))
            steps = chosen.whole(rotated(update), own.at("rounding")) + skellam_noise(chosen.parts, own.at("noise"), len(update))
            return encoded(packed(steps & ((1 << wires.bits) - 1), wires.bits))

        def decode(total: ModularSum, *, public: PublicDraws, own: ServerDraws) -> Vector:
            sums = total.value()
            return np.asarray(rotated_back(sums / (grid(len(sums)).scale * total.weight)), np.float32)

        def variance(update: Vector) -> NDArray[np.float64]:
            chosen, row = grid(len(update)), rotated(update).astype(np.float64)
            off = row * chosen.scale - np.floor(row * chosen.scale)
            return np.full(len(update), chosen.stddev**2 + (off * (1 - off)).mean() / chosen.scale**2)  # on average

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
    """Return the whole numbers and the noise that keep a loss over all rounds, at the largest scale that fits the bits.

    Raises ChainError if the numbers of all clients do not fit.
    """
    least = multiplier_for(loss.epsilon, loss.delta) * math.sqrt(wires.rounds)

    def at(ratio: float) -> Grid:
        return grid_with(ratio * least, wires, clip, dim)

    low, high = 1.0, 1.25
    while epsilon_at(loss.delta, at(high).curve, wires.rounds) > loss.epsilon:
        low, high = high, 1.5 * high
        if high > 100:
            raise ChainError(
                f"skellam(epsilon={loss.epsilon:g} per run, bits={wires.bits}) needs more bits for {wires.most:,} clients and "
                f"{dim:,} parameters, or a larger epsilon or delta; raise codec.bits"
            )
    while high / low > 1 + 2e-5:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if epsilon_at(loss.delta, at(middle).curve, wires.rounds) <= loss.epsilon else (middle, high)
    return at(high)


def grid_with(multiplier: float, wires: Wires, clip: float, dim: int) -> Grid:
    """Return the grid for noise of `multiplier` clips on the sum of the clients that count."""
    spread = wires.most**2 / dim + multiplier**2 * wires.most / wires.counted  # of a coordinate of the sum, in clips squared
    room = 4.0 ** (wires.bits - 1) - 4 * wires.most
    if room <= 16 * spread:
        raise ChainError(
            f"skellam(bits={wires.bits}) needs more bits for {wires.most:,} clients with noise of {multiplier:.3g} clips; "
            "raise codec.bits"
        )
    steps = math.sqrt(room / (16 * spread))  # to a clip
    steps = min(steps, _FINE * math.sqrt(dim), WIDEST * math.sqrt(wires.counted) / multiplier)
    squares = longest(steps, dim)
    parts = variance_of((multiplier * steps) ** 2 / wires.counted)
    curve = curve_of(squares, wires.counted * parts / PARTS, dim)
    return Grid(clip=clip, scale=steps / clip, squares=squares, parts=parts, curve=curve)


def longest(steps: float, dim: int) -> int:
    """Return the most that squares of a rounded update of so many steps may add up to.

    Either rounding moved each number by one, or it came out as one of those at least 39 % of roundings that are no longer (a
    martingale bound at the chance e^(-1/2)).
    """
    always = (steps + math.sqrt(dim)) ** 2
    mostly = steps**2 + dim / 4 + steps + math.sqrt(dim) / 2
    return math.floor(min(always, mostly))


def curve_of(squares: int, variance: float, dim: int) -> tuple[float, ...]:
    """Return the Rényi divergence at `ORDERS` of whole numbers of bounded squares under noise of a variance."""
    absolutes = min(squares, math.sqrt(dim * squares))

    def at(order: int) -> float:
        first = ((2 * order - 1) * squares + 6 * absolutes) / (4 * variance**2)
        return order * squares / (2 * variance) + min(first, 3 * absolutes / (2 * variance))

    def between(order: float) -> float:
        low, high = math.floor(order), math.ceil(order)
        if low == high:
            return at(low)
        ends = ((low - 1) * at(low) if low > 1 else 0.0), (high - 1) * at(high)
        return (ends[0] + (order - low) * (ends[1] - ends[0])) / (order - 1)

    return tuple(accumulate((between(order) * (1 + 2**-40) for order in ORDERS), max))  # which rounding may have lowered


def _whole(bits: int) -> Wholes:
    """Return how numbers add up under a secure sum: in 16 bits if they fit, else in 32."""
    width = 16 if bits <= 16 else 32

    def of(payload: Payload, dim: int) -> NDArray[Any]:
        return unpacked(payload, dim, bits).astype(f"<u{width // 8}")

    return Wholes(
        bits=lambda dim: width,
        size=lambda dim: dim,
        of=of,
        total=lambda numbers, weight: ModularSum.of(numbers, weight, bits),
    )


def _claim(grid: Grid, wires: Wires, helpers: int) -> Claim:
    alone = f"that the server sees the sum of a round alone, with the noise of at least {wires.counted:,} clients in it"
    return Claim(
        mechanism=f"whole numbers modulo 2^{wires.bits} of updates cut to a length of {grid.clip:g}, each with Skellam noise of "
        f"{grid.stddev:.3g}; taken out, a client sends noise alone",
        event=RenyiCurve(ORDERS, grid.curve),
        unit="update",
        relation="add or remove one client",
        view="everyone",
        trust=(f"{alone}: its helpers do not work together with it" if helpers else alone,),
        rests_on="helpers" if helpers else "server",
        source="Agarwal, Kairouz and Liu 2021, Rényi divergence of Skellam noise; whole numbers throughout",
    )
