"""Progress of a run: a live panel on a terminal, bars in a notebook, or nothing."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterable
from html import escape
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from tacit.errors import TacitError
from tacit.printable import printable
from tacit.protocol.observer import SiteState
from tacit.report import phrasing
from tacit.report.progress import ArmProgress, RunProgress
from tacit.runs.record import Entry, Prepared

if TYPE_CHECKING:
    from rich.console import RenderableType

SECONDS_BETWEEN_DRAWINGS = 0.25


class ProgressObserver:
    """Shows nothing, but knows the run's folder and its progress."""

    def __init__(self) -> None:
        self.folder: Path | None = None
        self.progress = RunProgress()
        self.sites: dict[str, SiteState] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        return None

    def opened(self, folder: Path) -> None:
        """Note the run's folder, and the progress of an earlier part of the run."""
        from tacit.runs.run_folder import entries

        self.folder = folder

        # The run itself refuses an unreadable record.
        with contextlib.suppress(TacitError):
            for entry in entries(folder):
                self.progress.add_entry(entry)

    def entry(self, entry: Entry) -> None:
        """Observe an entry of the record; warn before training if the model reads little of the
        texts.
        """
        self.progress.add_entry(entry)
        if isinstance(entry, Prepared):
            for said in (
                phrasing.warn_of_wordless_texts(entry.wordless, entry.rows_train),
                phrasing.warn_of_unread_words(entry.words_seen),
            ):
                if said:
                    self.warn(f"WARNING: {said}")

    def warn(self, text: str) -> None:
        """Show a sentence before training begins; this class shows nothing."""

    def clients(self, arm: str, round_no: int, done: int, total: int) -> None:
        """Observe how many clients of a round have trained."""
        self.progress.add_clients(arm, round_no, done, total)

    def site(self, state: SiteState) -> None:
        """Observe a site of a deployment; a site that goes missing or comes back is named."""
        before = self.sites.get(state.site)
        self.sites[state.site] = state
        said = describe_change(before, state)
        if said:
            self.warn(said)

    def fetched(self, what: str, done: int, total: int | None) -> None:
        """Observe how much of a data set is downloaded."""

    def encoded(self, what: str, done: int, total: int) -> None:
        """Observe how many images or texts a frozen network has read."""

    def title(self, arm: ArmProgress) -> str:
        """Name of an arm; the run itself is called like its folder."""
        return self.folder.name if arm.name == "run" and self.folder else arm.title


class LiveProgress(ProgressObserver):
    """A panel with a bar for each arm, redrawn a few times a second."""

    def __init__(self) -> None:
        super().__init__()
        from rich.console import Console
        from rich.live import Live
        from rich.spinner import Spinner

        self._waiting = Spinner("dots", "preparing the data")
        self._panel = Live(
            get_renderable=self._drawn,
            console=Console(stderr=True),
            refresh_per_second=8,
            transient=False,
        )

    def __enter__(self) -> Self:
        self._panel.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.progress.prepared = True
        self._panel.stop()

    def warn(self, text: str) -> None:
        """Print a sentence above the panel."""
        self._panel.console.print(printable(text), markup=False, emoji=False)

    def fetched(self, what: str, done: int, total: int | None) -> None:
        """Show how much of a data set is downloaded."""
        self._waiting.update(text=format_arrived(what, done, total))

    def encoded(self, what: str, done: int, total: int) -> None:
        """Show how many images or texts a frozen network has read."""
        self._waiting.update(text=format_encoded(what, done, total))

    def _drawn(self) -> RenderableType:
        from rich.console import Group
        from rich.text import Text

        sites = describe_sites(self.sites.values())
        if not self.progress.arms:
            if sites:
                self._waiting.update(text=printable(sites))
            return self._waiting if not self.progress.prepared else Text("")
        arms = [part for arm in list(self.progress.arms.values()) for part in self._arm(arm)]
        return Group(*arms, Text(f"  {printable(sites)}", style="dim")) if sites else Group(*arms)

    def _arm(self, arm: ArmProgress) -> list[RenderableType]:
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        row = Table.grid(padding=(0, 2), expand=True)
        for width, ratio in ((24, None), (None, 1), (14, None), (16, None)):
            row.add_column(width=width, ratio=ratio, no_wrap=True, overflow="ellipsis")
        bar = ProgressBar(total=1.0, completed=arm.fraction)
        title, rounds = (
            Text(printable(self.title(arm)), style="bold"),
            Text(f"round {arm.round_no}/{arm.rounds}"),
        )
        row.add_row(title, bar, rounds, Text(format_time_left(arm)))
        facts = Text(
            "  " + " · ".join(arm.facts(self.progress.leading)),
            style="dim",
            no_wrap=True,
            overflow="ellipsis",
        )
        return [row, facts]


