"""Lines of a record by kind, without parsing them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tacit.runs.record import KINDS

_BEGINNING = b'{"kind": "'
_CODE_AT = len(_BEGINNING)
_LETTERS = 3
"""The first letters of a kind identify it (a test checks this)."""


def encode_kind(kind: str) -> int:
    """The first letters of a kind as an integer."""
    return int.from_bytes(kind.encode()[:_LETTERS], "big")


NAMES = {encode_kind(kind): kind for kind in KINDS}


@dataclass(frozen=True)
class ScannedBlock:
    """Complete lines of a block: where each begins and ends, and the code of its kind; code 0 is a
    line that does not begin like an entry.
    """

    content: bytes
    begins: NDArray[np.int64]
    ends: NDArray[np.int64]
    codes: NDArray[np.int64]

    @cached_property
    def kinds(self) -> frozenset[int]:
        """Codes that occur."""
        return frozenset(np.unique(self.codes).tolist())

    def places(self, kind: str) -> list[tuple[int, int]]:
        """Begin and end of every line of a kind."""
        if encode_kind(kind) not in self.kinds:
            return []
        found = self.codes == encode_kind(kind)
        return list(zip(self.begins[found].tolist(), self.ends[found].tolist(), strict=True))


def scan_block(content: bytes) -> ScannedBlock:
    """Find the lines of a block that ends with a line break."""
    letters = np.frombuffer(content, np.uint8)
    ends = np.flatnonzero(letters == ord("\n"))
    begins = np.empty_like(ends)
    if len(ends):
        begins[0], begins[1:] = 0, ends[:-1] + 1
    codes = np.zeros(len(ends), np.int64)
    long = np.flatnonzero(ends - begins >= _CODE_AT + _LETTERS)
    for place in range(_LETTERS):
        codes[long] = codes[long] * 256 + letters[begins[long] + _CODE_AT + place]
    is_entry = np.ones(len(long), bool)
    for place, letter in enumerate(_BEGINNING):
        is_entry &= letters[begins[long] + place] == letter
    codes[long[~is_entry]] = 0
    return ScannedBlock(content, begins, ends, codes)
