"""The runs of coordinators at a server: whose each is, which process carries it on, and a copy of
its record.

The copy only grows: a coordinator adds to it, and nobody rewrites it. Auditors read it there.
"""

from __future__ import annotations

import hashlib
import threading
import time
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from tacit.errors import AccessError, PeerError, RunError
from tacit.files import replace_file

RUNS = "coordinated_runs"
"""Folder in the server's folder, with a folder per run."""
_FACTS, _RECORD, _PLAN = "run.json", "record.jsonl", "plan.toml"
MOST_RUNS, MOST_RUNS_OF_ONE = 10_000, 1_000
"""Most runs that a server keeps, of all coordinators and of one."""
MOST_OPENED_PER_MINUTE = 20
"""How often a coordinator may open runs; each one stays in Flower's database."""
LARGEST_RECORD, LARGEST_RECORDS_OF_ONE = 256 * 2**20, 2 * 2**30
"""Most bytes of one record, and of all records of one coordinator."""
RECORD_PART = 4 * 2**20
"""Most bytes of a record that one call reads or sends."""

RunName = Annotated[str, msgspec.Meta(pattern=r"\A[A-Za-z0-9][A-Za-z0-9_-]{0,199}\Z")]
RunState = Literal["open", "stopped", "interrupted", "finished"]


class CoordinatedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run that a coordinator opened from another machine: `task` is the hash of the token of the
    process that carries it on; times are UTC.
    """

    run: RunName
    coordinator: str
    opened: str
    changed: str
    state: RunState
    task: str = ""


class RunRegistry:
    """The runs of a server's folder. One process of the server uses it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / RUNS
        self._lock = threading.Lock()
        self._runs: dict[str, CoordinatedRun] = {}
        self._by_task: dict[str, str] = {}
        self._opened: dict[str, list[float]] = {}
        self._similar: dict[str, str] = {}
        self._lengths: dict[str, int] = {}
        for path in sorted(self._folder.glob(f"*/{_FACTS}")):
            try:
                one = msgspec.json.decode(path.read_bytes(), type=CoordinatedRun)
            except (OSError, msgspec.MsgspecError) as error:
                raise PeerError(
                    f"{path} cannot be read ({type(error).__name__}); restore it, or remove its folder"
                ) from None
            self._remember(one)

    def list(self) -> list[CoordinatedRun]:
        """All runs, the ones that changed last first."""
        with self._lock:
            return sorted(self._runs.values(), key=lambda one: one.changed, reverse=True)

    def check_owner(self, run: str, coordinator: str) -> None:
        """Raise AccessError if the run is known as that of another coordinator."""
        with self._lock:
            self._require_owner(run, coordinator)

    def require_capacity(self, run: str, coordinator: str) -> None:
        """Raise AccessError or RunError unless the coordinator may open the run now."""
        with self._lock:
            self._require_capacity(run, coordinator)
            moment = time.monotonic()
            recent = [one for one in self._opened.get(coordinator, []) if moment - one < 60.0]
            if len(recent) >= MOST_OPENED_PER_MINUTE:
                raise RunError(
                    f"{coordinator} opened {len(recent)} runs within a minute; wait a minute and"
                    " try again"
                )
            self._opened[coordinator] = [*recent, moment]

    def open(self, run: str, coordinator: str, plan: str, token: str) -> None:
        """Note that a process of the coordinator carries on a run under a token; an earlier process
        no longer does.
        """
        with self._lock:
            known, moment = self._require_capacity(run, coordinator), _get_time()
            if known is None:
                (self._folder / run).mkdir(parents=True, exist_ok=True, mode=0o700)
                replace_file(self._folder / run / _PLAN, plan.encode())
            self._store(
                CoordinatedRun(
                    run=run,
                    coordinator=coordinator,
                    opened=known.opened if known else moment,
                    changed=moment,
                    state="open",
                    task=hash_token(token),
                )
            )

    def find_task(self, token: str, coordinator: str) -> CoordinatedRun | None:
        """The run that a token carries on, if it is a run of this coordinator."""
        with self._lock:
            one = self._runs.get(self._by_task.get(hash_token(token), ""))
        return one if one is not None and one.coordinator == coordinator else None

    def change_state(self, run: str, coordinator: str, state: RunState, task: str = "") -> None:
        """Note that a run has ended, was interrupted or stopped: no process carries it on now.

        With the hash of a task only if that one carries it on.
        """
        with self._lock:
            known = self._require_known(run, coordinator)
            if task and known.task != task:
                return
            self._store(msgspec.structs.replace(known, state=state, changed=_get_time(), task=""))

    def describe_record(self, run: str) -> tuple[int, str]:
        """Length and SHA-256 of the copy of a record."""
        with self._lock:
            length = self._lengths.get(run, 0)
        digest, left = hashlib.sha256(), length
        if length:  # what is there already never changes
            with (self._folder / run / _RECORD).open("rb") as file:
                while left and (part := file.read(min(left, RECORD_PART))):
                    digest.update(part)
                    left -= len(part)
        return length - left, digest.hexdigest()

    def add_to_record(self, run: str, coordinator: str, offset: int, lines: bytes) -> int:
        """Add whole lines at the end of the copy; return its length. A part that is there already is
        not added again.
        """
        with self._lock:
            self._require_known(run, coordinator)
            path = self._folder / run / _RECORD
            size = self._lengths.get(run, 0)
            if offset > size or not lines.endswith(b"\n"):
                raise RunError(
                    f"run {run}: its record at the server has {size:,} bytes; whole lines must follow"
                    " there"
                )
            if size + len(lines) > LARGEST_RECORD:
                raise RunError(
                    f"run {run}: the server keeps at most {LARGEST_RECORD:,} bytes of it"
                )
            if self._measure_records(coordinator) + len(lines) > LARGEST_RECORDS_OF_ONE:
                raise RunError(
                    f"run {run}: the server keeps at most {LARGEST_RECORDS_OF_ONE:,} bytes of all"
                    f" records of {coordinator}; ask its operator to move old folders out of {RUNS}"
                )
            with path.open("a+b") as file:
                path.chmod(0o600)
                file.seek(offset)
                present = file.read(len(lines))
                if present != lines[: len(present)]:
                    raise RunError(
                        f"run {run}: the record differs from the copy at the server, which is never"
                        " rewritten; the run's folder is an older copy, or was changed"
                    )
                try:
                    file.write(lines[len(present) :])
                    file.flush()
                finally:
                    self._lengths[run] = path.stat().st_size
            return self._lengths[run]

    def read_record(self, run: str, offset: int) -> tuple[bytes, int, str]:
        """A part of the copy, its whole length, and the run's plan."""
        with self._lock:
            if run not in self._runs:
                raise RunError(f"run {run} is not known at the server")
            length = self._lengths.get(run, 0)
        plan, lines = (self._folder / run / _PLAN).read_text(encoding="utf-8"), b""
        if offset < length:
            with (self._folder / run / _RECORD).open("rb") as file:
                file.seek(offset)
                lines = file.read(min(RECORD_PART, length - offset))
        return lines, length, plan

    def _require_capacity(self, run: str, coordinator: str) -> CoordinatedRun | None:
        known = self._require_owner(run, coordinator)
        if known is not None:
            return known
        similar = self._similar.get(run.casefold())
        if similar is not None:
            raise RunError(
                f"run {run}: the server has a run {similar}, and the names differ in upper and lower"
                " case only; choose another name"
            )
        own = sum(one.coordinator == coordinator for one in self._runs.values())
        for count, most, whose in (
            (len(self._runs), MOST_RUNS, ""),
            (own, MOST_RUNS_OF_ONE, f" of {coordinator}"),
        ):
            if count >= most:
                raise RunError(
                    f"the server keeps at most {most:,} runs{whose}; ask its operator to move old"
                    f" folders out of {RUNS}, and to restart the server"
                )
        return None

    def _measure_records(self, coordinator: str) -> int:
        """Bytes of all records of a coordinator."""
        return sum(
            length
            for run, length in self._lengths.items()
            if self._runs[run].coordinator == coordinator
        )

    def _require_owner(self, run: str, coordinator: str) -> CoordinatedRun | None:
        known = self._runs.get(run)
        if known is not None and known.coordinator != coordinator:
            raise AccessError(f"run {run} is a run of another coordinator")
        return known

    def _require_known(self, run: str, coordinator: str) -> CoordinatedRun:
        known = self._require_owner(run, coordinator)
        if known is None:
            raise RunError(f"run {run} is not known at the server")
        return known

    def _store(self, one: CoordinatedRun) -> None:
        replace_file(self._folder / one.run / _FACTS, msgspec.json.encode(one))
        self._remember(one)

    def _remember(self, one: CoordinatedRun) -> None:
        before = self._runs.get(one.run)
        if before is not None:
            self._by_task.pop(before.task, None)
        self._runs[one.run] = one
        if before is None:
            self._similar[one.run.casefold()] = one.run
            path = self._folder / one.run / _RECORD
            self._lengths[one.run] = path.stat().st_size if path.exists() else 0
        if one.task:
            self._by_task[one.task] = one.run


def hash_token(token: str) -> str:
    """What is stored of the token of a task."""
    return hashlib.sha256(token.encode()).hexdigest()


def _get_time() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