class NotebookProgress(ProgressObserver):
    """Bars as HTML in the output of a notebook cell, updated in place."""

    def __init__(self) -> None:
        super().__init__()
        self._waiting, self._last, self._place = (
            "preparing the data",
            0.0,
            _display("preparing the data"),
        )

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._draw(at_once=True)

    def entry(self, entry: Entry) -> None:
        """Show one entry of the record."""
        super().entry(entry)
        self._draw()

    def clients(self, arm: str, round_no: int, done: int, total: int) -> None:
        """Show how many clients of a round have trained."""
        super().clients(arm, round_no, done, total)
        self._draw()

    def fetched(self, what: str, done: int, total: int | None) -> None:
        """Show how much of a data set is downloaded."""
        self._waiting = format_arrived(what, done, total)
        self._draw()

    def encoded(self, what: str, done: int, total: int) -> None:
        """Show how many images or texts a frozen network has read."""
        self._waiting = format_encoded(what, done, total)
        self._draw()

    def _draw(self, *, at_once: bool = False) -> None:
        now = time.monotonic()
        if at_once or now - self._last >= SECONDS_BETWEEN_DRAWINGS:
            self._last = now
            self._place.update(
                _html("".join(map(self._arm, self.progress.arms.values())) or escape(self._waiting))
            )

    def _arm(self, arm: ArmProgress) -> str:
        facts = " · ".join(arm.facts(self.progress.leading))
        return (
            f'<div><strong>{escape(self.title(arm))}</strong> <progress value="{arm.fraction:.3f}"'
            f' max="1"></progress> round {arm.round_no}/{arm.rounds}'
            f" {escape(format_time_left(arm))}<br><small>{escape(facts)}</small></div>"
        )


def choose_observer() -> ProgressObserver:
    """Choose the observer for a caller from Python: bars in a notebook, a panel on a terminal,
    nothing elsewhere.
    """
    if _in_notebook():
        return NotebookProgress()
    return LiveProgress() if sys.stderr.isatty() else ProgressObserver()


def describe_sites(states: Iterable[SiteState]) -> str:
    """Whom the server waits for, how long at most, and who is missing; empty if nobody is."""
    known = list(states)
    waiting = [one for one in known if one.state == "asked"]
    found = [
        f"{one.site} {one.state}" for one in known if one.state in ("absent", "late", "refused")
    ]
    if waiting:
        seconds = phrasing.format_duration(max(one.seconds for one in waiting))
        names = ", ".join(one.site for one in waiting)
        found.insert(0, f"waiting for {names} (at most {seconds})")
    undecided = [one for one in known if one.state == "undecided"]
    if undecided:
        seconds = phrasing.format_duration(max(one.seconds for one in undecided))
        names = ", ".join(one.site for one in undecided)
        found.insert(0, f"waiting for the owner of {names} to approve the run (at most {seconds})")
    return " · ".join(found)


def describe_change(before: SiteState | None, now: SiteState) -> str:
    """A sentence about a site that goes missing or comes back; empty for any other change."""
    where = f"round {now.round_no}, {now.exchange}" if now.round_no else now.exchange
    waits = f"waiting at most {phrasing.format_duration(now.seconds)}"
    was_gone = before is not None and before.state in ("absent", "late")
    match now.state:
        case "absent" if not was_gone:
            return f"{where}: site {now.site} is absent; {now.reason or waits}"
        case "undecided" if before is None or before.state != "undecided":
            return f"{where}: the owner of site {now.site} has yet to approve the run; {waits}"
        case "late" | "refused" if before is None or before.reason != now.reason:
            return f"{where}: site {now.site} does not respond: {now.reason}"
        case "asked" if was_gone:
            return f"{where}: site {now.site} is back; {waits}"
        case "replied" if before is not None and before.state == "undecided":
            return f"{where}: the owner of site {now.site} approved the run"
        case "asked" if before is not None and _is_repeated(before, now):
            return f"{where}: site {now.site} has not responded yet; {waits}"
        case _:
            return ""


def _is_repeated(before: SiteState, now: SiteState) -> bool:
    """Whether a request is sent again."""
    same = (before.round_no, before.exchange) == (now.round_no, now.exchange)
    return before.state == "asked" and same


def format_time_left(arm: ArmProgress) -> str:
    """Describe the time that an arm still needs, if it can be estimated."""
    left = arm.seconds_left
    return (
        "done"
        if arm.finished
        else f"ETA {phrasing.format_duration(left)}"
        if left is not None
        else ""
    )


def format_arrived(what: str, done: int, total: int | None) -> str:
    """Describe how much of a data set is downloaded."""
    return f"fetching {what}: {phrasing.format_size(done)}" + (
        f" of {phrasing.format_size(total)}" if total else ""
    )


def format_encoded(what: str, done: int, total: int) -> str:
    """Describe how many images or texts a frozen network has read."""
    return f"reading {what}: {done:,} of {total:,}"


def _in_notebook() -> bool:
    """Whether a notebook's kernel runs this; IPython on a terminal counts as a terminal."""
    found = sys.modules.get("IPython")
    shell = found.get_ipython() if found is not None else None
    return shell is not None and hasattr(shell, "kernel")


def _display(text: str) -> Any:
    """Create a handle for a part of a cell's output that can be updated."""
    from IPython.display import display

    return display(_html(escape(text)), display_id=True)


def _html(text: str) -> Any:
    from IPython.display import HTML

    return HTML(text)
