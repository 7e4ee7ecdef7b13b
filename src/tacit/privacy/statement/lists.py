"""Long lists of names, said briefly and completely."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_NUMBER = re.compile(r"[0-9]+$")


def group_names(named: Sequence[str]) -> list[str]:
    """Return phrases of the form "… of NAME" with what they have in common said once, and numbered
    names as a range.

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
    """Return the names, four or more that count up as the first and the last."""
    runs: list[list[str]] = []
    for name in names:
        if runs and name == _NUMBER.sub(lambda found: str(int(found[0]) + 1), runs[-1][-1]):
            runs[-1].append(name)
        else:
            runs.append([name])
    return [said for run in runs for said in ([f"{run[0]} to {run[-1]}"] if len(run) > 3 else run)]


def join_sorted(words: Iterable[str]) -> str:
    """Return words in order of the alphabet, with semicolons between them."""
    return "; ".join(sorted(words))


def join_words(parts: Sequence[str]) -> str:
    """Return phrases as one, the last after "and".

    >>> join_words(["a", "b", "c"])
    'a, b and c'
    """
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
