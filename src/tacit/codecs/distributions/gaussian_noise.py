"""Floored Gaussian noise in integers, with 2^26 steps per standard deviation, to be added to
integers.

Noise that is rounded in floating point can reveal the value it was added to: not every sum is
reachable from every value (Mironov 2012). Here values are integers before noise is added, and
floor(k + N) = k + floor(N) for an integer k. So what leaves is a function of k + N with a real
Gaussian N, and its privacy loss is exactly that of `gaussian_loss`, in any dimension.

Sampling. |N| is divided into cells of 2^20 steps. 127 random bits pick the cell, by thresholds that
are the nearest integers to 2^127 P(|N| < x); one more bit picks the sign. Within a cell the density
falls by less than a fifth, so a uniform point is accepted with probability equal to its density
over that at the cell's inner edge, or drawn again.

Guarantees: the distribution of each number differs from that of a floored Gaussian by at most
`DISTANCE` in total variation and then by a factor of at most 1 ± `FACTOR`. Each of 812 thresholds
has an error of at most 2^-128: 2^-118.3 in all. The probability beyond the last is 2^-120. The
probability r to draw again is below 0.19, is computed to within six roundings, 2^-50 relative, and
compared with 64 bits, so the relative error of an accepted point's density is at most (2^-50 r +
2^-63) / (1 - r): below 2^-52.
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
"""Bound on the absolute value of noise: |N| ends with its last cell, at 12.7 standard deviations.
"""
DISTANCE, FACTOR = 2.0**-117, 2.0**-52
"""Bounds on the distance of the distribution of one number from that of a floored Gaussian."""

_SAFE = 64
"""An honest sender's noise exceeds `bound_noise_norm` with probability at most 2^-64."""

_PI = Decimal(
    "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803"
)
_CELLS = 64  # in one standard deviation
_OFFSET_BITS = 20  # STEPS / _CELLS = 2^20
_BLOCK = 1 << 13  # numbers drawn at a time
_GUIDE_BITS = 11

Words = NDArray[np.uint64]


def draw_gaussian(own: Draws, count: int) -> NDArray[np.int64]:
    """Draw `count` independent floored Gaussians with a standard deviation of `STEPS`."""
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
    """L2 norm, in steps, that `count` noise values exceed with probability at most 2^-64.

    A Gaussian vector exceeds σ(√count + t) with probability at most e^(-t²/2) (its norm is
    1-Lipschitz). The floor changes a value by less than one step, so the norm by less than √count.
    """
    root = math.sqrt(count)
    return math.ceil(STEPS * (root + math.sqrt(2 * _SAFE * math.log(2))) + root)


@lru_cache(maxsize=1)
def _compute_ends() -> Words:
    """Last word of each cell, of 2^127, as high 63 and low 64 bits; the last cell takes all that
    are left.

    P(|N| < x) = 2 φ(x) (x + x³/3 + x⁵/15 + …): a sum of positive terms, here in integer multiples
    of 2^-200, and φ to 75 digits.
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
    """First possible cell by the first `_GUIDE_BITS` bits of a word; the next entry is the last
    possible one.
    """
    begins = np.arange((1 << _GUIDE_BITS) + 1, dtype=np.uint64) << np.uint64(63 - _GUIDE_BITS)
    return np.searchsorted(_compute_ends()[:, 0], begins).astype(np.int64)


@numba.njit(nogil=True, cache=True)
def draw_cells(
    words: Words, ends: Words, guide: NDArray[np.int64], block: NDArray[np.int64]
) -> None:
    """Write the first step of a random cell into each number of `block`, as 2 · step + sign; each
    uses two words.
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
    """Turn the numbers at `which` into noise, with two words each; list in `waiting`, and count,
    those to be drawn again.
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
