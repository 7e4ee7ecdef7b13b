"""Binomial noise (cpSGD): clipped updates, rounded stochastically to integers, each with a centred
binomial number that its client adds.

Guarantees, for a server that sees every message: epsilon at delta for each update of a client, if
all its rows are replaced. The proof is Theorem 1 of the source. Its sensitivities are those of the
rounded integers, whose norms are checked: no probability that rounding adds to them is left out.
Noise is drawn exactly, from the bits of the client's randomness. Decoding gives the clipped update
on average. The server refuses integers that no client can send. Edge cases: NaN and infinite values
count as zero.

Rounds compose as any (epsilon, delta) guarantees do, which is why such a codec needs much noise:
Skellam noise under secure aggregation is the sound choice in Tacit. Source: Agarwal, Suresh, Yu,
Kumar and McMahan 2018, *cpSGD: Communication-efficient and differentially-private distributed SGD*.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated

import numpy as np
from annotated_types import Ge, Gt, Le, Lt
from numpy.typing import NDArray

from tacit.codecs import Codec, EncodedUpdate, Extent, Memory, OwnMechanism, wrap_payload
from tacit.codecs.skellam import bound_squares
from tacit.codecs.stages.clip_rows import clip_each
from tacit.codecs.sums.checks import check_size
from tacit.codecs.sums.integers import IntegerSum
from tacit.codecs.sums.packing import count_packed_bytes, pack_integers, unpack_integers
from tacit.plan.kinds import Positive
from tacit.privacy.claim import Approximate, Claim
from tacit.randomness import ClientDraws, PublicDraws, ServerDraws
from tacit.rows import Vector

_WORD, _MOST_TRIALS = 64, 1 << 22
_BLOCK = 1 << 16  # words drawn at a time
_TRIES = 100


@dataclass(frozen=True, kw_only=True)
class Binomial:
    """The keys of `[codec.settings]`."""

    epsilon: Annotated[float, Gt(0), Le(20)]
    """Privacy loss, per update."""
    delta: Annotated[float, Gt(1e-12), Lt(0.1)] = 1e-5
    """The probability that epsilon does not hold, per update."""
    clip: Positive = 1.0
    """The maximum L2 norm of an update."""
    steps: Annotated[int, Ge(1), Le(10_000)] = 16
    """Steps of the grid of integers from zero to `clip`. More steps need more trials and bits."""


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Integers of a squared norm of at most `squares`, each with the sum of `trials` fair bits."""

    scale: float
    squares: int
    trials: int

    @property
    def largest(self) -> int:
        """Largest absolute value of an integer with its centred noise."""
        return math.isqrt(self.squares) + self.trials // 2

    @property
    def bits(self) -> int:
        """Bits of one integer."""
        return (2 * self.largest).bit_length()


class PackedIntegerSum(IntegerSum):
    """A sum of integers within ±largest, sent in as few bits as hold them."""

    def __init__(self, dim: int, grid: Grid) -> None:
        super().__init__(dim, grid.largest)
        self._most, self._bits = grid.largest, grid.bits

    def add(self, payload: NDArray[np.uint8], weight: int, public: PublicDraws) -> None:
        """Add one payload `weight` times; refuse it if an integer is out of range."""
        dim = len(self.total)
        check_size(payload, count_packed_bytes(dim, self._bits))
        numbers = unpack_integers(payload, dim, self._bits).astype(np.int64) - self._most
        super().add(numbers.astype("<i4").view(np.uint8), weight, public)


def make(settings: Binomial, extent: Extent) -> Codec:
    """Build the codec that adds binomial noise to a clipped and rounded update."""

    def encode(
        update: Vector, memory: Memory, *, own: ClientDraws, public: PublicDraws
    ) -> EncodedUpdate:
        grid = choose_grid(settings, len(update))
        whole = round_randomly(_clip(update, settings.clip), grid, own.at("rounding"))
        noise = draw_binomial(own.at("noise"), len(update), grid.trials)
        return wrap_payload(pack_integers(whole + noise + grid.largest, grid.bits))

    def decode(total: PackedIntegerSum, *, public: PublicDraws, own: ServerDraws) -> Vector:
        sums = total.value()
        scale = choose_grid(settings, len(sums)).scale
        return np.asarray(sums / (scale * total.weight), np.float32)

    def variance(update: Vector) -> NDArray[np.float64]:
        grid = choose_grid(settings, len(update))
        wanted = _clip(update, settings.clip).astype(np.float64) * grid.scale
        off = wanted - np.floor(wanted)
        return np.asarray((grid.trials / 4 + off * (1 - off)) / grid.scale**2)

    return Codec(
        name="binomial",
        payload_size=lambda dim: count_packed_bytes(dim, choose_grid(settings, dim).bits),
        encoder=encode,
        empty=lambda dim: PackedIntegerSum(dim, choose_grid(settings, dim)),
        decoder=decode,
        clip_update=lambda update: _clip(update, settings.clip),
        variance=variance,
        claims=lambda dim, cohort: (_claim(settings, choose_grid(settings, dim)),),
    )


