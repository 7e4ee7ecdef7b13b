"""The process that works on a run: found by the lock file that it holds open."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from tacit.errors import RunError
from tacit.runs.run_folder import LOCK
from tacit.ui.records.safe_files import read_text_inside

_PROCESSES = Path("/proc")


def read_worker(runs: Path, name: str) -> int | None:
    """The process id in a run's lock file; None if there is none."""
    text = read_text_inside(runs, name, LOCK).strip()
    return int(text) if text.isdecimal() and len(text) < 10 else None


def stop_worker(runs: Path, name: str) -> None:
    """Interrupt the process that works on a run, as Ctrl-C does; raise RunError if there is none.

    Guarantees: a process is interrupted only if it has the lock file of the run open, so that a
    wrong number in that file stops nothing else.
    """
    process = read_worker(runs, name)
    if process is None:
        raise RunError(f"{name}: no process works on this run")
    try:
        handle = os.pidfd_open(process)
    except (OSError, AttributeError) as error:
        raise RunError(f"{name}: its process cannot be reached; stop it where it runs") from error
    try:
        if not _has_open(process, runs / name / LOCK):
            raise RunError(f"{name}: process {process} does not work on this run")
        signal.pidfd_send_signal(handle, signal.SIGINT)
    except OSError as error:
        raise RunError(f"{name}: its process cannot be stopped ({error.strerror})") from error
    finally:
        os.close(handle)


def _has_open(process: int, path: Path) -> bool:
    try:
        wanted = os.stat(path, follow_symlinks=False)
        for link in (_PROCESSES / str(process) / "fd").iterdir():
            facts = os.stat(link)
            if (facts.st_dev, facts.st_ino) == (wanted.st_dev, wanted.st_ino):
                return True
    except OSError:
        return False
    return False
