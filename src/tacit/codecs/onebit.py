"""One bit per parameter under secure aggregation: as accurate as Gaussian noise on the sum, in a
thirty-second of the bytes.

A client clips its update to an L2 norm and rotates it (`rotation`), so that all coordinates are
small. Each is sent as one bit, a one with probability 1/2 + g x, almost a fair coin. The server
sees the number of ones per coordinate: the sum of the updates, times g, plus the noise of all
coins. So the others' coins hide a client, and nobody adds noise on purpose. With N clients and g =
sqrt(N) / (2 z clip) the noise on the sum has a standard deviation of z clip per coordinate. A large
epsilon would need probabilities far from one half. Then a coordinate gets several bits, 3, 7, 15, …
with smaller biases, and their count is sent.

Guarantees, for everyone who sees the sums: epsilon at delta for the whole run, for a client that
responds in every round, if its update is removed: then its bits are fair coins. The server must see
only the sum, of at least the agreed number of clients whose coins it does not know. `onebit_loss`
proves how little the sums reveal, given the L2 norm of the update and not its coordinates.
Probabilities are multiples of 2^-32, and their squared biases add up to no more than agreed. Values
that are not finite count as 0.

Decoding is unbiased for updates that are clipped to their L2 norm and, after rotation, to three
times the usual size of a coordinate: about three in a thousand are larger.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numba
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
from tacit.codecs.distributions.onebit_loss import STEEPEST, CoinSums, bound_coin_sums
from tacit.codecs.rr import WORD, quantise_flip_pack
from tacit.codecs.stages.chain import CodecStage, chain
from tacit.codecs.stages.clip import clip_l2
from tacit.codecs.stages.integer_bits import code_bits
from tacit.codecs.stages.integer_updates import Loss
from tacit.codecs.stages.rotation import find_block_size, rotate, rotate_back
from tacit.codecs.sums import BitSum, LevelSum
from tacit.codecs.sums.packing import count_packed_bytes, pack_integers, unpack_integers
from tacit.errors import ChainError
from tacit.privacy.accounting.dominated_loss import compute_epsilon
from tacit.privacy.accounting.gaussian_loss import calibrate_multiplier
from tacit.privacy.claim import Claim, GaussianDominated
from tacit.randomness import ClientDraws, PublicDraws, ServerDraws
from tacit.rows import Vector

_REACH = 3.0
"""Largest size of a rotated coordinate, in L2 norms over the root of a block; larger ones are
clipped.
"""
_LARGEST = 0.125
"""Largest bias of a bit: farther from one half, the sum would reveal noticeably more than one with
Gaussian noise.
"""
_COUNTS = (1, 3, 7, 15, 31, 63, 127, 255)
"""Bits per coordinate such that their count uses all values of its own bits."""
_BLOCK = 1 << 14  # words drawn at a time


@dataclass(frozen=True, kw_only=True)
class CoinBiases:
    """How updates of L2 norm at most `clip` become probabilities: `slope` from one half per unit,
    with `bits` bits per coordinate.
    """

    clip: float
    clients: int
    bits: int
    slope: float
    largest: float
    event: GaussianDominated

    @property
    def stddev(self) -> float:
        """Standard deviation of the noise of one client's random bits, in the units of an update."""
        return 1 / (2 * self.slope * math.sqrt(self.bits))

    def clip_row(self, row: Vector) -> Vector:
        """Clip each coordinate of a rotated update to the largest allowed bias."""
        return np.clip(row, -self.largest / self.slope, self.largest / self.slope)

    def compute_steps(self, row: Vector) -> NDArray[np.float64]:
        """Distance of each probability from one half, in integer multiples of 2^-32, with a bounded
        sum of squares.
        """
        limit, radius = math.floor(self.largest * WORD), self.slope * self.clip * WORD
        steps = np.rint(np.clip(row.astype(np.float64) * (self.slope * WORD), -limit, limit))
        norm = math.sqrt(float(np.square(steps).sum())) * (1 + 1e-9)
        return steps if norm <= radius else np.trunc(steps * (radius / norm * (1 - 1e-9)))


def make(settings: plan.OneBit, extent: Extent) -> Codec:
    """Build the codec whose sum of bits keeps a plan's epsilon and delta over all rounds."""
    return chain(clip_l2(settings.clip), last=build_coin_sum(settings, extent))


