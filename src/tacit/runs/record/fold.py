"""Valid entries of a record: a resumed run repeats what its checkpoint does not cover, and the
repetition replaces the earlier entries.

Releases are an exception, since a release cannot be undone. A superseded release still counts, unless
the resumed run repeated the same request: it gets the same responses, which reveal nothing new.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from tacit.runs.record.entries import Entry
from tacit.runs.record.round_entries import Released
from tacit.runs.record.run_entries import Resumed, Signed


def fold(lines: Iterable[tuple[int, Entry]]) -> Iterator[Entry]:
    """Yield valid entries, and superseded releases that were not repeated, in the order of the file.

    `lines` are entries with the offset of their first byte.
    """
    found: list[tuple[int, Entry, bool]] = []  # offset, entry, and whether it is valid
    for begins, entry in lines:
        if isinstance(entry, Signed):
            continue  # not an event of the run
        if isinstance(entry, Resumed) and entry.length is not None:
            found = [(where, one, stands and where < entry.length) for where, one, stands in found]
            if entry.length == 0:
                continue  # started over: a new first entry follows
        found.append((begins, entry, True))
    seen = [entry for _, entry, stands in found if stands and isinstance(entry, Released)]
    for _, entry, stands in found:
        if stands:
            yield entry
        elif isinstance(entry, Released) and entry not in seen:
            seen.append(entry)
            yield replace(entry, superseded=True)


def find_superseded(lines: Iterable[tuple[int, Entry]], resume: Resumed) -> list[Released]:
    """Releases that a resume would supersede; they count until the resumed run repeats them."""
    folded = fold([*lines, (_AT_THE_END, resume)])
    return [
        replace(entry, superseded=False)
        for entry in folded
        if isinstance(entry, Released) and entry.superseded
    ]


_AT_THE_END = 1 << 62
