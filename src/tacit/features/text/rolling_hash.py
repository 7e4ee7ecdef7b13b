"""Compiled word hashing: UTF-8 bytes of all texts in, buckets of each text's words out.

The rule is that of `spelling`, or of `scripts` for words of any script. The scanner does not branch
on word ends, which no processor can predict. Powers of the base are reduced before the sum, and the
sum once per word. Buckets are collected in a two-level bitmap, which removes duplicates and sorts
at once and needs one bit per bucket.

Indices are unsigned: for signed ones the compiler adds Python's negative indexing to every access.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit.features.text.alphabet import (
    BYTE_CLASSES,
    SPACE,
    WIDE,
    Bytes,
    Offsets,
    Whole,
    classify_wide,
    compiled,
)
from tacit.features.text.scripts_compiled import (
    Points,
    find_bucket,
    get_character_table,
    hash_any_script,
)

# letters whose powers are tabled; a longer word goes the slow way. Equal to WIDE, so one test finds
# both.
_LONG = 64
_U0, _U1, _U5, _U6, _U31, _U63 = (np.uint64(number) for number in (0, 1, 5, 6, 31, 63))
SHORT = np.uint64(32)
"""A text with fewer words than the summary's length divided by this number is sorted, because
scanning the summary would take longer.
"""
_RARE = np.uint64(_LONG | WIDE)

# Multiplying a power of two by this number puts a different 6-bit pattern on top for each of the 64
# powers.
_DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
_TOP_SIX = np.uint64(58)
_PLACE_OF = np.zeros(64, np.uint8)
for _place in range(64):
    _PLACE_OF[(int(_DE_BRUIJN) << _place) % 2**64 >> 58] = _place


class HashRule(NamedTuple):
    """The hash: base, number of buckets, reduced powers of the base, and the character table.

    The table is empty for words of the letters a-z; base and powers are unused otherwise.
    """

    powers: NDArray[np.uint64]
    base: int
    buckets: int
    known: Points


def find_buckets(
    data: Bytes, offsets: Offsets, rule: HashRule
) -> tuple[Offsets, NDArray[np.int32]]:
    """Find the sorted, distinct buckets of each text's words, as row starts and one array of
    columns.

    Text i is data[offsets[i]:offsets[i + 1]], in UTF-8.
    """
    lengths = np.diff(offsets)
    room = int(np.minimum((lengths + 1) // 2, rule.buckets).sum())
    starts = np.zeros(len(offsets), np.int64)
    columns = np.empty(room, np.int32)
    _fill_presence(data, offsets, rule, starts, columns)
    columns.resize(
        int(starts[-1]), refcheck=False
    )  # gives the unused end back without copying; nobody else holds it
    return starts, columns


def list_buckets(data: Bytes, offsets: Offsets, rule: HashRule, length: int) -> NDArray[np.int32]:
    """List the buckets of each text's first `length` words in order, padded with the number of
    buckets.
    """
    matrix = np.full((len(offsets) - 1, length), rule.buckets, np.int32)
    _fill_sequence(data, offsets, rule, matrix)
    return matrix


def build_latin_rule(base: int, buckets: int) -> HashRule:
    """Build the hash rule for words of the letters a-z."""
    powers = np.array([pow(base, place, buckets) for place in range(_LONG + 1)], np.uint64)
    return HashRule(powers, base, buckets, np.zeros(0, np.uint32))


def build_unicode_rule(buckets: int) -> HashRule:
    """Build the hash rule for words of any script."""
    return HashRule(np.zeros(0, np.uint64), 0, buckets, get_character_table())


@compiled
def _fill_presence(
    data: Bytes, offsets: Offsets, rule: HashRule, starts: Offsets, columns: NDArray[np.int32]
) -> None:
    """Write the row starts and the columns of every text."""
    buckets = rule.buckets
    sums = allocate_sums(offsets)
    bits = np.zeros((buckets + 63) // 64, np.uint64)
    summary = np.zeros((len(bits) + 63) // 64, np.uint64)
    used = _U0
    for text in range(len(offsets) - 1):
        count = write_word_buckets(data, offsets[text], offsets[text + 1], rule, sums)
        if count * SHORT < len(summary):
            used = sort(sums[:count], columns, used)
        else:
            for word in range(count):
                mark(sums[word], bits, summary)
            used = drain(bits, summary, columns, used)
        starts[text + 1] = used


@compiled
def _fill_sequence(
    data: Bytes, offsets: Offsets, rule: HashRule, matrix: NDArray[np.int32]
) -> None:
    """Write the buckets of each text's first words into its row."""
    sums = allocate_sums(offsets)
    for text in range(len(offsets) - 1):
        count = write_word_buckets(data, offsets[text], offsets[text + 1], rule, sums)
        for word in range(min(count, np.uint64(matrix.shape[1]))):
            matrix[text, word] = sums[word]


@compiled
def write_word_buckets(
    data: Bytes, begin: int, stop: int, rule: HashRule, sums: NDArray[np.uint64]
) -> np.uint64:
    """Write the bucket of each word in order, and return the number of words."""
    if len(rule.known):
        count = hash_any_script(data, begin, stop, rule.known, sums, None)
        for word in range(count):
            sums[word] = find_bucket(sums[word], rule.buckets)
        return count
    count, inverse = spell(data, begin, stop, rule, sums), 1.0 / rule.buckets
    for word in range(count):
        sums[word] = reduce_mod(sums[word], rule.buckets, inverse)
    return count


