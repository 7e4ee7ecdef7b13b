"""Words of a public list: which of them occur in each text, and how much each counts.

A word is looked up by a hash. With words of the letters a-z it is the rolling hash of 40 bits, the one of `rolling_hash` with
as many buckets: words of up to eight letters have hashes of their own; of longer ones about one in a million shares that of
some listed word and counts as it. Words of any script have 63 bits.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tacit.features import scripts, spelling
from tacit.features.alphabet import Bytes, Offsets, compiled
from tacit.features.rolling_hash import Rule, any_script, drain, mark, reduced, room_for_sums, rule_of, spell
from tacit.features.scripts_compiled import spell_any
from tacit.features.text import text_bytes, utf8
from tacit.plan import Columns, Features
from tacit.rows import Sparse, Vector

_BASE, _HASHES = 31, (1 << 40) - 87  # a prime, below which sums of letters stay exact
_NOBODY, _BELOW = np.uint64(1 << 63), np.uint64((1 << 63) - 1)
_SPREAD = np.uint64(0x9E3779B97F4A7C15)

_WORDS_OF_A_TEXT, _SHARE, _SHIFT = 230.0, 0.1, 2.7
"""A text of so many words; the word of rank r makes up share / (r + shift) of all words, by Zipf's law."""


def common_words(ordered: tuple[str, ...], count: int, unicode: bool = False) -> tuple[str, ...]:
    """Return the first `count` words of a list, spelled as words of texts are, each once and in order.

    Where words are of any script, an entry counts as the words a text would have there: \u6771\u4eac\u90fd as its two pairs.
    """
    found: dict[str, None] = {}
    for entry in ordered:
        for word in scripts.words(entry) if unicode else ("".join(spelling.words(entry)),):
            if word and len(found) < count:
                found[word] = None
        if len(found) == count:
            break
    return tuple(found)


def listed_words(frame: pl.DataFrame, columns: Columns, settings: Features, listed: tuple[str, ...]) -> Sparse:
    """Return one row per text with an entry for each listed word in it: 1, or more the rarer the word is by its rank."""
    data, offsets = text_bytes(frame, columns, settings)
    starts, places = presence(data, offsets, listed, settings.words == "unicode")
    values = None if settings.rarity == 0 else rarity(len(listed), settings.rarity)[places]
    return Sparse(starts=starts, columns=places, values=values, width=len(listed))


def rarity(count: int, power: float) -> Vector:
    """Return how much each word of a list counts: the share of texts that have it, by its rank alone, to the power of -power."""
    shares = -np.expm1(-_WORDS_OF_A_TEXT * _SHARE / (np.arange(count) + _SHIFT))
    return np.asarray(shares**-power, np.float32)


def presence(data: Bytes, offsets: Offsets, listed: tuple[str, ...], unicode: bool = False) -> tuple[Offsets, NDArray[np.int32]]:
    """Return for each text the sorted, distinct places in the list of its words, as row starts and one block of columns."""
    rule = any_script(_HASHES) if unicode else rule_of(_BASE, _HASHES)
    keys, places = _slots(listed, rule)
    starts = np.zeros(len(offsets), np.int64)
    columns = np.empty(int(np.minimum((np.diff(offsets) + 1) // 2, len(listed)).sum()), np.int32)
    _fill(data, offsets, rule, len(listed), keys, places, starts, columns)
    columns.resize(int(starts[-1]), refcheck=False)
    return starts, columns


def _slots(listed: tuple[str, ...], rule: Rule) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
    """Return a table that is half empty or more: each word's hash in the first free slot after its own, and its place."""
    size = 1 << (2 * len(listed)).bit_length()
    keys, places = np.full(size, _NOBODY), np.zeros(size, np.int32)
    _settle(*utf8(pl.Series(listed, dtype=pl.String)), rule, keys, places)
    return keys, places


@compiled
def _hashes(data: Bytes, begin: int, stop: int, rule: Rule, sums: NDArray[np.uint64]) -> np.uint64:
    """Write the hash of each word, below 2^63, and return the number of words."""
    if len(rule.known):
        count = spell_any(data, begin, stop, rule.known, sums)
        for word in range(count):
            sums[word] &= _BELOW
        return count
    count, inverse = spell(data, begin, stop, rule, sums), 1.0 / rule.buckets
    for word in range(count):
        sums[word] = reduced(sums[word], rule.buckets, inverse)
    return count


@compiled
def _first_slot(value: np.uint64, size: int) -> np.int64:
    return np.int64((value * _SPREAD) >> np.uint64(20)) & np.int64(size - 1)


@compiled
def _settle(data: Bytes, offsets: Offsets, rule: Rule, keys: NDArray[np.uint64], places: NDArray[np.int32]) -> None:
    """Put the hash of each word into the table; of words that share one, the first stays."""
    sums = room_for_sums(offsets)
    for place in range(len(offsets) - 1):
        _hashes(data, offsets[place], offsets[place + 1], rule, sums)
        value = sums[0]
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
    used = np.uint64(0)
    for text in range(len(offsets) - 1):
        for word in range(_hashes(data, offsets[text], offsets[text + 1], rule, sums)):
            value = sums[word]
            at = _first_slot(value, len(keys))
            while keys[at] != _NOBODY and keys[at] != value:
                at = (at + 1) & (len(keys) - 1)
            if keys[at] == value:
                mark(np.uint64(places[at]), bits, summary)
        used = drain(bits, summary, columns, used)
        starts[text + 1] = used
