"""Who may look on while a run goes: progress bars, pages, tests. Observing never changes a run."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from tacit.runs.record import Entry


class Observer(Protocol):
    """Called as things happen, always from the thread that started the run."""

    def opened(self, folder: Path) -> None:
        """The run's folder exists."""

    def entry(self, entry: Entry) -> None:
        """An entry was added to the record."""

    def clients(self, arm: str, round_no: int, done: int, total: int) -> None:
        """Some more clients of the round under way have finished."""

    def fetched(self, what: str, done: int, total: int | None) -> None:
        """Some more bytes of a data set have arrived."""

    def pictures(self, done: int, total: int) -> None:
        """A frozen network has read some more pictures."""


class Silence:
    """An observer that says nothing."""

    def opened(self, folder: Path) -> None:
        """Ignore."""

    def entry(self, entry: Entry) -> None:
        """Ignore."""

    def clients(self, arm: str, round_no: int, done: int, total: int) -> None:
        """Ignore."""

    def fetched(self, what: str, done: int, total: int | None) -> None:
        """Ignore."""

    def pictures(self, done: int, total: int) -> None:
        """Ignore."""
