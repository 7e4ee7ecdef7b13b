"""What a process holds in its memory, for tests that look for what must not be there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

_PIECE, _OVERLAP = 1 << 24, 1 << 12


def found_in_memory(pid: int, wanted: dict[str, bytes]) -> set[str]:
    """Return the names of the byte strings that stand somewhere in the memory a process can write to."""
    found = set()
    for piece in _pieces(pid):
        found |= {name for name, text in wanted.items() if text in piece}
    return found


def _pieces(pid: int) -> Iterator[bytes]:
    if not os.access(f"/proc/{pid}/mem", os.R_OK):
        pytest.skip("this system lets nobody read the memory of a process")
    with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            span, kind = line.split()[:2]
            if not kind.startswith("rw") or "[v" in line:
                continue
            start, end = (int(edge, 16) for edge in span.split("-"))
            for at in range(start, end, _PIECE - _OVERLAP):
                memory.seek(at)
                try:
                    yield memory.read(min(_PIECE, end - at))
                except OSError:  # pages that are not there, such as those of a stack
                    break
