"""Progress on stderr: a live panel for people, a plain line now and then for logs, or nothing."""

from __future__ import annotations

import contextlib
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from tacit.cli.tables import line, printable
from tacit.errors import TacitError
from tacit.record import Entry, Round
from tacit.report import phrasing
from tacit.report.progress import ArmProgress, RunProgress

if TYPE_CHECKING:
    from rich.console import RenderableType

SECONDS_BETWEEN_LINES = 5.0


class ProgressObserver:
    """Shows nothing, but knows the run's folder and how far it is."""

    def __init__(self) -> None:
        self.folder: Path | None = None
        self.progress = RunProgress()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        return None

    def opened(self, folder: Path) -> None:
        """Note where the run is kept, and how far it had come before."""
        from tacit.engine.run_folder import entries

        self.folder = folder

        # A record that cannot be read is the engine's to refuse, in its own words.
        with contextlib.suppress(TacitError):
            for entry in entries(folder):
                self.progress.add_entry(entry)

    def entry(self, entry: Entry) -> None:
        """Take in one entry of the record."""
        self.progress.add_entry(entry)

    def clients(self, arm: str, round_no: int, done: int, total: int) -> None:
        """Take in how many clients of a round have trained."""
        self.progress.add_clients(arm, round_no, done, total)

    def fetched(self, what: str, done: int, total: int | None) -> None:
        """Take in how much of a data set has arrived."""

    def pictures(self, done: int, total: int) -> None:
        """Take in how many pictures a frozen network has read."""


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

    def fetched(self, what: str, done: int, total: int | None) -> None:
        """Write a line if it is time for one."""
        if self._is_time():
            line(f"fetching {what}: {_arrived(done, total)}", stderr=True)

    def pictures(self, done: int, total: int) -> None:
        """Write a line if it is time for one."""
        if self._is_time(at_once=done == total):
            line(_read(done, total), stderr=True)

    def _is_time(self, *, at_once: bool = False) -> bool:
        now = time.monotonic()
        if not at_once and now - self._last < SECONDS_BETWEEN_LINES:
            return False
        self._last = now
        return True


class LiveProgress(ProgressObserver):
    """Draws a panel with a bar for each arm, redrawn a few times a second."""

    def __init__(self) -> None:
        super().__init__()
        from rich.console import Console
        from rich.live import Live
        from rich.spinner import Spinner

        self._waiting = Spinner("dots", "preparing the data")
        self._panel = Live(get_renderable=self._drawn, console=Console(stderr=True), refresh_per_second=8, transient=False)

    def __enter__(self) -> Self:
        self._panel.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.progress.prepared = True
        self._panel.stop()

    def fetched(self, what: str, done: int, total: int | None) -> None:
        """Show how much of a data set has arrived."""
        self._waiting.update(text=f"fetching {what}: {_arrived(done, total)}")

    def pictures(self, done: int, total: int) -> None:
        """Show how many pictures a frozen network has read."""
        self._waiting.update(text=_read(done, total))

    def _drawn(self) -> RenderableType:
        from rich.console import Group
        from rich.text import Text

        if not self.progress.arms:
            return self._waiting if not self.progress.prepared else Text("")
        return Group(*(part for arm in list(self.progress.arms.values()) for part in self._arm(arm)))

    def _arm(self, arm: ArmProgress) -> list[RenderableType]:
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        title = self.folder.name if arm.name == "run" and self.folder else arm.title
        left = arm.seconds_left
        ahead = "done" if arm.finished else f"ETA {phrasing.duration(left)}" if left is not None else ""
        row = Table.grid(padding=(0, 2), expand=True)
        for width, ratio in ((24, None), (None, 1), (14, None), (16, None)):
            row.add_column(width=width, ratio=ratio, no_wrap=True, overflow="ellipsis")
        bar = ProgressBar(total=1.0, completed=arm.fraction)
        row.add_row(Text(printable(title), style="bold"), bar, Text(f"round {arm.round_no}/{arm.rounds}"), Text(ahead))
        facts = Text("  " + " · ".join(arm.facts(self.progress.leading)), style="dim", no_wrap=True, overflow="ellipsis")
        return [row, facts]


def _arrived(done: int, total: int | None) -> str:
    return phrasing.size(done) + (f" of {phrasing.size(total)}" if total else "")


def _read(done: int, total: int) -> str:
    return f"reading pictures: {done:,} of {total:,}"


def progress_observer(*, quiet: bool) -> ProgressObserver:
    """Return the observer that fits: nothing shown if quiet, a panel on a terminal, lines elsewhere."""
    if quiet:
        return ProgressObserver()
    return LiveProgress() if sys.stderr.isatty() else LineProgress()
