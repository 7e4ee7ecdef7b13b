"""Skellam noise: the difference of two Poisson variables with the same mean. Sums of it are Skellam
noise again.

Sampling. |N| = k has probability 2 I_k(v) e^-v, and half of that for k = 0, with v the variance.
Bessel functions are computed by their downward recurrence, in integers of about 300 bits: sums of
positive terms, normalised to 1. A number takes one word of 64 bits: 63 of them are compared with
thresholds of 127 bits, and one is the sign. If 63 bits do not decide, which is very rare, 64 more
are drawn; in the tail they may decide between many values.

Guarantees: the distribution of each number differs from Skellam noise by at most 2^-109 in total
variation. Each of fewer than 2^17 thresholds has an error below 2^-126, and the probability beyond
the last is below 2^-120.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from tacit.randomness import Draws, require

PARTS = 1024
"""Variances are integer multiples of 1/PARTS."""
WIDEST = 8192
"""Largest standard deviation for which there are thresholds."""

DISTANCE = 2.0**-109
"""Total variation distance between the distribution of one number and Skellam noise."""

_BITS = 12  # of a word, which give the threshold to begin at
_BLOCK = 1 << 14

Words = NDArray[np.uint64]


class Ends(NamedTuple):
    """Last word of each |N|, of 2^127, as high 63 and low 64 bits; and where to begin the search."""

    high: Words
    low: Words
    begin: NDArray[np.int64]


def round_variance_up(wanted: float) -> int:
    """Variance in integer parts, not below `wanted`."""
    return max(1, math.ceil(wanted * PARTS))


def draw_skellam(parts: int, own: Draws, count: int) -> NDArray[np.int64]:
    """Draw `count` independent values with a variance of `parts` / PARTS."""
    require(own, Draws)
    ends, stream, noise = _compute_ends(parts), own.stream(), np.empty(count, np.int64)
    words, ties = np.empty(min(count, _BLOCK), np.uint64), np.empty(min(count, _BLOCK), np.int64)
    for start in range(0, count, _BLOCK):
        block = noise[start : start + _BLOCK]
        stream.fill(words[: len(block)])
        left = find_ends(words[: len(block)], ends.high, ends.begin, block, ties)
        for tie in ties[:left]:
            more = np.empty(1, np.uint64)
            stream.fill(more)
            size = settle_tie(int(block[tie]), int(more[0]), ends)
            block[tie] = -size if words[tie] & np.uint64(1) else size
    return noise


def settle_tie(size: int, more: int, ends: Ends) -> int:
    """Value of a word whose 63 bits equal the end of `size`, by 64 more bits; in the tail several
    ends share their 63 bits.
    """
    word = ends.high[size]
    while ends.high[size] == word and more >= int(ends.low[size]):
        size += 1
    return size


@lru_cache(maxsize=8)
def _compute_ends(parts: int) -> Ends:
    spread = math.sqrt(parts / PARTS)
    last = math.ceil(13 * spread) + 40
    after, here, falling = 0, 1 << 200, list[int]()
    for k in range(last, -1, -1):
        falling.append(here)
        after, here = here, after + 2 * k * PARTS * here // parts
    sizes = [falling[-1], *(2 * value for value in falling[-2::-1])]
    whole, total, ends = sum(sizes), 0, list[int]()
    for size in sizes:
        total += size
        ends.append((total << 127) // whole)
    high = np.array([end >> 64 for end in ends], np.uint64)
    low = np.array([end & ((1 << 64) - 1) for end in ends], np.uint64)
    begin = np.searchsorted(
        high, np.arange(1 << _BITS, dtype=np.uint64) << np.uint64(63 - _BITS)
    ).astype(np.int64)
    return Ends(high, low, begin)


@numba.njit(nogil=True, cache=True)
def find_ends(
    words: Words,
    high: Words,
    begin: NDArray[np.int64],
    block: NDArray[np.int64],
    ties: NDArray[np.int64],
) -> int:
    """Write the value of each word into `block`; list in `ties`, and count, those that 63 bits do
    not decide.
    """
    left = 0
    for i in range(block.size):
        word = words[i] >> np.uint64(1)
        size = begin[word >> np.uint64(63 - _BITS)]
        while high[size] < word:
            size += 1
        block[i] = -size if words[i] & np.uint64(1) else size
        if high[size] == word:
            block[i] = size
            ties[left] = i
            left += 1
    return left