@compiled
def allocate_sums(offsets: Offsets) -> NDArray[np.uint64]:
    """Allocate space for the words of the longest text, and for one unfinished word."""
    longest = 0
    for text in range(len(offsets) - 1):
        longest = max(longest, offsets[text + 1] - offsets[text])
    return np.empty(longest // 2 + 2, np.uint64)


@compiled
def spell(
    data: Bytes, begin: int, stop: int, rule: HashRule, sums: NDArray[np.uint64]
) -> np.uint64:
    """Write the sum of c_i base^i of each word, powers reduced mod buckets, and return the number
    of words.

    A sum is at most 64 letters * 26 * 5e7, far below 2^53.
    """
    powers, base, buckets = rule.powers, rule.base, rule.buckets
    total, letters, count = _U0, _U0, _U0
    at, end = np.uint64(begin), np.uint64(stop)
    while at < end:
        kind = np.uint64(BYTE_CLASSES[data[at]])
        while not (kind | letters) & _RARE:
            total, letters, count = _step(kind, total, letters, count, powers, sums)
            at += _U1
            if at == end:
                return count + np.uint64(letters != _U0)
            kind = np.uint64(BYTE_CLASSES[data[at]])
        if letters == _LONG:
            at, sums[count] = _finish_long_word(data, at, end, total, base, buckets)
            total, letters, count = _U0, _U0, count + _U1
        else:
            total, letters, count = _step(
                classify_wide(data, at, end), total, letters, count, powers, sums
            )
            at += _U1
    return count + np.uint64(letters != _U0)


@compiled
def _step(
    kind: np.uint64,
    total: np.uint64,
    letters: np.uint64,
    count: np.uint64,
    powers: NDArray[np.uint64],
    sums: NDArray[np.uint64],
) -> tuple[np.uint64, np.uint64, np.uint64]:
    """Advance by one character: the partial sum and letter count of the current word, and the
    number of finished words.
    """
    letter = kind & _U31
    space = kind >> _U5
    total += letter * powers[letters]
    letters += np.uint64(letter != _U0)
    # Written at every byte, and overwritten by the next one unless this byte ends a word.
    sums[count] = total
    count += space & np.uint64(letters != _U0)
    inside = space - _U1
    return total & inside, letters & inside, count


@compiled
def _finish_long_word(
    data: Bytes, at: Whole, end: Whole, total: Whole, base: int, buckets: int
) -> tuple[np.uint64, np.uint64]:
    """Find the end of a word with more than 64 letters, and its sum mod buckets."""
    modulus = np.uint64(buckets)
    power = _U1 % modulus
    for _ in range(_LONG):
        power = power * np.uint64(base) % modulus
    rest = np.uint64(total) % modulus
    place = np.uint64(at)
    while place < end:
        kind = np.uint64(BYTE_CLASSES[data[place]])
        if kind == WIDE:
            kind = classify_wide(data, place, end)
        if kind == SPACE:
            break
        if kind != _U0:
            rest = (rest + kind * power) % modulus
            power = power * np.uint64(base) % modulus
        place += _U1
    return place, rest


@compiled
def reduce_mod(total: Whole, buckets: int, inverse: float) -> np.uint64:
    """Compute total mod buckets without a division: total < 2^53, so the rounded quotient is off by
    at most one.
    """
    value = np.int64(total)
    rest = value - np.int64(value * inverse) * np.int64(buckets)
    if rest < 0:
        rest += np.int64(buckets)
    if rest >= buckets:
        rest -= np.int64(buckets)
    return np.uint64(rest)


@compiled
def sort(found: NDArray[np.uint64], columns: NDArray[np.int32], used: np.uint64) -> np.uint64:
    """Write the distinct buckets in increasing order and return the number of columns used."""
    found.sort()
    for word in range(len(found)):
        if word == 0 or found[word] != found[word - 1]:
            columns[used] = found[word]
            used += _U1
    return used


@compiled
def mark(bucket: np.uint64, bits: NDArray[np.uint64], summary: NDArray[np.uint64]) -> None:
    """Set the bucket's bit, and the summary bit of its 64-bit word."""
    word = bucket >> _U6
    bits[word] |= _U1 << (bucket & _U63)
    summary[word >> _U6] |= _U1 << (word & _U63)


@compiled
def drain(
    bits: NDArray[np.uint64],
    summary: NDArray[np.uint64],
    columns: NDArray[np.int32],
    used: np.uint64,
) -> np.uint64:
    """Write the marked buckets in increasing order, clear the marks, and return the number of
    columns used.
    """
    for group in range(len(summary)):
        words = summary[group]
        summary[group] = _U0
        while words:
            word = (np.uint64(group) << _U6) + _find_lowest_bit(words)
            words &= words - _U1
            marks = bits[word]
            bits[word] = _U0
            while marks:
                columns[used] = (word << _U6) + _find_lowest_bit(marks)
                used += _U1
                marks &= marks - _U1
    return used


@compiled
def _find_lowest_bit(marks: np.uint64) -> np.uint64:
    """The index of the lowest set bit."""
    lowest = marks & (~marks + _U1)
    return np.uint64(_PLACE_OF[(lowest * _DE_BRUIJN) >> _TOP_SIX])
