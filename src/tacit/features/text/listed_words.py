"""Words of a public list: their occurrences in each text, and their weights.

Words are looked up by hash. For words of the letters a-z it is the 40-bit hash of `rolling_hash`:
words of up to eight letters have distinct hashes; of longer ones about one in a million collides
with a listed word. Words of any script have 63-bit hashes.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tacit.features.text import scripts, spelling
from tacit.features.text.alphabet import Bytes, Offsets, compiled
from tacit.features.text.hashed_text import get_text_bytes, to_utf8, weigh_entries
from tacit.features.text.rolling_hash import (
    HashRule,
    allocate_sums,
    build_latin_rule,
    build_unicode_rule,
    drain,
    mark,
    reduce_mod,
    spell,
)
from tacit.features.text.rolling_hash import find_buckets as hashed_presence
from tacit.features.text.scripts_compiled import hash_any_script
from tacit.features.text.term_counts import move_counts
from tacit.plan import Columns, Features
from tacit.rows import Sparse, Vector

_BASE, _HASHES = 31, (1 << 40) - 87  # a prime, below which sums of letters stay exact
_NOBODY, _BELOW = np.uint64(1 << 63), np.uint64((1 << 63) - 1)
_SPREAD = np.uint64(0x9E3779B97F4A7C15)

_WORDS_OF_A_TEXT, _SHARE, _SHIFT = 230.0, 0.1, 2.7
"""Words of a typical text, and the constants of Zipf's law: the word of rank r makes up share / (r
+ shift) of all words.
"""


def select_common_words(
    ordered: tuple[str, ...], count: int, unicode: bool = False
) -> tuple[str, ...]:
    """Select the first `count` distinct words of a list, normalised like the words of texts.

    For words of any script, an entry counts as the words of a text with the same content: 東京都 as
    its two pairs.
    """
    found: dict[str, None] = {}
    for entry in ordered:
        for word in (
            scripts.split_words(entry) if unicode else ("".join(spelling.split_words(entry)),)
        ):
            if word and len(found) < count:
                found[word] = None
        if len(found) == count:
            break
    return tuple(found)


def encode_listed_words(
    frame: pl.DataFrame, columns: Columns, settings: Features, listed: tuple[str, ...]
) -> Sparse:
    """Encode each text as one sparse row with an entry for each listed word: 1, or a weight by
    count and rank.
    """
    data, offsets = get_text_bytes(frame, columns, settings)
    unicode = settings.words == "unicode"
    if settings.counts == "presence":
        starts, places = find_listed_words(data, offsets, listed, unicode)
        counted = None
    else:
        starts, places, counted = count_listed_words(data, offsets, listed, unicode)
    values = weigh_entries(
        places,
        counted,
        settings,
        compute_rarity(len(listed), settings.rarity) if settings.rarity else None,
    )
    return Sparse(starts=starts, columns=places, values=values, width=len(listed))


def compute_rarity(count: int, power: float) -> Vector:
    """Compute the weight of each listed word: its estimated document frequency, from its rank, to
    the power of -power.
    """
    return _compute_weight(_estimate_occurrences(np.arange(count)), power)


def compute_bucket_rarity(ordered: tuple[str, ...], settings: Features) -> Vector:
    """Compute the weight of each bucket of hashed words from the estimated document frequency of
    its words.

    Every bucket is assumed to hold one more word, the first one after the end of the list; it
    represents unlisted words.
    """
    rule = (
        build_unicode_rule(settings.buckets)
        if settings.words == "unicode"
        else build_latin_rule(settings.base, settings.buckets)
    )
    starts, buckets = hashed_presence(*to_utf8(pl.Series(ordered, dtype=pl.String)), rule)
    ranks = np.repeat(np.arange(len(ordered)), np.diff(starts))
    found = np.bincount(buckets, _estimate_occurrences(ranks), minlength=settings.buckets)
    return _compute_weight(found + _estimate_occurrences(np.array(len(ordered))), settings.rarity)


def _estimate_occurrences(ranks: NDArray[np.int64]) -> NDArray[np.float64]:
    """Estimate the occurrences per text of the words of some ranks."""
    return np.asarray(_WORDS_OF_A_TEXT * _SHARE / (ranks + _SHIFT))


def _compute_weight(per_text: NDArray[np.float64], power: float) -> Vector:
    """Compute the document frequency for an expected number of occurrences per text, to the power
    of -power.
    """
    return np.asarray((-np.expm1(-per_text)) ** -power, np.float32)


def find_listed_words(
    data: Bytes, offsets: Offsets, listed: tuple[str, ...], unicode: bool = False
) -> tuple[Offsets, NDArray[np.int32]]:
    """Find the sorted, distinct list positions of each text's words, as row starts and one array of
    columns.
    """
    rule = build_unicode_rule(_HASHES) if unicode else build_latin_rule(_BASE, _HASHES)
    starts, columns = (
        np.zeros(len(offsets), np.int64),
        np.empty(_bound_entries(offsets, listed), np.int32),
    )
    _fill(data, offsets, rule, len(listed), _build_hash_table(listed, rule), starts, columns, None)
    columns.resize(int(starts[-1]), refcheck=False)
    return starts, columns


def count_listed_words(
    data: Bytes, offsets: Offsets, listed: tuple[str, ...], unicode: bool = False
) -> tuple[Offsets, NDArray[np.int32], Vector]:
    """Like `find_listed_words`, with the count of each word."""
    rule, room = (
        build_unicode_rule(_HASHES) if unicode else build_latin_rule(_BASE, _HASHES),
        _bound_entries(offsets, listed),
    )
    starts, columns, values = (
        np.zeros(len(offsets), np.int64),
        np.empty(room, np.int32),
        np.empty(room, np.float32),
    )
    _fill(
        data, offsets, rule, len(listed), _build_hash_table(listed, rule), starts, columns, values
    )
    return starts, columns[: starts[-1]].copy(), values[: starts[-1]].copy()


def _bound_entries(offsets: Offsets, listed: tuple[str, ...]) -> int:
    return int(np.minimum((np.diff(offsets) + 1) // 2, len(listed)).sum())


def _build_hash_table(
    listed: tuple[str, ...], rule: HashRule
) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
    """Build an open-addressing hash table, at most half full: the hash and list position of each
    word.
    """
    size = 1 << (2 * len(listed)).bit_length()
    keys, places = np.full(size, _NOBODY), np.zeros(size, np.int32)
    _insert_words(*to_utf8(pl.Series(listed, dtype=pl.String)), rule, keys, places)
    return keys, places


@compiled
def _hash_words(
    data: Bytes, begin: int, stop: int, rule: HashRule, sums: NDArray[np.uint64]
) -> np.uint64:
    """Write the hash of each word, below 2^63, and return the number of words."""
    if len(rule.known):
        count = hash_any_script(data, begin, stop, rule.known, sums, None)
        for word in range(count):
            sums[word] &= _BELOW
        return count
    count, inverse = spell(data, begin, stop, rule, sums), 1.0 / rule.buckets
    for word in range(count):
        sums[word] = reduce_mod(sums[word], rule.buckets, inverse)
    return count


@compiled
def _find_first_slot(value: np.uint64, size: int) -> np.int64:
    return np.int64((value * _SPREAD) >> np.uint64(20)) & np.int64(size - 1)


@compiled
def _insert_words(
    data: Bytes,
    offsets: Offsets,
    rule: HashRule,
    keys: NDArray[np.uint64],
    places: NDArray[np.int32],
) -> None:
    """Insert the hash of each word; of colliding words the first stays."""
    sums = allocate_sums(offsets)
    for place in range(len(offsets) - 1):
        _hash_words(data, offsets[place], offsets[place + 1], rule, sums)
        value = sums[0]
        at = _find_first_slot(value, len(keys))
        while keys[at] != _NOBODY and keys[at] != value:
            at = (at + 1) & (len(keys) - 1)
        if keys[at] == _NOBODY:
            keys[at] = value
            places[at] = place


@compiled
def _fill(
    data: Bytes,
    offsets: Offsets,
    rule: HashRule,
    count: int,
    slots: tuple[NDArray[np.uint64], NDArray[np.int32]],
    starts: Offsets,
    columns: NDArray[np.int32],
    values: Vector | None,
) -> None:
    """Write the row starts and columns of every text, and the counts if there is an array for them."""
    keys, places = slots
    sums = allocate_sums(offsets)
    tally = np.zeros(count, np.float32)
    bits = np.zeros((count + 63) // 64, np.uint64)
    summary = np.zeros((len(bits) + 63) // 64, np.uint64)
    used = np.uint64(0)
    for text in range(len(offsets) - 1):
        for word in range(_hash_words(data, offsets[text], offsets[text + 1], rule, sums)):
            value = sums[word]
            at = _find_first_slot(value, len(keys))
            while keys[at] != _NOBODY and keys[at] != value:
                at = (at + 1) & (len(keys) - 1)
            if keys[at] == value:
                mark(np.uint64(places[at]), bits, summary)
                if values is not None:
                    tally[places[at]] += np.float32(1)
        used = drain(bits, summary, columns, used)
        if values is not None:
            move_counts(tally, columns, values, starts[text], used)
        starts[text + 1] = used
