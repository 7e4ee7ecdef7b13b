"""What the pages of a server show: its sites, and the deployments whose records it has, read as
`tacit server sites`, `runs` and `record` read them.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from tacit.deployment.access.access_folder import is_access_folder
from tacit.deployment.access.administration import administer
from tacit.deployment.access.messages import ListedSite
from tacit.deployment.access.run_registry import RUNS, CoordinatedRun
from tacit.deployment.server.absence.missing_replies import Cause
from tacit.deployment.server.job import DEPLOYMENT
from tacit.errors import RunError, TacitError
from tacit.report.figures import Summary
from tacit.runs.record import RUN
from tacit.runs.verify import RECORD_COPY
from tacit.ui.records.catalogue import DAMAGED, NoSuchRun, RunCatalogue
from tacit.ui.records.hostile import reading
from tacit.ui.records.index import RecordIndex
from tacit.ui.records.safe_files import read_text_inside

Place = Literal["server", "here"]
"""Where a record is: the server's copy, or a runs folder of this machine."""
CAUSES: tuple[str, ...] = get_args(Cause)
_KEEP_SECONDS = 1.5


@dataclass(frozen=True, kw_only=True)
class SiteLine:
    """A site of the server."""

    name: str
    state: Literal["online", "offline", "revoked", "unknown"]
    fingerprint: str


@dataclass(frozen=True, kw_only=True)
class DeploymentLine:
    """A deployment. Its figures are empty if no record of it is here; `missing` counts replies that did
    not come, by cause, and `refused` messages that the server did not accept.
    """

    name: str
    coordinator: str
    state: str
    is_live: bool
    changed: str
    place: Place | None = None
    round_no: int = 0
    planned: int = 0
    cohort: int = 0
    missing: Mapping[str, int]
    refused: int = 0
    bytes_up: int = 0


@dataclass(frozen=True, kw_only=True)
class ServerOverview:
    """A server at one moment; `problems` say what could not be read."""

    sites: tuple[SiteLine, ...]
    deployments: tuple[DeploymentLine, ...]
    problems: tuple[str, ...] = ()

    def count_sites(self, state: str) -> int:
        """How many sites are in a state."""
        return sum(one.state == state for one in self.sites)

    @property
    def live(self) -> int:
        """Number of deployments under way."""
        return sum(one.is_live for one in self.deployments)

    @property
    def missing(self) -> Counter[str]:
        """Replies that did not come, by cause."""
        found = Counter[str]()
        for one in self.deployments:
            found.update(one.missing)
        return found


class ServerSpace:
    """One server for many requests at the same time."""

    def __init__(self, folder: Path, runs: Path) -> None:
        self.folder, self.is_access = folder, is_access_folder(folder)
        self.catalogues: dict[Place, RunCatalogue] = {
            "server": RunCatalogue(folder / RUNS),
            "here": RunCatalogue(runs),
        }
        self._lock = threading.RLock()
        self._known: tuple[float, ServerOverview] | None = None

    def overview(self) -> ServerOverview:
        """The server now, or a moment ago."""
        with self._lock:
            if self._known is None or time.monotonic() - self._known[0] > _KEEP_SECONDS:
                found = self._read()
                self._known = time.monotonic(), found
            return self._known[1]

    def find(self, place: str, name: str) -> tuple[RunCatalogue, str]:
        """The catalogue with a deployment's record, and its name; raise NoSuchRun if there is none."""
        for key, catalogue in self.catalogues.items():
            if key == place and (key == "server" or _is_deployment(catalogue, name)):
                return catalogue, catalogue.find(name)
        raise NoSuchRun("There is no deployment of this name here.")

    def _read(self) -> ServerOverview:
        problems = list[str]()
        sites: dict[str, ListedSite] = {}
        try:
            sites = administer(self.folder).list_sites(online=True)
        except TacitError as error:
            problems.append(str(error))
            if not self.is_access:
                sites = administer(self.folder).list_sites()
        runs: list[CoordinatedRun] = []
        try:
            runs = administer(self.folder).list_runs()
        except TacitError as error:
            problems += [] if str(error) in problems else [str(error)]
        return ServerOverview(
            sites=tuple(_describe_site(name, one) for name, one in sorted(sites.items())),
            deployments=tuple(self._list_deployments(runs)),
            problems=tuple(problems),
        )

    def _list_deployments(self, runs: list[CoordinatedRun]) -> list[DeploymentLine]:
        found = [self._describe_coordinated(one) for one in runs]
        named, here = {one.run for one in runs}, self.catalogues["here"]
        for name in here.names():
            if name not in named and _is_deployment(here, name):
                found.append(self._describe_own(here, name))
        return sorted(found, key=lambda one: (one.is_live, one.changed), reverse=True)

    def _describe_coordinated(self, one: CoordinatedRun) -> DeploymentLine:
        place: Place | None = None
        for key, catalogue in self.catalogues.items():
            if place is None and one.run in catalogue.names():
                place = key
        facts = one.run, one.coordinator, one.state, one.state == "open", one.changed, place
        if place is None:
            return _build_line(*facts, None)
        try:
            with reading(one.run):
                return _build_line(*facts, self.catalogues[place].index(one.run))
        except RunError:
            return _build_line(*facts, None)

    def _describe_own(self, here: RunCatalogue, name: str) -> DeploymentLine:
        changed = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(here.version(name)[1] / 1e9))
        try:
            with reading(name):
                summary: Summary = here.summary(name)
                state, index = summary.state, here.index(name)
                return _build_line(
                    name, "this machine", state, summary.running, changed, "here", index
                )
        except RunError:
            return _build_line(name, "this machine", DAMAGED, False, changed, "here", None)


def _is_deployment(catalogue: RunCatalogue, name: str) -> bool:
    """Whether a run of a folder is one between sites, or a copy of its record."""
    return any(read_text_inside(catalogue.root, name, file) for file in (DEPLOYMENT, RECORD_COPY))


def _describe_site(name: str, one: ListedSite) -> SiteLine:
    state: Literal["online", "offline", "revoked", "unknown"] = (
        "revoked"
        if one.revoked
        else "unknown"
        if one.online is None
        else "online"
        if one.online
        else "offline"
    )
    return SiteLine(name=name, state=state, fingerprint=one.fingerprint or "")


def _build_line(
    name: str,
    coordinator: str,
    state: str,
    is_live: bool,
    changed: str,
    place: Place | None,
    index: RecordIndex | None,
) -> DeploymentLine:
    missing = Counter[str]()
    curves = index.arms.get(RUN) if index is not None else None
    last = curves.last if curves is not None else None
    for (_, cause), count in index.absent.items() if index is not None else ():
        missing[cause if cause in CAUSES else "other"] += count
    return DeploymentLine(
        name=name,
        coordinator=coordinator,
        state=state,
        is_live=is_live,
        changed=changed,
        place=place,
        round_no=last.round_no if last else 0,
        planned=last.rounds if last else 0,
        cohort=last.cohort if last else 0,
        missing=missing,
        refused=sum(index.refused.values()) if index is not None else 0,
        bytes_up=curves.bytes_up if curves is not None else 0,
    )
