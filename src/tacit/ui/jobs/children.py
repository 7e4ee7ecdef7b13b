"""Child processes of the pages: bounded in number, their output in temporary files.

A run that a page started goes on when the pages stop.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import IO, Any, Literal

from tacit.errors import PlanError
from tacit.printable import printable
from tacit.ui.jobs.commands import show_command

MAX_RUNNING = 4
_MAX_KEPT = 30
_MAX_OUTPUT = 8 << 20
_TAIL = 4096
# A process started in the background ignores SIGINT, and so would its children.
_PROGRAM = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler);"
    " from tacit.cli import main; main()"
)

JobKind = Literal["run", "resume", "audit", "disclose"]


@dataclass(kw_only=True)
class ChildJob:
    """A command that a page started."""

    number: int
    kind: JobKind
    about: str
    """The plan or run that the command is about."""
    command: tuple[str, ...]
    process: subprocess.Popen[bytes]
    output: IO[bytes]
    messages: IO[bytes]
    since: float = field(default_factory=time.time)
    _result: dict[str, Any] | None = None

    @property
    def shown(self) -> str:
        """The command as one types it."""
        return show_command(self.command)

    @property
    def code(self) -> int | None:
        """Exit code; None while it runs."""
        return self.process.poll()

    @property
    def state(self) -> str:
        """Whether it runs, or how it ended."""
        match self.code:
            case None:
                return "running"
            case 0:
                return "done"
            case 130 | -2:
                return "stopped"
            case code:
                return f"failed, exit code {code}"

    def read_messages(self) -> str:
        """The end of what the command wrote to stderr."""
        handle = self.messages.fileno()
        size = os.fstat(handle).st_size
        text = os.pread(handle, _TAIL, max(0, size - _TAIL)).decode("utf-8", "replace")
        return printable(text).strip()

    def read_result(self) -> dict[str, Any] | None:
        """The JSON object that the command printed, once it has ended."""
        if self._result is None and self.code is not None:
            handle = self.output.fileno()
            if os.fstat(handle).st_size <= _MAX_OUTPUT:
                try:
                    found = json.loads(os.pread(handle, _MAX_OUTPUT, 0))
                except ValueError:
                    found = None
                self._result = found if isinstance(found, dict) else None
        return self._result

    def close(self) -> None:
        """Close its files."""
        self.output.close()
        self.messages.close()


class ChildJobs:
    """All jobs of an application, newest first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._jobs: list[ChildJob] = []
        self._count = 0

    def list_jobs(self) -> list[ChildJob]:
        """All known jobs, newest first."""
        return list(self._jobs)

    def find_latest(self, kind: JobKind, about: str) -> ChildJob | None:
        """The newest job of a kind about a plan or run."""
        return next((one for one in self._jobs if (one.kind, one.about) == (kind, about)), None)

    def start(self, kind: JobKind, about: str, command: Sequence[str]) -> ChildJob:
        """Start a command; raise PlanError if too many run already."""
        with self._lock:
            same = self.find_latest(kind, about)
            if kind != "run" and same is not None and same.code is None:
                return same
            if sum(one.code is None for one in self._jobs) >= MAX_RUNNING:
                raise PlanError(
                    f"{MAX_RUNNING} commands that these pages started are running; wait for one, or"
                    " stop one"
                )
            self._count += 1
            job = _start(self._count, kind, about, command)
            self._jobs.insert(0, job)
            self._forget()
            return job

    def stop_all(self) -> None:
        """Stop everything but runs, which go on."""
        for job in self._jobs:
            if job.kind in ("audit", "disclose") and job.code is None:
                job.process.terminate()

    def _forget(self) -> None:
        ended = [one for one in self._jobs[_MAX_KEPT:] if one.code is not None]
        for job in ended:
            job.close()
            self._jobs.remove(job)


def _start(number: int, kind: JobKind, about: str, command: Sequence[str]) -> ChildJob:
    # Both stay open as long as the job is known.
    output, messages = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", _PROGRAM, *command[1:]],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=messages,
        start_new_session=True,
    )
    return ChildJob(
        number=number,
        kind=kind,
        about=about,
        command=tuple(command),
        process=process,
        output=output,
        messages=messages,
    )