def build_coin_sum(settings: plan.OneBit, extent: Extent) -> CodecStage:
    """Build the end of a chain: one coin per coordinate, or a few, for updates with bounded L2
    norm.
    """
    clients = max(1, math.floor(settings.reporters * extent.cohort))

    def make(bound: Bound) -> Codec:
        def coins(dim: int) -> CoinBiases:
            return choose_biases(
                Loss(epsilon=settings.epsilon, delta=settings.delta),
                extent.rounds,
                clients,
                bound.l2,
                find_block_size(dim),
            )

        def encode(
            update: Vector, memory: Memory, *, own: ClientDraws, public: PublicDraws
        ) -> EncodedUpdate:
            found = coins(len(update))
            return wrap_payload(toss_coins(found.compute_steps(rotate(update)), found, own))

        def empty(dim: int) -> BitSum | LevelSum:
            bits = coins(dim).bits
            return BitSum(dim) if bits == 1 else LevelSum(dim, bits + 1, bits.bit_length())

        def decode(total: BitSum | LevelSum, *, public: PublicDraws, own: ServerDraws) -> Vector:
            found = coins(len(total.value()))
            twice = 2 * total.value() - total.weight if isinstance(total, BitSum) else total.value()
            return np.asarray(
                rotate_back(twice / (2 * found.bits * found.slope * total.weight)), np.float32
            )

        def clipped(update: Vector) -> Vector:
            return np.asarray(rotate_back(coins(len(update)).clip_row(rotate(update))), np.float32)

        def variance(update: Vector) -> NDArray[np.float64]:
            found = coins(len(update))
            squares = (
                np.square(found.clip_row(rotate(update)), dtype=np.float64).mean() / found.bits
            )
            return np.full(
                len(update), found.stddev**2 - squares
            )  # on average over all coordinates

        return Codec(
            name="onebit",
            payload_size=lambda dim: count_packed_bytes(dim, coins(dim).bits.bit_length()),
            encoder=encode,
            empty=empty,
            decoder=decode,
            clip_update=clipped,
            variance=variance,
            claims=lambda dim, cohort: (_claim(coins(dim), extent.helpers),),
            known_noise=lambda dim: coins(dim).stddev * math.sqrt(extent.cohort),
            integers=_build_integer_coding(coins, extent) if extent.helpers else None,
            min_clients=clients,
        )

    return CodecStage(name="one bit per coordinate", make=make, needs=("l2",))


@lru_cache(maxsize=64)
def choose_biases(loss: Loss, rounds: int, clients: int, clip: float, block: int) -> CoinBiases:
    """Choose biases with which the sum of `clients` clients' coins keeps a loss over all rounds,
    for up to 2 `block` parameters.

    Raises ChainError if even 255 bits per coordinate leave probabilities too far from one half.
    """
    least = calibrate_multiplier(loss.epsilon, loss.delta) * math.sqrt(
        rounds
    )  # no coins reveal less than Gaussian noise does
    off = math.sqrt(clients) / (2 * least) * min(1.0, _REACH / math.sqrt(block))
    counts = [count for count in _COUNTS if off / math.sqrt(count) <= _LARGEST][:3]
    if not counts:
        raise ChainError(
            f"onebit: epsilon {loss.epsilon:g} per run with {clients:,} clients and blocks of"
            f" {block:,} parameters needs {math.ceil((off / _LARGEST) ** 2):,} bits per parameter,"
            f" more than {_COUNTS[-1]}; lower codec.epsilon, or use codec.name = 'dp_sum'"
        )
    # With few clients up to two more bits are sent: sums of smaller biases are closer to
    # Gaussian noise.
    bits = next(
        (count for count in counts if off / math.sqrt(count * clients) <= STEEPEST / 2), counts[-1]
    )

    def event_at(ratio: float, sums: CoinSums) -> GaussianDominated:
        return sums.dominated(squares=clients / (4 * (ratio * least) ** 2), bits=2 * block * bits)

    bias = off / math.sqrt(
        bits
    )  # the largest, if as little noise were enough as in the Gaussian mechanism
    widest = bias * math.sqrt(
        1 - 4 * bias**2
    )  # about what the others leave if their biases are extreme
    for _ in range(
        6
    ):  # bounds hold for all biases up to the widest, which should be hardly more than what is used
        sums = bound_coin_sums(clients, widest)
        wanted = _find_least_ratio(loss, rounds, partial(event_at, sums=sums))
        ratio = max(wanted, bias / widest)
        if 1 <= wanted * widest / bias < 1 + 2e-3:
            break
        widest = min(bias, bias / wanted * (1 + 1e-3))
    event = event_at(ratio, sums)
    slope = math.sqrt(clients / bits) / (2 * ratio * least * clip)
    return CoinBiases(
        clip=clip, clients=clients, bits=bits, slope=slope, largest=bias / ratio, event=event
    )


