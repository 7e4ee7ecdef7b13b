"""Observers of a run: progress bars, pages, tests. Observing never changes a run."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from tacit.runs.record import Entry


class Observer(Protocol):
    """Receives the events of a run, always in the thread that started the run."""

    def opened(self, folder: Path) -> None:
        """The run's folder exists."""

    def entry(self, entry: Entry) -> None:
        """An entry was added to the record."""

    def clients(self, arm: str, round_no: int, done: int, total: int) -> None:
        """More clients of the current round have finished."""

    def fetched(self, what: str, done: int, total: int | None) -> None:
        """More bytes of a data set have arrived."""

    def pictures(self, done: int, total: int) -> None:
        """A frozen network has read more images."""


class Silence:
    """An observer that ignores all events."""

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
