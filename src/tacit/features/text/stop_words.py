"""Blank out English stop words before hashing; byte positions do not change."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.errors import PlanError
from tacit.features.text.alphabet import (
    BYTE_CLASSES,
    SPACE,
    WIDE,
    Bytes,
    Offsets,
    classify_wide,
    compiled,
)

_LETTERS = 12  # at 5 bits a letter, this many fit in 64 bits without loss; no stop word is longer
_BLANK = ord(" ")
_U0, _U5 = np.uint64(0), np.uint64(5)


def blank_stop_words(data: Bytes, offsets: Offsets) -> Bytes:
    """Replace every stop word by spaces, in a copy of the bytes.

    The list is scikit-learn's. Words are compared after normalisation, so "THE" is removed and
    "don't" (dont) stays.
    """
    blanked = data.copy()
    _blank(blanked, offsets, _list_stop_codes())
    blanked.flags.writeable = False
    return blanked


def list_stop_words() -> tuple[str, ...]:
    """List the stop words in alphabetical order."""
    try:
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS
    except ModuleNotFoundError:
        raise PlanError(
            "features.stop_words = true requires scikit-learn, which has the list; pip install"
            " 'tacit[sklearn]', or set it to false"
        ) from None
    return tuple(sorted(ENGLISH_STOP_WORDS))


def _list_stop_codes() -> NDArray[np.uint64]:
    return np.sort(np.array([_encode_word(word) for word in list_stop_words()], np.uint64))


def _encode_word(word: str) -> int:
    """Encode the letters of a short word as one number, 5 bits each; the code is unique."""
    assert len(word) <= _LETTERS, "a stop word does not fit"
    total = 0
    for letter in word:
        total = total << 5 | (ord(letter) - ord("a") + 1)
    return total


@compiled
def _blank(data: Bytes, offsets: Offsets, stops: NDArray[np.uint64]) -> None:
    """Overwrite the bytes of every stop word with spaces."""
    for text in range(len(offsets) - 1):
        begin, end = offsets[text], offsets[text + 1]
        code, letters = _U0, 0
        for at in range(begin, end + 1):
            kind = np.uint64(SPACE) if at == end else np.uint64(BYTE_CLASSES[data[at]])
            if kind == WIDE:
                kind = classify_wide(data, at, end)
            if kind == SPACE:
                if 0 < letters <= _LETTERS and _is_among(code, stops):
                    data[begin:at] = _BLANK
                begin, code, letters = at + 1, _U0, 0
            elif kind != _U0:
                code = code << _U5 | kind
                letters += 1


@compiled
def _is_among(code: np.uint64, stops: NDArray[np.uint64]) -> bool:
    place = np.searchsorted(stops, code)
    return bool(place < len(stops) and stops[place] == code)
