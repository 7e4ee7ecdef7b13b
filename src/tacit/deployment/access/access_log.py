"""The server's log of access from other machines: who, in which role, what, whether it was allowed,
and from which address.

Polls of a run, reads and refusals are counted: the first is written at once, the others once a minute
as a number. Beyond `LINES_PER_MINUTE` different ones of one person, only their number is written. So a
caller can neither hide among them nor fill the disk.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tacit.log_lines import LineLog, log_context
from tacit.printable import printable_name

ACCESS_LOG = "access.log"
SECONDS_BETWEEN_COUNTS = 60.0
LINES_PER_MINUTE = 100
_MOST_COUNTED = 1000
_LONGEST = 100


@dataclass(frozen=True)
class Access:
    """One use: who in which role, from which address, what, of which run, and why it was refused
    (None: it was allowed).
    """

    who: str
    role: str
    address: str
    what: str
    run: str = ""
    refusal: str | None = None

    def describe(self) -> str:
        """The sentence in the log."""
        outcome = "allowed" if self.refusal is None else f"refused, {self.refusal}"
        return f"{self.who} ({self.role}) from {self.address}: {self.what} {outcome}"


@dataclass
class _Counted:
    since: float
    more: int = 0


@dataclass
class _Lines:
    """The lines about one person since a moment."""

    since: float = field(default_factory=lambda: float("-inf"))
    written: int = 0


class AccessLog:
    """Writes to `access.log` in the server's folder, and to `tell` as well."""

    def __init__(
        self,
        folder: Path,
        tell: Callable[[str], None] = lambda sentence: None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._path, self._tell, self._now = folder / ACCESS_LOG, tell, now
        self._log = LineLog("access", write=self._append)
        self._lock = threading.Lock()
        self._counts: dict[Access, _Counted] = {}
        self._lines: dict[str, _Lines] = {}

    def note(self, access: Access) -> None:
        """Write one line."""
        with self._lock:
            self._write(access, access.describe())

    def count(self, access: Access) -> None:
        """Write a line for the first of many equal uses, and later only how many more there were."""
        with self._lock:
            moment = self._now()
            if access not in self._counts and not self._may_write(access.who, moment):
                access = Access(
                    who=access.who,
                    role=access.role,
                    address="several addresses",
                    what="further calls",
                    refusal="too many different ones to list",
                )
            known = self._counts.get(access)
            if known is None:
                if len(self._counts) >= _MOST_COUNTED:
                    self._flush(lambda _: True)
                self._counts[access] = _Counted(moment)
                self._write(access, access.describe())
            else:
                known.more += 1
            self._flush(lambda one: moment - one.since >= SECONDS_BETWEEN_COUNTS)

    def flush(self, run: str | None = None) -> None:
        """Write the numbers that wait, of one run or of all."""
        with self._lock:
            for access in [one for one in self._counts if run is None or one.run == run]:
                if self._may_write(access.who, self._now()):
                    self._write_count(access, self._counts.pop(access))

    def _may_write(self, who: str, moment: float) -> bool:
        """Whether there were few lines about a person in the last minute."""
        lines = self._lines.setdefault(who, _Lines())
        if moment - lines.since >= SECONDS_BETWEEN_COUNTS:
            lines.since, lines.written = moment, 0
        return lines.written < LINES_PER_MINUTE

    def _flush(self, is_due: Callable[[_Counted], bool]) -> None:
        for access in [one for one, counted in self._counts.items() if is_due(counted)]:
            self._write_count(access, self._counts.pop(access))

    def _write_count(self, access: Access, counted: _Counted) -> None:
        if counted.more:
            seconds = self._now() - counted.since
            self._write(
                access, f"{access.describe()}, {counted.more:,} more times in {seconds:.0f} s"
            )

    def _write(self, access: Access, sentence: str) -> None:
        self._lines.setdefault(access.who, _Lines(self._now())).written += 1
        level = "INFO" if access.refusal is None else "WARNING"
        with log_context(run=access.run, round_no=0, level=level):
            self._log(printable_name(sentence))
            self._tell(printable_name(sentence))

    def _append(self, line: str) -> None:
        handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(handle, f"{line}\n".encode())
        finally:
            os.close(handle)


def shorten(text: str) -> str:
    """A text of another party for one line of the log."""
    return printable_name(text[:_LONGEST])
