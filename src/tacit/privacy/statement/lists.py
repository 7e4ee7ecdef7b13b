"""Shorten long lists of names without leaving any out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_NUMBER = re.compile(r"[0-9]+$")


def group_names(named: Sequence[str]) -> list[str]:
    """Merge phrases "… of NAME" that begin alike, and shorten consecutive numbered names to a range.

    >>> group_names(
    ...     ["range of x1", "range of x2", "range of x3", "range of x4", "range of age", "all words"]
    ... )
    ['range of x1 to x4, age', 'all words']
    """
    groups: dict[str, list[str]] = {}
    for phrase in dict.fromkeys(named):
        what, _, name = phrase.partition(" of ")
        groups.setdefault(what, []).append(name)
    return [
        f"{what} of {', '.join(_shorten_ranges(names))}" if names[0] else what
        for what, names in groups.items()
    ]


def _shorten_ranges(names: Sequence[str]) -> list[str]:
    """Replace four or more consecutive numbered names with "first to last"."""
    runs: list[list[str]] = []
    for name in names:
        if runs and name == _NUMBER.sub(lambda found: str(int(found[0]) + 1), runs[-1][-1]):
            runs[-1].append(name)
        else:
            runs.append([name])
    return [said for run in runs for said in ([f"{run[0]} to {run[-1]}"] if len(run) > 3 else run)]


def join_sorted(words: Iterable[str]) -> str:
    """Sort words and join them with semicolons."""
    return "; ".join(sorted(words))


def join_words(parts: Sequence[str]) -> str:
    """Join phrases with commas and "and".

    >>> join_words(["a", "b", "c"])
    'a, b and c'
    """
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
