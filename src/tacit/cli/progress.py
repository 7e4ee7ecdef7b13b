"""Progress on stderr: a live panel for people, a plain line now and then for logs, or nothing."""

from __future__ import annotations

import contextlib
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from tacit import record
from tacit.cli.courses import Course, Courses
from tacit.cli.folders import RECORD
from tacit.errors import TacitError
from tacit.record import Entry, Prepared, Round, Started
from tacit.report import phrasing

if TYPE_CHECKING:
    from rich.console import RenderableType

SECONDS_BETWEEN_LINES = 5.0


class Watcher:
    """Shows nothing, but knows the run's folder and how far it is."""

    def __init__(self) -> None:
        self.folder: Path | None = None
        self.courses = Courses()
        self.rounds = 0
        self.leading: str | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        return None

    def opened(self, folder: Path) -> None:
        """Note where the run is kept, and how far it had come before."""
        self.folder = folder
        path = folder / RECORD
        # A record that cannot be read is the engine's to refuse, in its own words.
        with contextlib.suppress(TacitError):
            for entry in record.read(path) if path.exists() else ():
                Watcher.entry(self, entry)

    def entry(self, entry: Entry) -> None:
        """Take in one entry of the record."""
        if isinstance(entry, Started):
            self.rounds = int(entry.plan.get("server", {}).get("rounds", 0))
        if isinstance(entry, Prepared):
            self.leading = "auc" if len(entry.classes) == 2 else "accuracy"
        self.courses.entry(entry)

    def clients(self, arm: str, round_no: int, done: int, total: int) -> None:
        """Take in how many clients of a round have trained."""
        self.courses.clients(arm, round_no, done, total)
        course = self.courses.course(arm)
        course.rounds = course.rounds or self.rounds

    def fetched(self, what: str, done: int, total: int | None) -> None:
        """Take in how much of a data set has arrived."""


class Lines(Watcher):
    """Writes a plain line when an arm begins or ends, and every few seconds between."""

    def __init__(self) -> None:
        super().__init__()
        self._last = -SECONDS_BETWEEN_LINES

    def entry(self, entry: Entry) -> None:
        """Write a line if it is time for one."""
        super().entry(entry)
        if not isinstance(entry, Round):
            return
        now = time.monotonic()
        if entry.round_no == entry.rounds or now - self._last >= SECONDS_BETWEEN_LINES:
            self._last = now
            course = self.courses.course(entry.arm)
            print(
                f"{course.title}: round {entry.round_no}/{entry.rounds}, {', '.join(course.facts(self.leading))}", file=sys.stderr
            )

    def fetched(self, what: str, done: int, total: int | None) -> None:
        """Write a line if it is time for one."""
        now = time.monotonic()
        if now - self._last >= SECONDS_BETWEEN_LINES:
            self._last = now
            print(f"fetching {what}: {_arrived(done, total)}", file=sys.stderr)


class Live(Watcher):
    """Draws a panel with a bar for each arm, redrawn a few times a second."""

    def __init__(self) -> None:
        super().__init__()
        from rich.console import Console
        from rich.live import Live as Panel
        from rich.spinner import Spinner

        self._waiting = Spinner("dots", "preparing the data")
        self._prepared = False
        self._panel = Panel(get_renderable=self._drawn, console=Console(stderr=True), refresh_per_second=8, transient=False)

    def __enter__(self) -> Self:
        self._panel.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._prepared = True
        self._panel.stop()

    def entry(self, entry: Entry) -> None:
        """Take in one entry of the record."""
        super().entry(entry)
        self._prepared = self._prepared or isinstance(entry, Prepared)

    def fetched(self, what: str, done: int, total: int | None) -> None:
        """Show how much of a data set has arrived."""
        self._waiting.update(text=f"fetching {what}: {_arrived(done, total)}")

    def _drawn(self) -> RenderableType:
        from rich.console import Group
        from rich.text import Text

        if not self.courses.of:
            return self._waiting if not self._prepared else Text("")
        return Group(*(part for course in list(self.courses.of.values()) for part in self._arm(course)))

    def _arm(self, course: Course) -> list[RenderableType]:
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        title = self.folder.name if course.name == "run" and self.folder else course.title
        left = course.seconds_left
        ahead = "done" if course.finished else f"ETA {phrasing.duration(left)}" if left is not None else ""
        line = Table.grid(padding=(0, 2), expand=True)
        for width, ratio in ((24, None), (None, 1), (14, None), (16, None)):
            line.add_column(width=width, ratio=ratio, no_wrap=True, overflow="ellipsis")
        bar = ProgressBar(total=1.0, completed=course.fraction)
        line.add_row(Text(title, style="bold"), bar, Text(f"round {course.round_no}/{course.rounds}"), Text(ahead))
        facts = Text("  " + " · ".join(course.facts(self.leading)), style="dim", no_wrap=True, overflow="ellipsis")
        return [line, facts]


def _arrived(done: int, total: int | None) -> str:
    return phrasing.size(done) + (f" of {phrasing.size(total)}" if total else "")


def watcher(*, quiet: bool) -> Watcher:
    """Return what fits: nothing if quiet, a panel on a terminal, lines elsewhere."""
    if quiet:
        return Watcher()
    return Live() if sys.stderr.isatty() else Lines()