def _find_least_ratio(
    loss: Loss, rounds: int, event_at: Callable[[float], GaussianDominated]
) -> float:
    """Least noise that keeps a loss over all rounds, relative to Gaussian noise; at most 0.001 %
    above the least.

    Raises ChainError if 100 times as much does not keep it.
    """

    def keeps(ratio: float) -> bool:
        return compute_epsilon(loss.delta, event_at(ratio), rounds) <= loss.epsilon

    low = high = 1.0
    while not keeps(high):
        low, high = high, 1.25 * high
        if high > 100:
            raise ChainError(
                f"onebit: the privacy loss of its sums is not bounded closely enough for epsilon"
                f" {loss.epsilon:g} per run at delta {loss.delta:g}; raise codec.delta, lower"
                " codec.epsilon, or train with more clients"
            )
    while high / low > 1 + 1e-5:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if keeps(middle) else (middle, high)
    return high


def toss_coins(steps: NDArray[np.float64], coins: CoinBiases, own: ClientDraws) -> Payload:
    """Count the ones of each coordinate's coins, and pack the counts. Words are drawn block by
    block, to stay in the cache.
    """
    stream, size = own.stream(), len(steps)
    words = np.empty(_BLOCK, np.uint32)
    if coins.bits == 1:
        payload, flags = np.empty(count_packed_bytes(size, 1), np.uint8), np.zeros(_BLOCK, np.uint8)
        for start in range(0, size, _BLOCK):
            some = steps[start : start + _BLOCK]
            stream.fill(words[: len(some)])
            quantise_flip_pack(some, words, 1.0, WORD // 4, flags, payload[start // 8 :])
        return payload
    counts, at_once = np.empty(size, np.uint8), _BLOCK // coins.bits
    for start in range(0, size, at_once):
        some = steps[start : start + at_once]
        stream.fill(words[: len(some) * coins.bits])
        count_ones(some, words, coins.bits, counts[start:])
    return pack_integers(counts, coins.bits.bit_length())


@numba.njit(nogil=True, cache=True)
def count_ones(
    steps: NDArray[np.float64], words: NDArray[np.uint32], bits: int, counts: NDArray[np.uint8]
) -> None:
    """Count how many of the next `bits` words lie below each coordinate's threshold."""
    for i in range(steps.size):
        threshold = np.int64(steps[i]) + 2147483648
        counts[i] = 0
        for k in range(i * bits, (i + 1) * bits):
            counts[i] += np.int64(words[k]) < threshold


def _build_integer_coding(coins: Callable[[int], CoinBiases], extent: Extent) -> IntegerCoding:
    """Describe how counts add up under secure aggregation: modulo 2^16 if that is enough for all
    clients, else modulo 2^32.
    """

    def width(dim: int) -> int:
        return 16 if extent.max_clients * coins(dim).bits < 1 << 15 else 32

    def read(payload: Payload, dim: int) -> NDArray[Any]:
        bits = coins(dim).bits
        if bits == 1:
            return code_bits(width(dim)).read(payload, dim)
        return unpack_integers(payload, dim, bits.bit_length()).astype(f"<u{width(dim) // 8}")

    def build_sum(numbers: NDArray[np.int64], weight: int) -> BitSum | LevelSum:
        bits = coins(len(numbers)).bits
        return (
            BitSum.of(numbers, weight)
            if bits == 1
            else LevelSum.of(2 * numbers - bits * weight, weight)
        )

    return IntegerCoding(
        bits=width,
        size=lambda dim: dim,
        read=read,
        build_sum=build_sum,
        bound=lambda dim, clients: clients * coins(dim).bits,
    )


def _claim(coins: CoinBiases, helpers: int) -> Claim:
    how = (
        "one random bit per parameter"
        if coins.bits == 1
        else f"the count of {coins.bits} random bits per parameter"
    )
    alone = (
        f"that the server sees only the sum of the bits of at least {coins.clients:,} clients whose"
        " single bits it does not know"
    )
    return Claim(
        mechanism=(
            f"{how}, of updates clipped to L2 norm {coins.clip:g}; the bits of a removed client are"
            " fair coins"
        ),
        event=coins.event,
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
            "sums of bits are dominated by Gaussian noise, for any bits of the others"
            " (codecs/distributions/onebit_loss.py); computed numerically"
        ),
    )
