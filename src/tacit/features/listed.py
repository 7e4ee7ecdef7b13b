"""Words of a public list: which of them occur in each text, and how much each counts.

A word is looked up by a rolling hash of 40 bits, the one of `rolling_hash` with as many buckets. Words of up to eight letters
have hashes of their own; of longer ones about one in a million shares that of some listed word and counts as it.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tacit.features import spelling
from tacit.features.alphabet import Bytes, Offsets, compiled
from tacit.features.rolling_hash import Rule, drain, mark, reduced, room_for_sums, rule_of, spell
from tacit.features.text import text_bytes, utf8
from tacit.plan import Columns, Features
from tacit.rows import Sparse, Vector

_BASE, _HASHES = 31, (1 << 40) - 87  # a prime, below which sums of letters stay exact
_NOBODY = np.uint64(1 << 63)
_SPREAD = np.uint64(0x9E3779B97F4A7C15)

_WORDS_OF_A_TEXT, _SHARE, _SHIFT = 230.0, 0.1, 2.7
"""A text of so many words; the word of rank r makes up share / (r + shift) of all words, by Zipf's law."""


def common_words(ordered: tuple[str, ...], count: int) -> tuple[str, ...]:
    """Return the first `count` words of a list, spelled as words of texts are, each once and in order."""
    found: dict[str, None] = {}
    for word in ordered:
        letters = "".join(spelling.words(word))
        if letters:
            found[letters] = None
            if len(found) == count:
                break
    return tuple(found)


def listed_words(frame: pl.DataFrame, columns: Columns, settings: Features, listed: tuple[str, ...]) -> Sparse:
    """Return one row per text with an entry for each listed word in it: 1, or more the rarer the word is by its rank."""
    data, offsets = text_bytes(frame, columns, settings)
    starts, places = presence(data, offsets, listed)
    values = None if settings.rarity == 0 else rarity(len(listed), settings.rarity)[places]
    return Sparse(starts=starts, columns=places, values=values, width=len(listed))


def rarity(count: int, power: float) -> Vector:
    """Return how much each word of a list counts: the share of texts that have it, by its rank alone, to the power of -power."""
    shares = -np.expm1(-_WORDS_OF_A_TEXT * _SHARE / (np.arange(count) + _SHIFT))
    return np.asarray(shares**-power, np.float32)


def presence(data: Bytes, offsets: Offsets, listed: tuple[str, ...]) -> tuple[Offsets, NDArray[np.int32]]:
    """Return for each text the sorted, distinct places in the list of its words, as row starts and one block of columns."""
    keys, places = _slots(listed)
    starts = np.zeros(len(offsets), np.int64)
    columns = np.empty(int(np.minimum((np.diff(offsets) + 1) // 2, len(listed)).sum()), np.int32)
    _fill(data, offsets, rule_of(_BASE, _HASHES), len(listed), keys, places, starts, columns)
    columns.resize(int(starts[-1]), refcheck=False)
    return starts, columns


def _slots(listed: tuple[str, ...]) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
    """Return a table that is half empty or more: each word's hash in the first free slot after its own, and its place."""
    size = 1 << (2 * len(listed)).bit_length()
    keys, places = np.full(size, _NOBODY), np.zeros(size, np.int32)
    _settle(*utf8(pl.Series(listed, dtype=pl.String)), rule_of(_BASE, _HASHES), keys, places)
    return keys, places


@compiled
def _first_slot(value: np.uint64, size: int) -> np.int64:
    return np.int64((value * _SPREAD) >> np.uint64(20)) & np.int64(size - 1)


@compiled
def _settle(data: Bytes, offsets: Offsets, rule: Rule, keys: NDArray[np.uint64], places: NDArray[np.int32]) -> None:
    """Put the hash of each word into the table; of words that share one, the first stays."""
    sums, inverse = room_for_sums(offsets), 1.0 / rule.buckets
    for place in range(len(offsets) - 1):
        spell(data, offsets[place], offsets[place + 1], rule, sums)
        value = reduced(sums[0], rule.buckets, inverse)
        at = _first_slot(value, len(keys))
        while keys[at] != _NOBODY and keys[at] != value:
            at = (at + 1) & (len(keys) - 1)
        if keys[at] == _NOBODY:
            keys[at] = value
            places[at] = place


@compiled
def _fill(
    data: Bytes, offsets: Offsets, rule: Rule, count: int, keys: NDArray[np.uint64], places: NDArray[np.int32], starts: Offsets,
    columns: NDArray[np.int32],
) -> None:  # fmt: skip
    """Write the row starts and the columns of every text."""
    sums = room_for_sums(offsets)
    bits = np.zeros((count + 63) // 64, np.uint64)
    summary = np.zeros((len(bits) + 63) // 64, np.uint64)
    inverse = 1.0 / rule.buckets
    used = np.uint64(0)
    for text in range(len(offsets) - 1):
        for word in range(spell(data, offsets[text], offsets[text + 1], rule, sums)):
            value = reduced(sums[word], rule.buckets, inverse)
            at = _first_slot(value, len(keys))
            while keys[at] != _NOBODY and keys[at] != value:
                at = (at + 1) & (len(keys) - 1)
            if keys[at] == value:
                mark(np.uint64(places[at]), bits, summary)
        used = drain(bits, summary, columns, used)
        starts[text + 1] = used
