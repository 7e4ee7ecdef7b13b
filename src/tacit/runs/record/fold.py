"""What stands in a record: a resumed run repeats what its checkpoint does not cover, and the
repetition counts.

Releases are the exception. What left has left, so a release that a resume superseded is kept,
unless the resumed run repeated the very same request: that gets the same answers again, and tells
nobody anything new.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from tacit.runs.record.entries import Entry, Released, Resumed, Signed


def fold(lines: Iterable[tuple[int, Entry]]) -> Iterator[Entry]:
    """Yield the entries that stand, and the superseded releases that nothing repeated, in the order
    of the file.

    `lines` are entries with the byte each begins at.
    """
    found: list[tuple[int, Entry, bool]] = []  # where, what, and whether it stands
    for begins, entry in lines:
        if isinstance(entry, Signed):
            continue  # about the lines before it, and no part of what a run tells
        if isinstance(entry, Resumed) and entry.length is not None:
            found = [(where, one, stands and where < entry.length) for where, one, stands in found]
            if entry.length == 0:
                continue  # begun again from nothing: the record then has a first entry of its own
        found.append((begins, entry, True))
    seen = [entry for _, entry, stands in found if stands and isinstance(entry, Released)]
    for _, entry, stands in found:
        if stands:
            yield entry
        elif isinstance(entry, Released) and entry not in seen:
            seen.append(entry)
            yield replace(entry, superseded=True)


def find_superseded(lines: Iterable[tuple[int, Entry]], resume: Resumed) -> list[Released]:
    """Return the releases, as they were written, that count in addition as long as a run resumed
    now does not repeat them.
    """
    folded = fold([*lines, (_AT_THE_END, resume)])
    return [
        replace(entry, superseded=False)
        for entry in folded
        if isinstance(entry, Released) and entry.superseded
    ]


_AT_THE_END = 1 << 62
