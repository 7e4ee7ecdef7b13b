"""Progress of commands, on stderr: the panel for people, a plain line now and then for logs, or
nothing.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from tacit.cli.tables import line
from tacit.progress import LiveProgress, ProgressObserver, format_arrived, format_pictures_read
from tacit.runs.record import Entry, Round

SECONDS_BETWEEN_LINES = 5.0


class LineProgress(ProgressObserver):
    """Writes a plain line when an arm ends, and every few seconds before."""

    def __init__(self) -> None:
        super().__init__()
        self._last = -SECONDS_BETWEEN_LINES

    def entry(self, entry: Entry) -> None:
        """Write a line if it is time for one."""
        super().entry(entry)
        if isinstance(entry, Round) and self._is_time(at_once=entry.round_no == entry.rounds):
            arm = self.progress.arm(entry.arm)
            facts = ", ".join(arm.facts(self.progress.leading))
            line(f"{arm.title}: round {entry.round_no}/{entry.rounds}, {facts}", stderr=True)

    def warn(self, text: str) -> None:
        """Write a line."""
        line(text, stderr=True)

    def fetched(self, what: str, done: int, total: int | None) -> None:
        """Write a line if it is time for one."""
        if self._is_time():
            line(format_arrived(what, done, total), stderr=True)

    def pictures(self, done: int, total: int) -> None:
        """Write a line if it is time for one."""
        if self._is_time(at_once=done == total):
            line(format_pictures_read(done, total), stderr=True)

    def _is_time(self, *, at_once: bool = False) -> bool:
        now = time.monotonic()
        if not at_once and now - self._last < SECONDS_BETWEEN_LINES:
            return False
        self._last = now
        return True


class QuietProgress(ProgressObserver):
    """Shows nothing, and knows the run's folder only."""

    def opened(self, folder: Path) -> None:
        """Note where the run is kept."""
        self.folder = folder

    def entry(self, entry: Entry) -> None:
        """Ignore."""

    def clients(self, arm: str, round_no: int, done: int, total: int) -> None:
        """Ignore."""


def progress_observer(*, quiet: bool) -> ProgressObserver:
    """Return the observer that fits: nothing shown if quiet, a panel on a terminal, lines
    elsewhere.
    """
    if quiet:
        return QuietProgress()
    return LiveProgress() if sys.stderr.isatty() else LineProgress()
