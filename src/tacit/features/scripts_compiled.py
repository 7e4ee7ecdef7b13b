"""Words of every script, compiled: the bytes of a text in, the 64-bit hashes of its words out.

The rule is the one of `scripts`. Letters, digits and breaks of ASCII go through a loop without a branch on where words end;
every other character goes the slow way, by a table of what it does and what it folds to.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from tacit.features import scripts
from tacit.features.alphabet import Bytes, Whole, compiled
from tacit.features.scripts import APOSTROPHE, HASHTAG, IGNORED, LAST_TABLED, LETTER, PAIRED, PICTURE, POINT

Hashes = NDArray[np.uint64]
Points = NDArray[np.uint32]
"""For each code point what it folds to, 24 bits, and what it does, 8 bits; empty where words are of the letters a-z."""

_U0, _U1, _U8 = np.uint64(0), np.uint64(1), np.uint64(8)
_HALF, _SIGN = np.uint64(32), np.uint64(ord("#"))
_BASE, _MIX = np.uint64(scripts.BASE), np.uint64(scripts.MIX)
_LAST, _LAST_IDEOGRAPH = np.uint64(LAST_TABLED), np.uint64(0x3FFFF)
_RARE = np.uint64(128)
BEGINS = np.uint64(1 << 32)
"""Beside a character: a word begins with it, or a run that is read in pairs."""


def _ascii() -> Bytes:
    """Return for each byte the letter or digit it stands for, 0 if it ends a word, 128 if it goes the slow way."""
    table = np.full(256, 128, np.uint8)
    for point in range(128):
        what = scripts.kind(point)
        table[point] = scripts.folded(point) if what == LETTER else 0 if what == scripts.BREAK else 128
    return table


_ASCII = _ascii()


@cache
def points() -> Points:
    """Return the table of characters; made at the first use."""
    return np.array([scripts.folded(point) << 8 | scripts.kind(point) for point in range(LAST_TABLED + 1)], np.uint32)


@compiled
def spell_any(data: Bytes, begin: int, stop: int, known: Points, hashes: Hashes, spelled: Hashes | None) -> np.uint64:
    """Write the hash of each word and return the number of words; there are at most half as many as bytes, rounded up.

    Into `spelled`, where there is one, goes each character of words, at the place of its first byte; other places stay as they
    are. Without one, what would write there is not compiled at all.
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
                spelled[at] = letter | _begins(word) & (_U0 - inside)
            count += (_U1 - inside) & np.uint64(word != _U0)
            word = (word * _BASE + letter) & (_U0 - inside)
            at += _U1
            if at == end:
                break
            letter = np.uint64(_ASCII[data[at]])
        if at < end:
            at, word, count = _slowly(data, at, end, known, hashes, word, count, spelled)
    hashes[count] = word
    return count + np.uint64(word != _U0)


@compiled
def _slowly(
    data: Bytes, at: np.uint64, end: np.uint64, known: Points, hashes: Hashes, word: np.uint64, count: np.uint64,
    spelled: Hashes | None,
) -> tuple[np.uint64, np.uint64, np.uint64]:  # fmt: skip
    """Return where to go on, the hash of the word in hand and the number of words ended, after one character or one run."""
    point, size = _decoded(data, at, end)
    what, folded = _looked_up(point, known)
    after = at + size
    if what == IGNORED:
        return after, word, count
    if what == LETTER:
        if spelled is not None:
            spelled[at] = folded | _begins(word)
        return after, word * _BASE + folded, count
    if what == APOSTROPHE and word != _U0 and _letter_at(data, after, end, known):
        return after, word, count
    if what == HASHTAG and word == _U0 and _letter_at(data, after, end, known):
        if spelled is not None:
            spelled[at] = _SIGN | BEGINS
        return after, _SIGN, count
    if what == POINT and at > 0 and after < end and _digit(data[at - _U1]) and _digit(data[after]) and word != _U0:
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
        after, count = _pairs(data, after, end, known, hashes, point, count, spelled)
    return after, _U0, count


@compiled
def _pairs(
    data: Bytes, at: np.uint64, end: np.uint64, known: Points, hashes: Hashes, first: np.uint64, count: np.uint64,
    spelled: Hashes | None,
) -> tuple[np.uint64, np.uint64]:  # fmt: skip
    """Write the pairs of a run of characters that begins with `first`; return where it ends and the number of words."""
    alone = True
    while at < end:
        point, size = _decoded(data, at, end)
        what, _ = _looked_up(point, known)
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
def _begins(word: np.uint64) -> np.uint64:
    """Return the mark of a word's first character, if there is no word yet."""
    return BEGINS if word == _U0 else _U0


@compiled
def _letter_at(data: Bytes, at: np.uint64, end: np.uint64, known: Points) -> bool:
    """Return whether a character that makes words stands here."""
    return bool(at < end and _looked_up(_decoded(data, at, end)[0], known)[0] == LETTER)


@compiled
def _digit(byte: np.uint8) -> bool:
    return bool(48 <= byte <= 57)


@compiled
def _looked_up(point: np.uint64, known: Points) -> tuple[np.uint64, np.uint64]:
    """Return what a character does and what it folds to."""
    if point > _LAST:
        return np.uint64(PAIRED if point <= _LAST_IDEOGRAPH else IGNORED), point
    entry = np.uint64(known[point])
    return entry & np.uint64(255), entry >> _U8


@compiled
def _decoded(data: Bytes, at: np.uint64, end: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return the code point at a place, and how many bytes it takes; the bytes are valid UTF-8."""
    lead = np.uint64(data[at])
    size = np.uint64(1) + np.uint64(lead >= 0xC0) + np.uint64(lead >= 0xE0) + np.uint64(lead >= 0xF0)
    if size == _U1 or at + size > end:
        return lead, _U1
    point = lead & ((_U1 << (np.uint64(7) - size)) - _U1)
    for place in range(_U1, size):
        point = (point << np.uint64(6)) | (np.uint64(data[at + place]) & np.uint64(63))
    return point, size


@compiled
def bucket_of(value: Whole, buckets: int) -> np.uint64:
    """Return the bucket of a term's hash."""
    return ((mixed(np.uint64(value)) >> _HALF) * np.uint64(buckets)) >> _HALF


@compiled
def mixed(value: np.uint64) -> np.uint64:
    """Return the hash with its upper half in its lower one, times an odd number."""
    return (value ^ (value >> _HALF)) * _MIX
