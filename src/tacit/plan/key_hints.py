"""Find the full plan key for the last word of a key."""

from __future__ import annotations

_FIRST = ("privacy", "data", "server")
"""Tables to prefer if several have a key of that name."""


def find_key(word: str) -> str | None:
    """The dotted key of a plan whose last part is this word; None if there is none."""
    from tacit.plan.reference import keys

    found = [key for key in keys() if key.rpartition(".")[2] == word and "." in key]
    return min(found, key=_rank, default=None)


def _rank(key: str) -> int:
    first = key.partition(".")[0]
    return _FIRST.index(first) if first in _FIRST else len(_FIRST)
