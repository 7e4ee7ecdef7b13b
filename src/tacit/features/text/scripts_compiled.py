"""Compiled words of every script: UTF-8 bytes of a text in, 64-bit hashes of its words out.

The rule is that of `scripts`. ASCII letters, digits and separators take a branch-free loop; every
other character takes the slow path, by a table of character classes and case foldings.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from tacit.features.text import scripts
from tacit.features.text.alphabet import Bytes, Whole, compiled
from tacit.features.text.scripts import (
    APOSTROPHE,
    HASHTAG,
    IGNORED,
    LAST_TABLED,
    LETTER,
    PAIRED,
    PICTURE,
    POINT,
)

Hashes = NDArray[np.uint64]
Points = NDArray[np.uint32]
"""Case folding (24 bits) and class (8 bits) of each code point; empty if words consist of the
letters a-z.
"""

_U0, _U1, _U8 = np.uint64(0), np.uint64(1), np.uint64(8)
_HALF, _SIGN = np.uint64(32), np.uint64(ord("#"))
_BASE, _MIX = np.uint64(scripts.BASE), np.uint64(scripts.MIX)
_LAST, _LAST_IDEOGRAPH = np.uint64(LAST_TABLED), np.uint64(0x3FFFF)
_RARE = np.uint64(128)
BEGINS = np.uint64(1 << 32)
"""Marks in the character array: a word begins here, or a run that is read in pairs."""


def _build_ascii_table() -> Bytes:
    """Map each byte to its letter or digit, 0 if it ends a word, 128 if it takes the slow path."""
    table = np.full(256, 128, np.uint8)
    for point in range(128):
        what = scripts.classify_character(point)
        table[point] = (
            scripts.fold_case(point) if what == LETTER else 0 if what == scripts.BREAK else 128
        )
    return table


_ASCII = _build_ascii_table()


@cache
def get_character_table() -> Points:
    """The character table, built at first use."""
    return np.array(
        [
            scripts.fold_case(point) << 8 | scripts.classify_character(point)
            for point in range(LAST_TABLED + 1)
        ],
        np.uint32,
    )


@compiled
def hash_any_script(
    data: Bytes, begin: int, stop: int, known: Points, hashes: Hashes, spelled: Hashes | None
) -> np.uint64:
    """Write the hash of each word and return the number of words, at most half the number of bytes,
    rounded up.

    `spelled`, if given, receives each word character at the position of its first byte; other
    positions stay unchanged. Without it, the writing code is not compiled at all.
    """
    word, count = _U0, _U0  # no word has the hash 0 but one in 2^64
    at, end = np.uint64(begin), np.uint64(stop)
    while at < end:
        letter = np.uint64(_ASCII[data[at]])
        while letter != _RARE:
            # Written at every byte, and overwritten by the next one unless this byte ends a word.
            hashes[count] = word
            inside = np.uint64(letter != _U0)
            if spelled is not None:
                spelled[at] = letter | _mark_beginning(word) & (_U0 - inside)
            count += (_U1 - inside) & np.uint64(word != _U0)
            word = (word * _BASE + letter) & (_U0 - inside)
            at += _U1
            if at == end:
                break
            letter = np.uint64(_ASCII[data[at]])
        if at < end:
            at, word, count = _hash_wide(data, at, end, known, hashes, word, count, spelled)
    hashes[count] = word
    return count + np.uint64(word != _U0)


@compiled
def _hash_wide(
    data: Bytes,
    at: np.uint64,
    end: np.uint64,
    known: Points,
    hashes: Hashes,
    word: np.uint64,
    count: np.uint64,
    spelled: Hashes | None,
) -> tuple[np.uint64, np.uint64, np.uint64]:
    """Process one non-ASCII character or run; return the next position, the current word's hash and
    the number of words.
    """
    point, size = _decode(data, at, end)
    what, folded = _look_up(point, known)
    after = at + size
    if what == IGNORED:
        return after, word, count
    if what == LETTER:
        if spelled is not None:
            spelled[at] = folded | _mark_beginning(word)
        return after, word * _BASE + folded, count
    if what == APOSTROPHE and word != _U0 and _is_letter_at(data, after, end, known):
        return after, word, count
    if what == HASHTAG and word == _U0 and _is_letter_at(data, after, end, known):
        if spelled is not None:
            spelled[at] = _SIGN | BEGINS
        return after, _SIGN, count
    if (
        what == POINT
        and at > 0
        and after < end
        and _is_digit(data[at - _U1])
        and _is_digit(data[after])
        and word != _U0
    ):
        if spelled is not None:
            spelled[at] = folded
        return after, word * _BASE + folded, count
    hashes[count] = word
    count += np.uint64(word != _U0)
    if spelled is not None and what in (PICTURE, PAIRED):
        spelled[at] = point | BEGINS
    if what == PICTURE:
        hashes[count] = point
        count += _U1
    elif what == PAIRED:
        after, count = _hash_pairs(data, after, end, known, hashes, point, count, spelled)
    return after, _U0, count


@compiled
def _hash_pairs(
    data: Bytes,
    at: np.uint64,
    end: np.uint64,
    known: Points,
    hashes: Hashes,
    first: np.uint64,
    count: np.uint64,
    spelled: Hashes | None,
) -> tuple[np.uint64, np.uint64]:
    """Write the pairs of a run of characters that starts with `first`; return its end and the
    number of words.
    """
    alone = True
    while at < end:
        point, size = _decode(data, at, end)
        what, _ = _look_up(point, known)
        if what == PAIRED:
            hashes[count] = first * _BASE + point
            count += _U1
            first, alone = point, False
            if spelled is not None:
                spelled[at] = point
        elif what != IGNORED:
            break
        at += size
    if alone:
        hashes[count] = first
        count += _U1
    return at, count


@compiled
def _mark_beginning(word: np.uint64) -> np.uint64:
    """The mark of a word's first character, if no word has begun."""
    return BEGINS if word == _U0 else _U0


