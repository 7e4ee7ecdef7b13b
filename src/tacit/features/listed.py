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
from tacit.features.rolling_hash import presence as hashed_presence
from tacit.features.scripts_compiled import spell_any
from tacit.features.terms import take
from tacit.features.text import text_bytes, utf8, valued
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
    """Return one row per text with an entry for each listed word in it: 1, or by how often it is there and how rare by its rank."""
    data, offsets = text_bytes(frame, columns, settings)
    unicode = settings.words == "unicode"
    if settings.counts == "presence":
        starts, places = presence(data, offsets, listed, unicode)
        counted = None
    else:
        starts, places, counted = counts(data, offsets, listed, unicode)
    values = valued(places, counted, settings, rarity(len(listed), settings.rarity) if settings.rarity else None)
    return Sparse(starts=starts, columns=places, values=values, width=len(listed))


def rarity(count: int, power: float) -> Vector:
    """Return how much each word of a list counts: the share of texts that have it, by its rank alone, to the power of -power."""
    return _weight(_per_text(np.arange(count)), power)


def bucket_rarity(ordered: tuple[str, ...], settings: Features) -> Vector:
    """Return how much each bucket of hashed words counts: by the share of texts that have one of its words, by their ranks.

    Every bucket is taken to hold one more word, the first that the list has not: it is what a bucket without listed words holds.
    """
    rule = any_script(settings.buckets) if settings.words == "unicode" else rule_of(settings.base, settings.buckets)
    starts, buckets = hashed_presence(*utf8(pl.Series(ordered, dtype=pl.String)), rule)
    ranks = np.repeat(np.arange(len(ordered)), np.diff(starts))
    found = np.bincount(buckets, _per_text(ranks), minlength=settings.buckets)
    return _weight(found + _per_text(np.array(len(ordered))), settings.rarity)


def _per_text(ranks: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return how often the words of some ranks stand in a text, on average."""
    return np.asarray(_WORDS_OF_A_TEXT * _SHARE / (ranks + _SHIFT))


def _weight(per_text: NDArray[np.float64], power: float) -> Vector:
    """Return the share of texts that have something which stands there so often, to the power of -power."""
    return np.asarray((-np.expm1(-per_text)) ** -power, np.float32)


def presence(data: Bytes, offsets: Offsets, listed: tuple[str, ...], unicode: bool = False) -> tuple[Offsets, NDArray[np.int32]]:
    """Return for each text the sorted, distinct places in the list of its words, as row starts and one block of columns."""
    rule = any_script(_HASHES) if unicode else rule_of(_BASE, _HASHES)
    starts, columns = np.zeros(len(offsets), np.int64), np.empty(_room(offsets, listed), np.int32)
    _fill(data, offsets, rule, len(listed), _slots(listed, rule), starts, columns, None)
    columns.resize(int(starts[-1]), refcheck=False)
    return starts, columns


def counts(
    data: Bytes, offsets: Offsets, listed: tuple[str, ...], unicode: bool = False
) -> tuple[Offsets, NDArray[np.int32], Vector]:
    """Return what `presence` returns, and how often each word stands in its text."""
    rule, room = any_script(_HASHES) if unicode else rule_of(_BASE, _HASHES), _room(offsets, listed)
    starts, columns, values = np.zeros(len(offsets), np.int64), np.empty(room, np.int32), np.empty(room, np.float32)
    _fill(data, offsets, rule, len(listed), _slots(listed, rule), starts, columns, values)
    return starts, columns[: starts[-1]].copy(), values[: starts[-1]].copy()


def _room(offsets: Offsets, listed: tuple[str, ...]) -> int:
    return int(np.minimum((np.diff(offsets) + 1) // 2, len(listed)).sum())


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
        count = spell_any(data, begin, stop, rule.known, sums, None)
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
    data: Bytes, offsets: Offsets, rule: Rule, count: int, slots: tuple[NDArray[np.uint64], NDArray[np.int32]], starts: Offsets,
    columns: NDArray[np.int32], values: Vector | None,
) -> None:  # fmt: skip
    """Write the row starts and the columns of every text, and where there is room for them how often each word occurs."""
    keys, places = slots
    sums = room_for_sums(offsets)
    tally = np.zeros(count, np.float32)
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
                if values is not None:
                    tally[places[at]] += np.float32(1)
        used = drain(bits, summary, columns, used)
        if values is not None:
            take(tally, columns, values, starts[text], used)
        starts[text + 1] = used
