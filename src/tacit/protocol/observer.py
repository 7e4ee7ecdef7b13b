"""Observers of a run: progress bars, pages, tests. Observing never changes a run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from tacit.runs.record import Entry

StateName = Literal["asked", "absent", "undecided", "replied", "refused", "late"]


@dataclass(frozen=True, kw_only=True)
class SiteState:
    """A site in the exchange under way: asked, absent, undecided (its owner has yet to approve the
    run), replied, refused or late.

    `seconds` is how long the server still waits for a site that was asked, is absent or undecided,
    and how long it has waited for any other. `reason` says why a site refused or is late.
    """

    site: str
    round_no: int
    exchange: str
    state: StateName
    seconds: float = 0.0
    reason: str = ""


class Observer(Protocol):
    """Receives the events of a run, always in the thread that started the run."""

    def opened(self, folder: Path) -> None:
        """The run's folder exists."""

    def entry(self, entry: Entry) -> None:
        """An entry was added to the record."""

    def clients(self, arm: str, round_no: int, done: int, total: int) -> None:
        """More clients of the current round have finished."""

    def site(self, state: SiteState) -> None:
        """A site of a deployment was asked, replied, or is missing."""

    def fetched(self, what: str, done: int, total: int | None) -> None:
        """More bytes of a data set have arrived."""

    def encoded(self, what: str, done: int, total: int) -> None:
        """A frozen network has read more images or texts (`what`)."""


class Silence:
    """An observer that ignores all events."""

    def opened(self, folder: Path) -> None:
        """Ignore."""

    def entry(self, entry: Entry) -> None:
        """Ignore."""

    def clients(self, arm: str, round_no: int, done: int, total: int) -> None:
        """Ignore."""

    def site(self, state: SiteState) -> None:
        """Ignore."""

    def fetched(self, what: str, done: int, total: int | None) -> None:
        """Ignore."""

    def encoded(self, what: str, done: int, total: int) -> None:
        """Ignore."""


class ObserverGroup:
    """Passes every event to several observers, in their order."""

    def __init__(self, *members: Observer) -> None:
        self._members = members

    def opened(self, folder: Path) -> None:
        """Pass on."""
        for member in self._members:
            member.opened(folder)

    def entry(self, entry: Entry) -> None:
        """Pass on."""
        for member in self._members:
            member.entry(entry)

    def clients(self, arm: str, round_no: int, done: int, total: int) -> None:
        """Pass on."""
        for member in self._members:
            member.clients(arm, round_no, done, total)

    def site(self, state: SiteState) -> None:
        """Pass on."""
        for member in self._members:
            member.site(state)

    def fetched(self, what: str, done: int, total: int | None) -> None:
        """Pass on."""
        for member in self._members:
            member.fetched(what, done, total)

    def encoded(self, what: str, done: int, total: int) -> None:
        """Pass on."""
        for member in self._members:
            member.encoded(what, done, total)