@compiled
def _is_letter_at(data: Bytes, at: np.uint64, end: np.uint64, known: Points) -> bool:
    """Whether the character here is part of a word."""
    return bool(at < end and _look_up(_decode(data, at, end)[0], known)[0] == LETTER)


@compiled
def _is_digit(byte: np.uint8) -> bool:
    return bool(48 <= byte <= 57)


@compiled
def _look_up(point: np.uint64, known: Points) -> tuple[np.uint64, np.uint64]:
    """Look up a character's class and case folding."""
    if point > _LAST:
        return np.uint64(PAIRED if point <= _LAST_IDEOGRAPH else IGNORED), point
    entry = np.uint64(known[point])
    return entry & np.uint64(255), entry >> _U8


@compiled
def _decode(data: Bytes, at: np.uint64, end: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Decode the code point at a position and its number of bytes; the bytes are valid UTF-8."""
    lead = np.uint64(data[at])
    size = (
        np.uint64(1) + np.uint64(lead >= 0xC0) + np.uint64(lead >= 0xE0) + np.uint64(lead >= 0xF0)
    )
    if size == _U1 or at + size > end:
        return lead, _U1
    point = lead & ((_U1 << (np.uint64(7) - size)) - _U1)
    for place in range(_U1, size):
        point = (point << np.uint64(6)) | (np.uint64(data[at + place]) & np.uint64(63))
    return point, size


@compiled
def find_bucket(value: Whole, buckets: int) -> np.uint64:
    """Map a term's hash to its bucket."""
    return ((mix(np.uint64(value)) >> _HALF) * np.uint64(buckets)) >> _HALF


@compiled
def mix(value: np.uint64) -> np.uint64:
    """Fold the upper half of the hash into the lower one and multiply by an odd constant."""
    return (value ^ (value >> _HALF)) * _MIX
