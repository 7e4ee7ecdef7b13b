"""Runs side by side on a cluster: each actor runs one plan for a while, then returns the run's folder.

The driver writes every folder that comes back, so a stopped search continues from there, and a lost actor
costs the work since its last return.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from tacit import plan as plans
from tacit.cluster.crew import ActorTask, Crew
from tacit.cluster.packet import Blob, Packet
from tacit.cluster.session import connect
from tacit.errors import PlanError, RunError, WireError
from tacit.files import UNFINISHED, replace_file
from tacit.plan import Plan
from tacit.runs import checkpoint, record, run_folder
from tacit.runs.sweep import PROGRAM, Outcome, Watch
from tacit.simulation.workers import children

ANSWERER, RUN = "tacit.runs.cluster_sweep:RunAnswerer", "run"
SECONDS = 60.0
"""Seconds after which an actor returns a run at its next checkpoint."""
_POLL, _SECONDS_TO_END = 0.2, 60.0


class RunSlice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A run's folder, whose files follow, and the seconds for which it may run."""

    folder: str
    files: list[str]
    seconds: float


class ReturnedRun(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What became of it: its files follow. An empty error and not done: it is to be continued."""

    is_done: bool
    error: str
    files: list[str]


class RunAnswerer:
    """Continues runs in a process of its own, since an actor must not fork; runs in an actor."""

    def answer(self, kind: str, own: Packet, shared: Packet) -> Packet:
        """Continue one run for a while."""
        asked = _decode(own.body, RunSlice)
        with tempfile.TemporaryDirectory(prefix="tacit-actor-") as scratch:
            folder = Path(scratch) / asked.folder
            _write_files(folder, asked.files, own.blobs)
            is_done, error = _continue_run(folder, asked.seconds)
            names, blobs = _read_files(folder)
        return Packet(msgspec.msgpack.encode(ReturnedRun(is_done, error, names)), blobs)


def _continue_run(folder: Path, seconds: float) -> tuple[bool, str]:
    """Run until it ends, or until the first checkpoint after some seconds."""
    places = {"PYTHONPATH": os.pathsep.join(part for part in sys.path if part)}
    request = {"plan": plans.dump(run_folder.read_plan(folder)), "root": str(folder.parent)}
    with (folder.parent / "said").open("w+", encoding="utf-8") as said:
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", PROGRAM, str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=said,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, **children.thread_limits(os.cpu_count() or 1), **places},
        )
        try:
            assert process.stdin is not None
            process.stdin.write(json.dumps({**request, "folder": str(folder)}) + "\n")
            process.stdin.close()
            _wait(process, folder / checkpoint.NAME, seconds)
        finally:
            process.terminate()
            try:
                process.wait(_SECONDS_TO_END)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        said.seek(0)
        return _read_outcome(said.read(), process.returncode)


def _wait(process: subprocess.Popen[str], saved: Path, seconds: float) -> None:
    """Wait for the end of a process, or for a new checkpoint after some seconds."""
    begun, before = time.monotonic(), _find_time(saved)
    while process.poll() is None:
        if time.monotonic() - begun > seconds and _find_time(saved) != before:
            return
        time.sleep(_POLL)


def _find_time(saved: Path) -> int:
    return saved.stat().st_mtime_ns if saved.exists() else 0


def _read_outcome(said: str, code: int) -> tuple[bool, str]:
    """Whether the run is done, and its error, from what its process said and how it ended."""
    for line in reversed(said.splitlines()):
        with contextlib.suppress(ValueError):  # output of a library
            message: Any = json.loads(line)
            if isinstance(message, dict) and "done" in message:
                return True, ""
            if isinstance(message, dict) and "error" in message:
                return False, str(message["error"])
    stopped = code in (0, -15)
    return False, "" if stopped else "its process ended without a result; run it alone for details"


def carry_out_on_cluster(
    jobs: Sequence[Plan],
    root: Path,
    waiting: list[tuple[int, Path | None]],
    watch: Watch,
    address: str,
) -> dict[int, Outcome]:
    """Run all waiting jobs on a cluster, and return their outcomes by number."""
    if any(job.track is not None for job in jobs):
        raise PlanError(
            "track: trackers cannot write from a cluster; remove the table, and write the figures"
            " afterwards with `tacit export-metrics`"
        )
    if not waiting:
        return {}
    with connect(address) as cores, contextlib.ExitStack() as locks:
        crew = Crew(min(cores, len(waiting)), ANSWERER)
        locks.callback(crew.close)
        folders = [folder or run_folder.create(jobs[number], root) for number, folder in waiting]
        for folder in folders:
            locks.enter_context(run_folder.lock(folder))
        numbers = [number for number, _ in waiting]
        for number in numbers:
            watch.report_start(number)
        return _run_slices(crew, folders, numbers, watch)


def _run_slices(
    crew: Crew, folders: list[Path], numbers: list[int], watch: Watch
) -> dict[int, Outcome]:
    """Give each run to actors until it ends; a run that comes back is given out again."""
    tasks = [ActorTask(place, _build_slice(folder)) for place, folder in enumerate(folders)]
    runs, found = list(range(len(folders))), dict[int, Outcome]()
    for one in crew.carry_out(RUN, tasks, crew.store(Packet(b"")), repeats_slow=False):
        run, progress = runs[one.task], _decode(one.answer.body, ReturnedRun)
        folder, number = folders[run], numbers[run]
        _write_files(folder, progress.files, one.answer.blobs)
        if progress.is_done or progress.error:
            found[number] = (
                Outcome(folder=folder) if progress.is_done else Outcome(error=progress.error)
            )
            watch.report_end(number, found[number])
            continue
        _report_rounds(folder, number, watch)
        tasks.append(ActorTask(one.actor, _build_slice(folder)))
        runs.append(run)
    return found


def _report_rounds(folder: Path, number: int, watch: Watch) -> None:
    rounds = record.select_entries(list(run_folder.entries(folder)), record.Round, record.RUN)
    if rounds:
        watch.report_round(number, rounds[-1].round_no, rounds[-1].rounds)


def _build_slice(folder: Path) -> Callable[[int], Packet]:
    return partial(_pack_slice, folder)


def _pack_slice(folder: Path, actor: int) -> Packet:
    names, blobs = _read_files(folder)
    body = msgspec.msgpack.encode(RunSlice(folder.name, names, SECONDS))
    return Packet(body, blobs)


def _read_files(folder: Path) -> tuple[list[str], list[Blob]]:
    """The files of a run's folder, without its lock and without unfinished ones."""
    paths = sorted(
        path
        for path in folder.rglob("*")
        if path.is_file() and path.name != run_folder.LOCK and not path.name.endswith(UNFINISHED)
    )
    return (
        [str(path.relative_to(folder)) for path in paths],
        [np.frombuffer(path.read_bytes(), np.uint8) for path in paths],
    )


def _write_files(folder: Path, names: Sequence[str], blobs: Sequence[Blob]) -> None:
    """Make a folder have these files: the record first, the checkpoint that covers it last."""
    if len(names) != len(blobs) or any(
        Path(name).is_absolute() or ".." in Path(name).parts for name in names
    ):
        raise WireError("packet refused: its files are not those of a run's folder")
    files = dict(zip(names, blobs, strict=True))
    for name in sorted(
        files, key=lambda name: (name != run_folder.RECORD, name == checkpoint.NAME)
    ):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not path.exists() or path.read_bytes() != files[name].tobytes():
            replace_file(path, files[name].tobytes())
    for name in set(_read_files(folder)[0]) - set(files):
        (folder / name).unlink()


def _decode(content: bytes, kind: type[Any]) -> Any:
    try:
        return msgspec.msgpack.decode(content, type=kind)
    except msgspec.MsgspecError as error:
        raise RunError(
            f"packet of the cluster refused: {error}; use one version of Tacit"
        ) from None
