"""The queue of runs that wait for the owner: a file for each, in the folder of the site.

A server chooses the names of runs and may offer without end. So the queue is short, the name of a run
is bound to the first offer while that waits, and a plan that is too long for a person to read is
refused. Only requests that nobody has repeated for an hour are dropped for new ones.
"""

from __future__ import annotations

import base64
import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tacit.deployment import bodies
from tacit.deployment.bodies import Offer
from tacit.deployment.site.approval.bound_facts import BoundFacts, hash_bound
from tacit.errors import PlanError, WireError
from tacit.files import has_link, replace_file
from tacit.log_lines import get_utc_time

REQUESTS = "requests"
"""Folder of the queue, in the folder of the site."""
MOST_WAITING, MOST_WAITING_OF_ONE = 20, 5
"""Requests that may wait at once: of all coordinators, and of one that signs its offers."""
MOST_KEPT = 200
"""Requests that are kept, with those that were decided."""
STALE_SECONDS = 3600.0
"""A request that was not repeated for so long may be dropped: its deployment has given up."""
LONGEST_PLAN = 100_000
"""Most characters of a plan that a person is asked about."""
_FULL = ".full"

Added = Literal["new", "repeated", "changed", "full"]
IsWaiting = Callable[["ApprovalRequest"], bool]


@dataclass(frozen=True, kw_only=True)
class ApprovalRequest:
    """A run that an owner is asked about: what an approval would bind, the offer as it was received,
    when it came first and last (seconds since 1970), and why it is asked again, if it is.
    """

    bound: BoundFacts
    body: bytes
    first: str
    last: float
    changes: tuple[str, ...] = ()

    @property
    def run(self) -> str:
        """The name of the run."""
        return str(self.bound["run"])

    @property
    def fingerprint(self) -> str:
        """Hash of everything that an approval would bind."""
        return hash_bound(self.bound)

    @property
    def offer(self) -> Offer:
        """The offer."""
        return bodies.unpack(self.body, Offer)

    def is_stale(self) -> bool:
        """Whether the server has not asked for so long that its deployment has given up."""
        return time.time() - self.last > STALE_SECONDS


class RequestQueue:
    """The requests of one site. The site's process adds to it, the owner's commands read it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / REQUESTS

    def add(
        self,
        bound: BoundFacts,
        body: bytes,
        changes: tuple[str, ...],
        is_waiting: IsWaiting,
    ) -> Added:
        """Add a request, or note that it was repeated. Raise WireError if the run waits with another
        offer, PlanError if no person could read its plan.
        """
        run = str(bound["run"])
        known = self.find(run)
        if known is not None and known.bound["offer"] != bound["offer"]:
            raise WireError(f"run {run} waits here with another offer; start the plan as a new run")
        if known is not None and known.bound == bound:
            with suppress(OSError):
                os.utime(self._path(run))
            return "repeated"
        plan = bodies.unpack(body, Offer).plan
        if len(plan) > LONGEST_PLAN:
            raise PlanError(
                f"the plan has {len(plan):,} characters, and a person is asked about at most"
                f" {LONGEST_PLAN:,}; ask for a shorter plan"
            )
        if known is None and not self._find_space(bound, is_waiting):
            return self._note_full()
        self._folder.mkdir(mode=0o700, exist_ok=True)
        facts = {
            "bound": bound,
            "body": base64.b64encode(body).decode(),
            "first": known.first if known else get_utc_time(),
            "changes": list(changes),
        }
        replace_file(self._path(run), json.dumps(facts).encode())
        (self._folder / _FULL).unlink(missing_ok=True)
        return "changed" if known else "new"

    def find(self, run: str) -> ApprovalRequest | None:
        """The request of a run; None if there is none. An unreadable file is as none,
        and so is one behind a symbolic link.
        """
        path = self._path(run)
        if has_link(self._folder.parent, path):
            return None
        try:
            facts: dict[str, Any] = json.loads(path.read_bytes())
            found = ApprovalRequest(
                bound=dict(facts["bound"]),
                body=base64.b64decode(facts["body"], validate=True),
                first=str(facts["first"]),
                last=path.stat().st_mtime,
                changes=tuple(map(str, facts["changes"])),
            )
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None
        return found if found.bound.get("run") == run else None

    def list(self) -> list[ApprovalRequest]:
        """All requests, oldest first."""
        found = [self.find(path.stem) for path in self._folder.glob("*.json")]
        return sorted((one for one in found if one is not None), key=lambda one: one.first)

    def _path(self, run: str) -> Path:
        return self._folder / f"{run}.json"

    def _find_space(self, bound: BoundFacts, is_waiting: IsWaiting) -> bool:
        """Whether there is space for another request; old ones are dropped for it."""
        known = self.list()
        waiting = [one for one in known if is_waiting(one)]
        decided = [one for one in known if one not in waiting]
        for one in decided[: max(0, len(known) - MOST_KEPT + 1)]:
            self._path(one.run).unlink(missing_ok=True)
        if len(waiting) >= MOST_WAITING:
            for one in [one for one in waiting if one.is_stale()]:
                self._path(one.run).unlink(missing_ok=True)
                waiting.remove(one)
        who = bound["coordinator"]
        own = [one for one in waiting if who and one.bound["coordinator"] == who]
        return len(waiting) < MOST_WAITING and len(own) < MOST_WAITING_OF_ONE

    def _note_full(self) -> Added:
        """Say that the queue is full, once until it no longer is."""
        if (self._folder / _FULL).exists():
            return "repeated"
        replace_file(self._folder / _FULL, b"")
        return "full"
