"""What the pages over runs share: the runs, the plan files, and the commands that they started."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from pathlib import Path

from tacit.ui.events import Change
from tacit.ui.jobs.children import ChildJob, ChildJobs
from tacit.ui.jobs.workers import read_worker
from tacit.ui.records.catalogue import RunCatalogue


@dataclass(kw_only=True)
class Workspace:
    """A runs folder, a folder with plans (or none), and the child processes of the pages."""

    runs: Path
    catalogue: RunCatalogue
    plans: Path | None = None
    jobs: ChildJobs = field(default_factory=ChildJobs)
    _names: dict[int, str] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def find_run(self, job: ChildJob) -> str:
        """The run that a job works on, once its process has locked it; empty until then."""
        if job.kind == "resume":
            return job.about
        if job.kind != "run":
            return ""
        with self._lock:
            if job.number not in self._names:
                for name in self.catalogue.names():
                    if read_worker(self.runs, name) == job.process.pid:
                        self._names[job.number] = name
            return self._names.get(job.number, "")


def follow(
    version: Callable[[], Hashable], render: Callable[[], Change]
) -> Callable[[], Change | None]:
    """Read a page's change whenever `version` has another value."""
    last: list[Hashable] = [version()]

    def read() -> Change | None:
        now = version()
        if now == last[0]:
            return None
        last[0] = now
        return render()

    return read
