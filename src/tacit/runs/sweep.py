"""Many runs in processes of their own, a few at once: each is a run like any other, and one that is
there is not run again.
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

_PROGRAM = "from tacit.runs.sweep_run import main; main()"
_SECONDS_TO_END = 20.0
_ROOM = 1.2
"""How many times the memory of the largest run so far must be free before another begins beside it.
"""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of one plan: the folder of its finished run, or the sentence that says why there
    is none.
    """

    folder: Path | None = None
    error: str = ""
    was_there: bool = False


class Watch(Protocol):
    """Hears how far a sweep has come; plans are told by their number."""

    def report_start(self, number: int) -> None:
        """A run has begun, or was taken up."""

    def report_round(self, number: int, round_no: int, rounds: int) -> None:
        """A round is done."""

    def report_end(self, number: int, outcome: Outcome) -> None:
        """A run is there, or failed."""


def carry_out(wanted: Sequence[Plan], root: Path, at_once: int, watch: Watch) -> list[Outcome]:
    """Return what became of each plan, in order; their runs lie below `root`, without baselines.

    A finished run of the same plan counts, whoever started it; one that was stopped is taken up. A
    run that fails is told, and the others go on. A stop ends all processes and loses what each did
    since its last round.
    """
    runs = _known(root)
    workers = Engine(workers=_workers(at_once))
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
        found |= _Pool(jobs, root, at_once, watch).run(waiting)
    return [found[number] for number in range(len(jobs))]


def _workers(at_once: int) -> int:
    return max(1, (os.cpu_count() or 1) // at_once)


def _known(root: Path) -> dict[str, tuple[Path, bool]]:
    """Return the runs below a folder by what their plans compute, and whether each is finished; a
    finished one is preferred.
    """
    found: dict[str, tuple[Path, bool]] = {}
    for folder in sorted(root.iterdir()) if root.is_dir() else ():
        if folder.name.startswith(".") or not (folder / run_folder.PLAN).is_file():
            continue
        with contextlib.suppress(
            TacitError
        ):  # of another version, or damaged: it counts for nothing
            key = fingerprint_plan(run_folder.read_plan(folder))
            ends = record.select_entries(
                list(run_folder.entries(folder)), record.Finished, record.RUN
            )
            if key not in found or (ends and not found[key][1]):
                found[key] = folder, bool(ends)
    return found


class _Process:
    """A process that runs one plan after the other, and a thread that passes on what it tells."""

    def __init__(
        self, heard: queue.Queue[tuple[_Process, dict[str, Any] | None]], at_once: int
    ) -> None:
        places = {"PYTHONPATH": os.pathsep.join(part for part in sys.path if part)}
        environment = {**os.environ, **children.thread_limits(at_once), **places}
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _PROGRAM, str(os.getpid())],
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
        """Have a plan run."""
        self.number = number
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it is gone, and its end will be heard
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()

    def end(self) -> None:
        """Ask it to end, in the middle of a run if need be; the run can be taken up after its last
        round.
        """
        self._process.terminate()

    def close(self) -> None:
        """Wait until it has ended."""
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
            with contextlib.suppress(ValueError):  # what a library printed
                told = json.loads(line)
                if isinstance(told, dict):
                    heard.put((self, told))
        heard.put((self, None))


class _Pool:
    """Runs in processes, as many at once as are allowed and memory has room for."""

    def __init__(self, jobs: Sequence[Plan], root: Path, at_once: int, watch: Watch) -> None:
        self.jobs, self.root, self.at_once, self.watch = jobs, root, at_once, watch
        self.processes: list[_Process] = []
        self.largest = 0  # bytes the largest process has taken so far
        self.heard: queue.Queue[tuple[_Process, dict[str, Any] | None]] = queue.Queue()

    def run(self, waiting: list[tuple[int, Path | None]]) -> dict[int, Outcome]:
        """Return the outcome of each job by its number."""
        found: dict[int, Outcome] = {}
        try:
            while waiting or self._busy():
                while waiting and (process := self._free()):
                    self._begin(process, *waiting.pop(0))
                process, told = self.heard.get()
                if told is None:  # it died
                    self.processes.remove(process)
                    process.close()
                    told = {"error": _SILENT}
                if process.number is None:
                    continue
                if "round" in told:
                    self.largest = max(self.largest, told["peak"])
                    self.watch.report_round(process.number, told["round"], told["rounds"])
                else:
                    found[process.number] = outcome = _outcome(told)
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
        """Return a process without a run, a new one if there is room for it; None if some run must
        end first.

        The first run shows what memory one takes. Until it has seen a round, none begins beside it.
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


def _outcome(told: dict[str, Any]) -> Outcome:
    return (
        Outcome(folder=Path(told["done"]))
        if "done" in told
        else Outcome(error=str(told.get("error")))
    )


_SILENT = (
    "its process ended without an answer: it was killed, the machine ran out of memory, or it"
    " failed inside; run it alone with `tacit run --debug` to see more, or with a smaller --jobs"
    " if memory is short"
)


def _free_memory() -> int | None:
    """Return how many bytes of memory new processes may take; None where the system does
    not say.
    """
    with contextlib.suppress(OSError, ValueError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return None
