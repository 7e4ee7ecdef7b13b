"""Lookup tables of the compiled scanners: the meaning of each byte of UTF-8 text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Offsets = NDArray[np.int64]
Whole = int | np.integer[Any]
Function = TypeVar("Function", bound=Callable[..., object])


def compiled(function: Function) -> Function:
    """Compile a function without the interpreter lock, with an on-disk cache."""
    return cast(Function, njit(nogil=True, cache=True)(function))


# A byte's class is its letter's number 1..26, SPACE, 0 (deleted), or WIDE: the bytes after it
# decide.
SPACE = 32
WIDE = 64
_ASCII_SPACES = "\t\n\v\f\r\x1c\x1d\x1e\x1f "
# The only characters outside ASCII that are not simply deleted; a test walks through all of Unicode
# to keep this true.
_WIDE_SPACES = "\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
_WIDE_LETTERS = {"\u0130": "i", "\u212a": "k"}


def _to_number(letter: str) -> int:
    return ord(letter) - ord("a") + 1


_WIDE_CLASSES = {
    **dict.fromkeys(_WIDE_SPACES, SPACE),
    **{wide: _to_number(plain) for wide, plain in _WIDE_LETTERS.items()},
}


def _build_byte_classes() -> Bytes:
    table = np.zeros(256, np.uint8)
    for letter in "abcdefghijklmnopqrstuvwxyz":
        table[[ord(letter), ord(letter.upper())]] = _to_number(letter)
    table[[ord(space) for space in _ASCII_SPACES]] = SPACE
    table[[wide.encode()[0] for wide in _WIDE_CLASSES]] = WIDE
    return table


def _pack_bytes(wide: str) -> int:
    first, second, *third = wide.encode()
    return first << 16 | second << 8 | (third[0] if third else 0)


BYTE_CLASSES = _build_byte_classes()
_WIDE_KEYS = np.array([_pack_bytes(wide) for wide in _WIDE_CLASSES], np.int64)
_WIDE_VALUES = np.array(list(_WIDE_CLASSES.values()), np.uint64)


@compiled
def classify_wide(data: Bytes, at: Whole, end: Whole) -> np.uint64:
    """The class of the character whose first byte, of class WIDE, is at `at`.

    Continuation bytes are of class 0, so the scanner deletes them one by one.
    """
    two = np.int64(data[at]) << 16
    if at + 1 < end:
        two |= np.int64(data[at + 1]) << 8
    three = two
    if at + 2 < end:
        three |= np.int64(data[at + 2])
    # U+0800 and up (first byte 0xE0 and up) takes three bytes, what is below takes two.
    key = three if data[at] >= 0xE0 else two
    for place in range(len(_WIDE_KEYS)):
        if _WIDE_KEYS[place] == key:
            return np.uint64(_WIDE_VALUES[place])
    return np.uint64(0)
