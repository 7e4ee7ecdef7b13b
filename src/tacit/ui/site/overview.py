"""What the pages of a site show: requests, runs, budget and ledger, read as the commands read them.

Nothing stays open in between: the ledger is opened, read and closed.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from tacit.deployment.site.approval.approvals import JudgedRequest, list_requests, open_ledger
from tacit.deployment.site.approval.budget import Budget, read_budget
from tacit.deployment.site.approval.request_queue import REQUESTS
from tacit.deployment.site.contacts import CONTACTS
from tacit.deployment.site.owner import Owner
from tacit.deployment.site.site_folder import LEDGER, POLICY, SETTINGS, find_joined_process
from tacit.deployment.upkeep.run_status import RunStatus, summarise_runs
from tacit.errors import TacitError
from tacit.privacy.policy import Policy
from tacit.privacy.site_ledger.contents import summarise_contents

Read = TypeVar("Read")


@dataclass(frozen=True, kw_only=True)
class SiteOverview:
    """A site at one moment. `contents` are those of its ledger, empty without one; `problems` say what
    could not be read. `process` is the one that has joined, if any.
    """

    policy: Policy | None
    process: int | None
    requests: tuple[JudgedRequest, ...] = ()
    runs: dict[str, RunStatus] = field(default_factory=dict)
    budget: Budget
    contents: dict[str, Any]
    events: tuple[tuple[str, dict[str, Any]], ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def waiting(self) -> list[JudgedRequest]:
        """Requests that wait for a decision."""
        return [one for one in self.requests if one.state == "waiting"]

    @property
    def open_runs(self) -> list[RunStatus]:
        """Runs that are open here."""
        return [one for one in self.runs.values() if one.state == "open"]

    @property
    def other_runs(self) -> list[RunStatus]:
        """Runs that have ended, or were never opened and do not wait; the latest first."""
        waiting = {one.request.run for one in self.waiting}
        found = [
            one for one in self.runs.values() if one.state != "open" and one.run not in waiting
        ]
        return sorted(found, key=lambda one: one.last_contact or "", reverse=True)

    @property
    def refused(self) -> int:
        """How many requests the site remembers that it refused."""
        return sum(one["times"] for run in self.runs.values() for one in run.refusals)


def read_overview(owner: Owner) -> SiteOverview:
    """Read a site. What cannot be read is empty, with a problem."""
    problems = list[str]()

    def attempt(read: Callable[[], Read], otherwise: Read) -> Read:
        try:
            return read()
        except TacitError as error:
            if str(error) not in problems:
                problems.append(str(error))
            return otherwise

    policy = attempt(owner.policy, None)
    known = policy or Policy()
    return SiteOverview(
        policy=policy,
        process=find_joined_process(owner.folder),
        requests=attempt(lambda: tuple(list_requests(owner)), ()),
        runs=attempt(lambda: summarise_runs(owner), {}),
        budget=attempt(lambda: read_budget(owner, known), Budget(charged=(), limit=None)),
        contents=attempt(lambda: _read_contents(owner), {}),
        events=attempt(lambda: _list_events(owner), ()),
        problems=tuple(problems),
    )


def _read_contents(owner: Owner) -> dict[str, Any]:
    if not (owner.folder / LEDGER).exists():
        return {}
    with closing(open_ledger(owner)) as book:
        return summarise_contents(book)


_EVENTS = ("approved", "refused", "erased", "loss accepted", "restored")


def _list_events(owner: Owner) -> tuple[tuple[str, dict[str, Any]], ...]:
    """Decisions and other acts of the owner in the ledger, oldest first."""
    if not (owner.folder / LEDGER).exists():
        return ()
    with closing(open_ledger(owner)) as book:
        return tuple((one.kind, one.body) for one in book.entries() if one.kind in _EVENTS)


def measure_changes(folder: Path) -> tuple[Any, ...]:
    """Changes whenever a page of the site may have changed. No file is opened except the lock of the
    process that has joined.
    """
    names = (SETTINGS, POLICY, CONTACTS, LEDGER, f"{LEDGER}-wal", REQUESTS, "runs")
    inner = [*sorted((folder / REQUESTS).glob("*.json")), *sorted((folder / "runs").glob("*/*"))]
    paths = (*(folder / name for name in names), *inner)
    return (find_joined_process(folder), *(_measure(path) for path in paths))


def _measure(path: Path) -> tuple[str, int, int]:
    try:
        facts = path.lstat()
    except OSError:
        return path.name, 0, 0
    return path.name, facts.st_size, facts.st_mtime_ns
