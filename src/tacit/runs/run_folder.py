"""A run's folder: made whole or not at all, written by one process at a time, and read with
suspicion.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import itertools
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors.numpy import save

from tacit import plan as plans
from tacit.errors import DiskError, RunError
from tacit.files import UNFINISHED, replace_file, sync_folder
from tacit.plan import Plan
from tacit.rows import Vector
from tacit.runs import checkpoint, record
from tacit.runs.run_keys import RECORD_KEY, make_key

if TYPE_CHECKING:
    from tacit.training import Learner

PLAN, RECORD, MODEL, MODEL_FACTS, LOCK = (
    "plan.toml",
    "record.jsonl",
    "model.safetensors",
    "model.json",
    "lock",
)
DISCLOSED = "disclosed_rows.parquet"
"""Rows that the server was sent."""
PRIVATE = "private"
"""What stays with the simulated clients; in deployment each client has its own and this folder does
not exist.
"""
_SECONDS_TO_WAIT = 0.3
"""How long to try for the lock: whoever asks `is_running` holds it for a moment."""


def create(plan: Plan, root: Path) -> Path:
    """Return a new folder `<root>/<name>-<n>` that holds its plan and the key of its record; only
    its owner may enter.

    n counts up from 1.
    """
    try:
        root.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=".new-", dir=root))
    except OSError as error:
        raise _no_place(root, error) from None
    try:
        replace_file(fresh / PLAN, plans.to_toml(plan).encode())
        make_key(fresh, RECORD_KEY)
        folder = _numbered(
            fresh,
            root,
            "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in plan.name),
        )
    except OSError as error:
        remove(fresh)
        raise _no_place(root, error) from None
    sync_folder(root)
    return folder


def _no_place(root: Path, error: OSError) -> DiskError:
    return DiskError(
        f"{root}: no folder for the run can be made there ({error.strerror}); --runs DIR names"
        " another"
    )


def _numbered(fresh: Path, root: Path, stem: str) -> Path:
    for number in itertools.count(1):
        folder = root / f"{stem}-{number}"
        if folder.exists():
            continue
        try:
            fresh.rename(folder)
        except OSError as error:
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
                raise
            continue  # another run took this number in the meantime
        return folder
    raise AssertionError


def remove(folder: Path) -> None:
    """Remove a run that never began."""
    shutil.rmtree(folder, ignore_errors=True)


def read_plan(folder: Path) -> Plan:
    """Return the resolved plan a run was started with."""
    if not (folder / PLAN).exists():
        raise RunError(f"{folder}: holds no run (no {PLAN}); `tacit runs` lists the runs there are")
    return plans.load(folder / PLAN)


def write_model(
    folder: Path, learner: Learner, model: Vector, facts: dict[str, Any]
) -> record.Stored:
    """Store the final model as safetensors, with a JSON file saying how to rebuild it; return their
    hashes for the record.
    """
    files = {
        MODEL: save(learner.tensors(model)),
        MODEL_FACTS: json.dumps(facts, indent=2).encode() + b"\n",
    }
    for name, content in files.items():
        replace_file(folder / name, content)
    return record.Stored(
        sha256={name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    )


def check_model(folder: Path, model: Vector) -> None:
    """Raise RunError if a model or the facts beside it are not those a run's record names; without
    a record nothing is named.
    """
    if not (folder / RECORD).exists():
        return
    found = list(entries(folder))
    ends, remedy = (
        record.select_entries(found, record.Finished, record.RUN),
        "put the right file back, or run again",
    )
    if not ends or hashlib.sha256(model.tobytes()).hexdigest() != ends[-1].parameters_sha256:
        raise RunError(f"{folder / MODEL}: is not the model the record names; {remedy}")
    told = {
        name: digest
        for stored in record.select_entries(found, record.Stored)
        for name, digest in stored.sha256.items()
    }
    facts = folder / MODEL_FACTS
    if MODEL_FACTS in told and hashlib.sha256(facts.read_bytes()).hexdigest() != told[MODEL_FACTS]:
        raise RunError(f"{facts}: is not the file the record names; {remedy}")


def entries(folder: Path, wanted: record.Wanted | None = None) -> Iterator[record.Entry]:
    """Return the entries of a run's record, or those that are wanted; raise RunError if it is
    damaged.

    A run that was killed before its first entry has none.
    """
    path = folder / RECORD
    covered = checkpoint.count_covered_bytes(folder)
    return (
        record.read(path, at_least=covered, wanted=wanted) if path.exists() or covered else iter(())
    )


def add(folder: Path, entry: record.Entry) -> None:
    """Append an entry to the record of a run that has ended, such as what an audit found."""
    with lock(folder):
        record.add(folder / RECORD, entry)


def refuse_links(folder: Path) -> None:
    """Raise RunError if there is a symbolic link in a run's folder: what is written or cleared
    could lie elsewhere.
    """
    for inside, folders, files in os.walk(folder):
        for name in (*folders, *files):
            if Path(inside, name).is_symlink():
                raise RunError(
                    f"{Path(inside, name)}: is a symbolic link, and a run's folder may hold none;"
                    " remove it"
                )


def remove_unfinished(folder: Path) -> None:
    """Remove files that a kill left half written."""
    for path in folder.rglob(f".*{UNFINISHED}"):
        path.unlink(missing_ok=True)


@contextmanager
def lock(folder: Path) -> Iterator[None]:
    """Hold a run's folder for this process; raise RunError if another process holds it."""
    handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        _take(handle, folder)
        _held.add(handle)
        os.truncate(handle, 0)
        os.write(handle, f"{os.getpid()}\n".encode())
        yield
        os.truncate(handle, 0)
    finally:
        _held.discard(handle)
        os.close(handle)


def is_running(folder: Path) -> bool:
    """Return whether some process is working in a run's folder right now."""
    try:
        handle = os.open(folder / LOCK, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def _take(handle: int, folder: Path) -> None:
    end = time.monotonic() + _SECONDS_TO_WAIT
    while True:
        try:
            return fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > end:
                holder = os.pread(handle, 20, 0).decode(errors="replace").strip()
                raise RunError(
                    f"{folder}: is being run by another process (pid {holder}); wait for it or"
                    " stop it"
                ) from None
            time.sleep(0.01)


_held: set[int] = set()
"""Locks of this process. A forked child lets go of them: a run whose process was killed is not held
by its workers.
"""


def _let_go() -> None:
    for handle in _held:
        os.close(handle)
    _held.clear()


os.register_at_fork(after_in_child=_let_go)
