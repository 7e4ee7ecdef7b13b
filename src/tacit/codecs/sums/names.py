"""Numbers long tokens that are the same at all coordinates: a table of those that occur, in
ascending order.

A name is one 64-bit word, or two (the lower first) if it has more than 64 bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from tacit.codecs.sums.packing import choose_dtype, unpack_integers

Names = NDArray[np.uint64]
"""A table of names, one row each."""

_SLOTS = 1 << 12


def count_words(bits: int) -> int:
    """Number of words of a name of `bits` bits."""
    return 1 if bits <= 64 else 2


def read_words(payload: NDArray[np.uint8], count: int, bits: int) -> Names:
    """Read `count` packed tokens as names."""
    if bits == 128:
        return payload.view("<u8").reshape(count, 2)
    return unpack_integers(payload, count, bits).astype(np.uint64).reshape(count, 1)


def number_tokens(payload: NDArray[np.uint8], count: int, bits: int) -> tuple[Names, NDArray[Any]]:
    """Build the table of all tokens in a payload, and each token's index in it."""
    words = read_words(payload, count, bits)
    first, numbers = number_rows(words)
    names = words[first]
    order = np.lexsort(names.T)
    back = np.empty(len(order), choose_dtype(max(0, len(order) - 1).bit_length()))
    back[order] = np.arange(len(order))
    return names[order], back[numbers]


def merge_tables(tables: Sequence[Names], bits: int) -> Names:
    """Merge tables of names into one."""
    different = {table.tobytes(): table for table in tables}
    names = np.concatenate([np.empty((0, count_words(bits)), np.uint64), *different.values()])
    if len(different) < 2:
        return names
    names = names[np.lexsort(names.T)]
    return np.asarray(names[np.concatenate([[True], (names[1:] != names[:-1]).any(axis=1)])])


def find_places(names: Names, table: Names) -> NDArray[np.int64]:
    """Index of each name in a larger table."""
    places = {row.tobytes(): n for n, row in enumerate(table)}
    return np.array([places[row.tobytes()] for row in names], np.int64)


@numba.njit(nogil=True, cache=True)
def number_rows(words: Names) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First position of each distinct row, and for each row the number of its distinct row, both by
    order of appearance.
    """
    slots, used = _SLOTS, 0
    table, first = np.full(slots, -1), np.empty(slots // 2 + 1, np.int64)
    numbers = np.empty(words.shape[0], np.int64)
    for i in range(words.shape[0]):
        at = find_slot(words[i], slots)
        while table[at] >= 0 and not are_equal(words[first[table[at]]], words[i]):
            at = (at + 1) & (slots - 1)
        if table[at] < 0:
            table[at], first[used] = used, i
            used += 1
        numbers[i] = table[at]
        if 2 * used > slots:
            slots *= 4
            table, before = np.full(slots, -1), first
            first = np.empty(slots // 2 + 1, np.int64)
            first[:used] = before[:used]
            for n in range(used):
                at = find_slot(words[first[n]], slots)
                while table[at] >= 0:
                    at = (at + 1) & (slots - 1)
                table[at] = n
    return first[:used].copy(), numbers


@numba.njit(nogil=True, cache=True)
def find_slot(name: Names, slots: int) -> np.int64:
    """Hash slot of a name: tokens are hashes already, so their low bits are uniform."""
    return np.int64(name[0] & np.uint64(slots - 1))


@numba.njit(nogil=True, cache=True)
def are_equal(one: Names, other: Names) -> bool:
    """Whether two names are equal."""
    for i in range(one.size):  # noqa: SIM110 - a generator does not compile
        if one[i] != other[i]:
            return False
    return True
