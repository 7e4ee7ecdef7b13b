"""Progress of commands on stderr: a live panel on a terminal, occasional lines in a log."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from tacit.cli.tables import line
from tacit.log_lines import SETTING, Level, LineLog, log_context
from tacit.progress import (
    LiveProgress,
    ProgressObserver,
    describe_sites,
    format_arrived,
    format_encoded,
)
from tacit.protocol.observer import SiteState
from tacit.runs.record import Entry, Finished, OwnerDecided, Refused, Round, SiteMissing

SECONDS_BETWEEN_LINES = 5.0


class LineProgress(ProgressObserver):
    """Writes a plain line every few seconds, and when an arm ends."""

    def __init__(self) -> None:
        super().__init__()
        self._last = -SECONDS_BETWEEN_LINES

    def entry(self, entry: Entry) -> None:
        """Write a line if the last one is a few seconds old."""
        super().entry(entry)
        if isinstance(entry, Round) and self._is_time(at_once=entry.round_no == entry.rounds):
            arm = self.progress.arm(entry.arm)
            facts = ", ".join(arm.facts(self.progress.leading))
            line(f"{arm.title}: round {entry.round_no}/{entry.rounds}, {facts}", stderr=True)

    def warn(self, text: str) -> None:
        """Write a line."""
        line(text, stderr=True)

    def site(self, state: SiteState) -> None:
        """Write a line about a site that is missing, and whom the server waits for at the start."""
        super().site(state)
        if state.exchange == "open" and state.state in ("asked", "absent") and self._is_time():
            line(f"open: {describe_sites(self.sites.values())}", stderr=True)

    def fetched(self, what: str, done: int, total: int | None) -> None:
        """Write a line if the last one is a few seconds old."""
        if self._is_time():
            line(format_arrived(what, done, total), stderr=True)

    def encoded(self, what: str, done: int, total: int) -> None:
        """Write a line if the last one is a few seconds old."""
        if self._is_time(at_once=done == total):
            line(format_encoded(what, done, total), stderr=True)

    def _is_time(self, *, at_once: bool = False) -> bool:
        now = time.monotonic()
        if not at_once and now - self._last < SECONDS_BETWEEN_LINES:
            return False
        self._last = now
        return True


class LogProgress(ProgressObserver):
    """Writes a log line for every round, refusal, missing site and end of a run."""

    def __init__(self) -> None:
        super().__init__()
        self._log = LineLog("deploy")

    def entry(self, entry: Entry) -> None:
        """Write a line about a round, a refusal, a missing site or the end."""
        super().entry(entry)
        if isinstance(entry, Round):
            arm = self.progress.arm(entry.arm)
            facts = ", ".join(arm.facts(self.progress.leading))
            self._write(
                "INFO", entry.round_no, f"{arm.title}, {entry.round_no}/{entry.rounds}: {facts}"
            )
        elif isinstance(entry, Refused):
            said = f"{entry.exchange}: {entry.sender}: {entry.reason}"
            self._write("WARNING", entry.round_no, said)
        elif isinstance(entry, SiteMissing):
            said = f"{entry.exchange}: site {entry.site}: {entry.reason}"
            self._write("WARNING", entry.round_no, said)
        elif isinstance(entry, OwnerDecided):
            said = f"{entry.exchange}: the owner of site {entry.site}: {entry.outcome}"
            self._write("INFO", 0, said)
        elif isinstance(entry, Finished):
            self._write("INFO", 0, f"{self.progress.arm(entry.arm).title} has finished")

    def warn(self, text: str) -> None:
        """Write a line."""
        self._write("WARNING", 0, text.removeprefix("WARNING: "))

    def _write(self, level: Level, round_no: int, sentence: str) -> None:
        run = self.folder.name if self.folder else ""
        with log_context(run=run, round_no=round_no, level=level):
            self._log(sentence)


class QuietProgress(ProgressObserver):
    """Shows nothing; remembers the run's folder."""

    def opened(self, folder: Path) -> None:
        """Remember the run's folder."""
        self.folder = folder

    def entry(self, entry: Entry) -> None:
        """Ignore."""

    def clients(self, arm: str, round_no: int, done: int, total: int) -> None:
        """Ignore."""

    def site(self, state: SiteState) -> None:
        """Ignore."""


def build_observer(*, quiet: bool) -> ProgressObserver:
    """Silent if quiet, log lines if TACIT_LOG is set, a live panel on a terminal, plain lines
    elsewhere.
    """
    if quiet:
        return QuietProgress()
    if os.environ.get(SETTING):
        return LogProgress()
    return LiveProgress() if sys.stderr.isatty() else LineProgress()
