"""Run many plans in separate processes, a few at a time; a plan that already has a finished run is not
run again.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from tacit import plan as plans
from tacit.errors import TacitError
from tacit.plan import Engine, Plan, pin_own_parts
from tacit.runs import record, run_folder
from tacit.runs.fingerprint import fingerprint_plan
from tacit.simulation.workers import children

PROGRAM = "from tacit.runs.sweep_run import main; main()"
_SECONDS_TO_END = 20.0
_ROOM = 1.2
"""Another run starts only if this multiple of the largest run's memory is free."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Outcome of one plan: the folder of its finished run, or an error."""

    folder: Path | None = None
    error: str = ""
    was_there: bool = False


class Watch(Protocol):
    """Receives the progress of a sweep; plans are identified by their number."""

    def report_start(self, number: int) -> None:
        """A run was started or resumed."""

    def report_round(self, number: int, round_no: int, rounds: int) -> None:
        """A round has finished."""

    def report_warning(self, number: int, text: str) -> None:
        """A run continues, but something about it failed, such as a tracker."""

    def report_end(self, number: int, outcome: Outcome) -> None:
        """A run has finished or failed."""


def carry_out(
    wanted: Sequence[Plan], root: Path, at_once: int, watch: Watch, cluster: str | None = None
) -> list[Outcome]:
    """Run all plans without baselines in folders below `root`, and return their outcomes in order;
    `cluster` is the address of a cluster, one run per core.

    A finished run of the same plan is reused; a stopped one is resumed. If a run fails, the others
    continue. An interrupt ends all processes and loses their work since the last round.
    """
    runs = _find_runs(root)
    workers = Engine(workers=_workers(at_once) if cluster is None else 1)
    jobs = [pin_own_parts(replace(one, baselines=(), engine=workers)) for one in wanted]
    found: dict[int, Outcome] = {}
    waiting: list[tuple[int, Path | None]] = []
    for number, job in enumerate(jobs):
        folder, finished = runs.get(fingerprint_plan(job), (None, False))
        if finished:
            found[number] = Outcome(folder=folder, was_there=True)
            watch.report_end(number, found[number])
        else:
            waiting.append((number, folder))
    with children.stoppable():
        if cluster is None:
            found |= _Pool(jobs, root, at_once, watch).run(waiting)
        else:
            from tacit.runs.cluster_sweep import carry_out_on_cluster

            found |= carry_out_on_cluster(jobs, root, waiting, watch, cluster)
    return [found[number] for number in range(len(jobs))]


def _workers(at_once: int) -> int:
    return max(1, (os.cpu_count() or 1) // at_once)


def _find_runs(root: Path) -> dict[str, tuple[Path, bool]]:
    """Runs below a folder by the fingerprint of their plan, and whether each is finished; finished
    ones are preferred.
    """
    found: dict[str, tuple[Path, bool]] = {}
    for folder in sorted(root.iterdir()) if root.is_dir() else ():
        if folder.name.startswith(".") or not (folder / run_folder.PLAN).is_file():
            continue
        with contextlib.suppress(TacitError):  # ignore runs that are damaged or of other versions
            key = fingerprint_plan(run_folder.read_plan(folder))
            ends = record.select_entries(
                list(run_folder.entries(folder)), record.Finished, record.RUN
            )
            if key not in found or (ends and not found[key][1]):
                found[key] = folder, bool(ends)
    return found


class _Process:
    """A process that runs one plan after another, and a thread that forwards its messages."""

    def __init__(
        self, heard: queue.Queue[tuple[_Process, dict[str, Any] | None]], at_once: int
    ) -> None:
        places = {"PYTHONPATH": os.pathsep.join(part for part in sys.path if part)}
        environment = {**os.environ, **children.thread_limits(at_once), **places}
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", PROGRAM, str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )
        self._reader = threading.Thread(target=self._listen, args=(heard,), daemon=True)
        self._reader.start()
        self.number: int | None = None

    def ask(self, number: int, request: dict[str, Any]) -> None:
        """Send a plan to the process."""
        self.number = number
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it has ended, which the reader will report
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()

    def end(self) -> None:
        """Terminate it, even during a run; the run can be resumed after its last round."""
        self._process.terminate()

    def close(self) -> None:
        """Wait until it has ended, and kill it after a timeout."""
        try:
            self._process.wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join(_SECONDS_TO_END)
        for stream in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                if stream is not None:
                    stream.close()

    def _listen(self, heard: queue.Queue[tuple[_Process, dict[str, Any] | None]]) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with contextlib.suppress(ValueError):  # output of a library
                message = json.loads(line)
                if isinstance(message, dict):
                    heard.put((self, message))
        heard.put((self, None))


class _Pool:
    """Pool of processes, limited by `at_once` and by free memory."""

    def __init__(self, jobs: Sequence[Plan], root: Path, at_once: int, watch: Watch) -> None:
        self.jobs, self.root, self.at_once, self.watch = jobs, root, at_once, watch
        self.processes: list[_Process] = []
        self.largest = 0  # peak memory of the largest process so far, in bytes
        self.heard: queue.Queue[tuple[_Process, dict[str, Any] | None]] = queue.Queue()

    def run(self, waiting: list[tuple[int, Path | None]]) -> dict[int, Outcome]:
        """Run all jobs and return their outcomes by number."""
        found: dict[int, Outcome] = {}
        try:
            while waiting or self._busy():
                while waiting and (process := self._free()):
                    self._begin(process, *waiting.pop(0))
                process, message = self.heard.get()
                if message is None:  # the process died
                    self.processes.remove(process)
                    process.close()
                    message = {"error": _SILENT}
                if process.number is None:
                    continue
                if "warning" in message:
                    self.watch.report_warning(process.number, message["warning"])
                elif "round" in message:
                    self.largest = max(self.largest, message["peak"])
                    self.watch.report_round(process.number, message["round"], message["rounds"])
                else:
                    found[process.number] = outcome = _outcome(message)
                    self.watch.report_end(process.number, outcome)
                    process.number = None
            return found
        finally:
            for process in self.processes:
                process.end()
            for process in self.processes:
                process.close()

    def _busy(self) -> list[_Process]:
        return [process for process in self.processes if process.number is not None]

    def _free(self) -> _Process | None:
        """Find an idle process or start one if limits allow; None if a run must end first.

        The memory that a run takes is known after the first round of the first run; until then no
        other starts.
        """
        idle = next((process for process in self.processes if process.number is None), None)
        if idle or len(self.processes) >= self.at_once:
            return idle
        memory = _free_memory()
        if self.processes and (
            not self.largest or (memory is not None and memory < _ROOM * self.largest)
        ):
            return None
        self.processes.append(_Process(self.heard, self.at_once))
        return self.processes[-1]

    def _begin(self, process: _Process, number: int, folder: Path | None) -> None:
        place = str(folder) if folder else None
        process.ask(
            number, {"plan": plans.dump(self.jobs[number]), "root": str(self.root), "folder": place}
        )
        self.watch.report_start(number)


def _outcome(message: dict[str, Any]) -> Outcome:
    return (
        Outcome(folder=Path(message["done"]))
        if "done" in message
        else Outcome(error=str(message.get("error")))
    )


_SILENT = (
    "its process ended without a result: it was killed, the machine ran out of memory, or it"
    " crashed; run it alone with `tacit run --debug` for details, or with a smaller --jobs if"
    " memory is short"
)


def _free_memory() -> int | None:
    """Available memory in bytes; None if the system does not report it."""
    with contextlib.suppress(OSError, ValueError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return None
