"""Compiled term counts: words, word n-grams and character n-grams per bucket.

The rule is `scripts.list_term_hashes`. The plain case, word presence, has its own path
(`rolling_hash.find_buckets`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit.features.text import scripts
from tacit.features.text.alphabet import Bytes, Offsets, compiled
from tacit.features.text.rolling_hash import SHORT, HashRule, drain, mark, sort, write_word_buckets
from tacit.features.text.scripts_compiled import BEGINS, Hashes, find_bucket, hash_any_script, mix
from tacit.rows import Vector

_U0, _U1 = np.uint64(0), np.uint64(1)
_BASE, _POINT = np.uint64(scripts.BASE), BEGINS - _U1
_SPACE = np.uint64(ord(" "))


class NgramSettings(NamedTuple):
    """Terms in addition to single words: word n-grams up to a length, and character n-grams of a
    range of lengths.
    """

    ngrams: int = 1
    fewest: int = 1
    most: int = 0


def count_terms(
    data: Bytes, offsets: Offsets, rule: HashRule, ngrams: NgramSettings
) -> tuple[Offsets, NDArray[np.int32], Vector]:
    """Count the terms of each text by bucket: the sorted, distinct buckets and their counts.

    Text i is data[offsets[i]:offsets[i + 1]], in UTF-8. N-grams need words of any script.
    """
    lengths = np.diff(offsets)
    most = _bound_terms(lengths, ngrams)
    room = int(np.minimum(most, rule.buckets).sum())
    starts, columns, values = (
        np.zeros(len(offsets), np.int64),
        np.empty(room, np.int32),
        np.empty(room, np.float32),
    )
    sums = np.empty(int(most.max(initial=0)) + 1, np.uint64)
    spelled = np.zeros(int(lengths.max(initial=0)), np.uint64)
    tally = np.zeros(
        rule.buckets, np.float32
    )  # made here, where zeros that are never touched cost nothing
    _fill(data, offsets, rule, ngrams, (sums, spelled, tally), starts, columns, values)
    for array in (columns, values):
        array.resize(int(starts[-1]), refcheck=False)
    return starts, columns, values


def _bound_terms(lengths: NDArray[np.int64], ngrams: NgramSettings) -> NDArray[np.int64]:
    """Upper bound on the number of terms in texts of these lengths in bytes.

    A word takes a byte and a separator; a word of k characters has k + 1 n-grams of two characters,
    and fewer longer ones.
    """
    room: NDArray[np.int64] = (lengths + 1) // 2 * ngrams.ngrams + (lengths + 1) * (
        ngrams.most - ngrams.fewest + 1
    )
    return room


@compiled
def _fill(
    data: Bytes,
    offsets: Offsets,
    rule: HashRule,
    ngrams: NgramSettings,
    work: tuple[Hashes, Hashes, Vector],
    starts: Offsets,
    columns: NDArray[np.int32],
    values: Vector,
) -> None:
    """Write the row starts, the columns and the counts of every text."""
    sums, spelled, tally = work
    bits = np.zeros((rule.buckets + 63) // 64, np.uint64)
    summary = np.zeros((len(bits) + 63) // 64, np.uint64)
    used = _U0
    for text in range(len(offsets) - 1):
        count = _write_buckets(data[offsets[text] : offsets[text + 1]], rule, ngrams, sums, spelled)
        for term in range(count):
            tally[sums[term]] += np.float32(1)
        if count * SHORT < len(summary):
            used = sort(sums[:count], columns, used)
        else:
            for term in range(count):
                mark(sums[term], bits, summary)
            used = drain(bits, summary, columns, used)
        move_counts(tally, columns, values, starts[text], used)
        starts[text + 1] = used


@compiled
def move_counts(
    tally: Vector, columns: NDArray[np.int32], values: Vector, begin: int, end: np.uint64
) -> None:
    """Move the counts of some columns to their output positions."""
    for place in range(np.uint64(begin), end):
        column = np.uint64(columns[place])
        values[place] = tally[column]
        tally[column] = np.float32(0)


@compiled
def _write_buckets(
    text: Bytes, rule: HashRule, ngrams: NgramSettings, sums: Hashes, spelled: Hashes
) -> np.uint64:
    """Write the bucket of each term and return the number of terms."""
    if not len(rule.known):
        return write_word_buckets(text, 0, len(text), rule, sums)
    if ngrams.most:
        spelled[: len(text)] = _U0
        words = hash_any_script(text, 0, len(text), rule.known, sums, spelled)
    else:
        words = hash_any_script(text, 0, len(text), rule.known, sums, None)
    count = _join(sums, words, ngrams.ngrams)
    if ngrams.most:
        count = _append_character_ngrams(spelled[: len(text)], ngrams, sums, count)
    for term in range(count):
        sums[term] = find_bucket(sums[term], rule.buckets)
    return count


@compiled
def _join(sums: Hashes, words: np.uint64, ngrams: int) -> np.uint64:
    """Append the hashes of word n-grams to those of the words; return the number of both."""
    before, count = _U0, words
    for size in range(_U1, np.uint64(ngrams)):
        begin = count
        for at in range(size, words):
            sums[count] = mix(sums[before + at - size]) * _BASE + sums[at]
            count += _U1
        before = begin
    return count


@compiled
def _append_character_ngrams(
    spelled: Hashes, ngrams: NgramSettings, sums: Hashes, count: np.uint64
) -> np.uint64:
    """Append the hashes of all character n-grams; return the total number of terms.

    `spelled` is overwritten.
    """
    size = _U0
    for at in range(np.uint64(len(spelled))):
        character = spelled[at]
        if character & BEGINS:
            count = _append_ngrams(spelled[:size], ngrams, sums, count)
            size = _U0
        if character:
            spelled[size] = character & _POINT
            size += _U1
    return _append_ngrams(spelled[:size], ngrams, sums, count)


@compiled
def _append_ngrams(
    unit: Hashes, ngrams: NgramSettings, sums: Hashes, count: np.uint64
) -> np.uint64:
    """Append the hashes of the n-grams of one padded word; return the total number of terms."""
    if not len(unit):
        return count
    ended = np.uint64(len(unit) + 2)
    fewest, most = np.uint64(ngrams.fewest), np.uint64(ngrams.most)
    for begin in range(ended):
        total = _SPACE
        for size in range(_U1, min(most, ended - begin) + _U1):
            at = begin + size - _U1
            total = total * _BASE + (unit[at - _U1] if _U0 < at < ended - _U1 else _SPACE)
            if size >= fewest:
                sums[count] = total
                count += _U1
    return count