def _clip(update: Vector, clip: float) -> Vector:
    finite = np.nan_to_num(update, nan=0.0, posinf=0.0, neginf=0.0).astype(np.float32)
    return clip_each(finite, np.array([0, len(finite)]), clip)


def round_randomly(row: Vector, grid: Grid, own: ClientDraws) -> NDArray[np.int64]:
    """Round stochastically to integers with a squared norm of at most `grid.squares`."""
    wanted = row.astype(np.float64) * grid.scale
    below = np.floor(wanted)
    thresholds = np.rint((wanted - below) * 2.0**32).astype(np.int64)
    words, stream = np.empty(len(row), np.uint32), own.stream()
    for _ in range(_TRIES):
        stream.fill(words)
        found = below.astype(np.int64) + (words < thresholds)
        if int(np.square(found).sum()) <= grid.squares:
            return found
    return np.trunc(wanted).astype(np.int64)


def draw_binomial(own: ClientDraws, count: int, trials: int) -> NDArray[np.int64]:
    """Draw `count` sums of `trials` fair bits, less half of `trials`."""
    each = trials // _WORD
    at_once, stream = max(1, _BLOCK // each), own.stream()
    found = np.empty(count, np.int64)
    for start in range(0, count, at_once):
        block = found[start : start + at_once]
        words = np.empty(len(block) * each, np.uint64)
        stream.fill(words)
        ones = np.bitwise_count(words).reshape(len(block), each)
        block[:] = ones.sum(axis=1, dtype=np.int64) - trials // 2
    return found


@lru_cache(maxsize=64)
def choose_grid(settings: Binomial, dim: int) -> Grid:
    """Choose the smallest number of trials that keeps epsilon at delta; a multiple of 64.

    Raises ValueError if too many would be needed.
    """
    squares = bound_squares(float(settings.steps), dim)

    def fits(words: int) -> bool:
        loss = compute_epsilon(_WORD * words, squares, dim, settings.delta)
        return loss <= settings.epsilon

    low, high = 0, 1
    while not fits(high):
        low, high = high, 2 * high
        if _WORD * high > _MOST_TRIALS:
            raise ValueError(
                f"binomial: epsilon {settings.epsilon:g} per update with {dim:,} parameters needs"
                f" more than {_MOST_TRIALS:,} trials; raise epsilon or delta, or lower steps"
            )
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return Grid(scale=settings.steps / settings.clip, squares=squares, trials=_WORD * high)


def compute_epsilon(trials: int, squares: int, dim: int, delta: float) -> float:
    """Epsilon at delta of an update whose integers have a squared norm of at most `squares`, if it
    is replaced: Theorem 1 of the source for p = 1/2 and scale 1; infinite where it says nothing.
    """
    l2 = 2 * math.sqrt(squares)
    l1, largest = min(math.sqrt(dim) * l2, l2**2), 2.0 * math.isqrt(squares)
    spread = trials / 4
    if spread < max(23 * math.log(10 * dim / delta), 2 * largest):
        return math.inf
    b, c, d = 1 / 3, 7 * math.sqrt(2) / 4, 2 / 3
    first = l2 * math.sqrt(2 * math.log(1.25 / delta) / spread)
    second = (l2 * c * math.sqrt(math.log(10 / delta)) + l1 * b) / (spread * (1 - delta / 10))
    tails = 2 / 3 * math.log(1.25 / delta) + d * math.log(20 * dim / delta) * math.log(10 / delta)
    return first + second + largest * tails / spread


def _claim(settings: Binomial, grid: Grid) -> Claim:
    return Claim(
        mechanism=(
            f"integers of updates clipped to L2 norm {settings.clip:g}, each with binomial noise"
            f" (σ = {math.sqrt(grid.trials) / 2 / grid.scale:.3g}, {grid.trials:,} trials)"
        ),
        event=Approximate(settings.epsilon, settings.delta),
        unit="update",
        relation="replace all rows of one client",
        view="server",
        trust=("nobody, since each client randomises before anything leaves",),
        rests_on="nobody",
        source="Agarwal et al. 2018, Theorem 1, with bounds on the norms of rounded integers",
    )


binomial = OwnMechanism(settings=Binomial, make=make)
