"""Lines of a record by kind, without parsing them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from tacit.runs.record import KINDS

_BEGINNING = b'{"kind": "'
_CODE_AT = len(_BEGINNING)
_LETTERS = 3
"""The first letters of a kind identify it (a test checks this)."""


@cache
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

    def places(self, kind: str, beginning: bytes = b"") -> list[tuple[int, int]]:
        """Begin and end of every line of a kind; of those that begin in one way, if it is given."""
        if encode_kind(kind) not in self.kinds:
            return []
        found = np.flatnonzero(self.codes == encode_kind(kind))
        begins, ends = self.begins[found], self.ends[found]
        if beginning:
            own = begin_with(np.frombuffer(self.content, np.uint8), begins, ends, beginning)
            begins, ends = begins[own], ends[own]
        return list(zip(begins.tolist(), ends.tolist(), strict=True))


def begin_with(
    letters: NDArray[np.uint8],
    begins: NDArray[np.int64],
    ends: NDArray[np.int64],
    beginning: bytes,
) -> NDArray[np.bool_]:
    """Whether each line begins in one way."""
    size = len(beginning)
    found = ends - begins >= size
    if found.any():
        rows = sliding_window_view(letters, size)[begins[found]]
        found[found] = (rows == np.frombuffer(beginning, np.uint8)).all(axis=1)
    return found


def scan_block(content: bytes, size: int | None = None) -> ScannedBlock:
    """Find the lines of a block, of which the first `size` bytes end with a line break."""
    letters = np.frombuffer(content, np.uint8, len(content) if size is None else size)
    ends = np.flatnonzero(letters == ord("\n"))
    begins = np.empty_like(ends)
    if len(ends):
        begins[0], begins[1:] = 0, ends[:-1] + 1
    codes = np.zeros(len(ends), np.int64)
    is_entry = begin_with(letters, begins, ends - _LETTERS, _BEGINNING)
    for place in range(_LETTERS):
        codes[is_entry] = codes[is_entry] * 256 + letters[begins[is_entry] + _CODE_AT + place]
    return ScannedBlock(content, begins, ends, codes)
