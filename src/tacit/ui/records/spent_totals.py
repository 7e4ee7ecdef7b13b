"""Privacy totals after each round of a run, thinned out; a line is parsed once, when a page asks."""

from __future__ import annotations

from pathlib import Path

from tacit.errors import RunError
from tacit.privacy.claim import Total
from tacit.runs.record import Spent, parse_entry
from tacit.ui.records.series import Series

RoundTotals = tuple[int, tuple[Total, ...]]
"""A round and the totals after it."""


class SpentTotals:
    """Lines of a record that state totals, and the totals of those that a curve shows."""

    def __init__(self, path: Path) -> None:
        self.lines: Series[bytes] = Series()
        self._path = path
        self._parsed: dict[bytes, RoundTotals | None] = {}

    def by_round(self) -> list[RoundTotals]:
        """Rounds with their totals, in order; lines that cannot be read are left out."""
        known, self._parsed = self._parsed, {}
        for line in self.lines.points():
            self._parsed[line] = known[line] if line in known else self._parse(line)
        return [one for one in self._parsed.values() if one is not None]

    @property
    def last(self) -> tuple[Total, ...]:
        """Totals after the last round; none before the first."""
        line = self.lines.last
        found = self._parse(line) if line else None
        return found[1] if found else ()

    def _parse(self, line: bytes) -> RoundTotals | None:
        try:
            entry = parse_entry(line, self._path)
            totals = tuple(Total(**one) for one in entry.totals) if isinstance(entry, Spent) else ()
        except (RunError, TypeError):
            return None
        return (entry.round_no, totals) if isinstance(entry, Spent) else None
