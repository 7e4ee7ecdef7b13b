"""Gaussian noise in whole steps, 2^26 to a standard deviation: the floor of a real Gaussian, for
adding to whole numbers.

Noise that is rounded in floating point can give away what it was added to: not every sum is
reachable from every number (Mironov 2012). Here numbers are whole before noise is added, and for a
whole number k the floor of k + N is k + floor(N). So what leaves is a function of k + N with a real
Gaussian N, and costs what `gaussian_loss` says, exactly, in any dimension.

The law. |N| is cut into cells of 2^20 steps. 127 random bits pick the cell, by thresholds that are
the nearest whole numbers to 2^127 P(|N| < x); one more bit picks the sign. Within a cell the
density falls by less than a fifth, so a uniform point is kept with its density over that at the
cell's inner edge, or drawn again.

Guarantees: the law of each number differs from that of the floor of a Gaussian by at most
`DISTANCE` in total variation and then by a factor of at most 1 ± `FACTOR`. Thresholds are off by at
most 2^-128 of the probability each, 812 of them: 2^-118.3. Beyond the last lies 2^-120. The chance
r to draw again is below 0.19, is computed to within six roundings, 2^-50 of itself, and compared
with 64 bits, so a kept point's density is off by at most (2^-50 r + 2^-63) / (1 - r) of itself:
below 2^-52.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from functools import lru_cache

import numba
import numpy as np
from numpy.typing import NDArray

from tacit.randomness import Draws, require

STEPS = 1 << 26
"""Steps in one standard deviation."""
LARGEST = 13 * STEPS
"""No noise is larger: |N| ends with its last cell, at 12.7 standard deviations."""
DISTANCE, FACTOR = 2.0**-117, 2.0**-52
"""How far the law of one number may be from that of the floor of a Gaussian."""

_SAFE = 64
"""An honest sender's noise exceeds `bound_noise_norm` with a probability of at most 2^-64."""

_PI = Decimal(
    "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803"
)
_CELLS = 64  # in one standard deviation
_OFFSET_BITS = 20  # STEPS / _CELLS = 2^20
_BLOCK = 1 << 13  # numbers drawn at a time
_GUIDE_BITS = 11

Words = NDArray[np.uint64]


def draw_gaussian(own: Draws, count: int) -> NDArray[np.int64]:
    """Return `count` independent numbers: the floor of Gaussian noise with a standard deviation of
    `STEPS`.
    """
    require(own, Draws)
    ends, guide, stream, noise = (
        _compute_ends(),
        _compute_guide(),
        own.stream(),
        np.empty(count, np.int64),
    )
    most = min(count, _BLOCK)
    words, waiting = np.empty(4 * most, np.uint64), np.empty(most, np.int64)
    for start in range(0, count, _BLOCK):
        block = noise[start : start + _BLOCK]
        size = len(block)
        stream.fill(words[: 4 * size])
        draw_cells(words[: 2 * size], ends, guide, block)
        left = draw_within(words[2 * size : 4 * size], np.arange(size), block, waiting)
        while left:
            stream.fill(words[: 2 * left])
            left = draw_within(words[: 2 * left], waiting[:left].copy(), block, waiting)
    return noise


def bound_noise_norm(count: int) -> int:
    """Return an L2 norm, in steps, that `count` numbers of noise exceed with a probability of at
    most 2^-64.

    A Gaussian vector exceeds σ(√count + t) with a probability of at most e^(-t²/2) (its norm is
    1-Lipschitz). The floor moves a number by less than one step, so the norm by less than √count.
    """
    root = math.sqrt(count)
    return math.ceil(STEPS * (root + math.sqrt(2 * _SAFE * math.log(2))) + root)


@lru_cache(maxsize=1)
def _compute_ends() -> Words:
    """Return where the words of each cell end, of 2^127, as high 63 and low 64 bits; the last cell
    takes all that are left.

    P(|N| < x) = 2 φ(x) (x + x³/3 + x⁵/15 + …): a sum of positive terms, here in whole numbers of
    2^-200, and φ to 75 digits.
    """
    whole, found = 1 << 127, [0]
    with localcontext() as context:
        context.prec = 75
        scale = (2 / _PI).sqrt() / (1 << 73)
        while found[-1] < whole - (1 << 7):
            number = len(found)
            term = total = (number << 200) // _CELLS
            odd = 1
            while term:
                odd += 2
                term = term * number * number // (_CELLS * _CELLS * odd)
                total += term
            x = Decimal(number) / _CELLS
            found.append(int((scale * (-x * x / 2).exp() * total).to_integral_value()))
    found[-1] = whole
    return np.array([[end >> 64, end & ((1 << 64) - 1)] for end in found[1:]], np.uint64)


@lru_cache(maxsize=1)
def _compute_guide() -> NDArray[np.int64]:
    """Return the first cell that words can lie in, by their first `_GUIDE_BITS` bits; what comes
    next is the last one.
    """
    begins = np.arange((1 << _GUIDE_BITS) + 1, dtype=np.uint64) << np.uint64(63 - _GUIDE_BITS)
    return np.searchsorted(_compute_ends()[:, 0], begins).astype(np.int64)


@numba.njit(nogil=True, cache=True)
def draw_cells(
    words: Words, ends: Words, guide: NDArray[np.int64], block: NDArray[np.int64]
) -> None:
    """Write the first step of a random cell into each number of `block`, as 2 · step + sign; two
    words are used for each.
    """
    for i in range(block.size):
        high, low = words[2 * i] >> np.uint64(1), words[2 * i + 1]
        place = np.int64(high >> np.uint64(63 - _GUIDE_BITS))
        first, last = guide[place], guide[place + 1]
        while first < last:
            middle = (first + last) >> 1
            if ends[middle, 0] < high or (ends[middle, 0] == high and ends[middle, 1] <= low):
                first = middle + 1
            else:
                last = middle
        block[i] = ((first << _OFFSET_BITS) << 1) | np.int64(words[2 * i] & np.uint64(1))


@numba.njit(nogil=True, cache=True)
def draw_within(
    words: Words, which: NDArray[np.int64], block: NDArray[np.int64], waiting: NDArray[np.int64]
) -> int:
    """Turn the numbers of `which` into noise, with two words for each; list in `waiting`, and
    count, those to be drawn again.
    """
    left = 0
    for n in range(which.size):
        i = which[n]
        begin = block[i] >> 1
        beyond = words[2 * n] * (2.0**-64 / _CELLS)
        again = -np.expm1(-beyond * (begin / STEPS + beyond / 2))
        if words[2 * n + 1] < np.uint64(again * 2.0**64):
            waiting[left] = i
            left += 1
            continue
        step = begin + np.int64(words[2 * n] >> np.uint64(64 - _OFFSET_BITS))
        block[i] = ~step if block[i] & 1 else step
    return left
