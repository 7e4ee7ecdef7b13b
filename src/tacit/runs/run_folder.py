"""A run's folder: created atomically, written by one process at a time, and validated when read."""

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
"""Rows that were sent to the server."""
PRIVATE = "private"
"""State that stays with the simulated clients; it does not exist in a deployment."""
NEGOTIATED = "negotiated"
"""At a site: what the sites of the run agreed on. A model that needs it to read rows has a copy."""
_SECONDS_TO_WAIT = 0.3
"""Time to wait for the lock, which `is_running` holds for a moment."""


def create(plan: Plan, root: Path) -> Path:
    """Create a folder `<root>/<name>-<n>` with the plan and the key of the record, accessible to its
    owner only.

    n counts up from 1.
    """
    try:
        root.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=".new-", dir=root))
    except OSError as error:
        raise _build_error(root, error) from None
    try:
        replace_file(fresh / PLAN, plans.to_toml(plan).encode())
        make_key(fresh, RECORD_KEY)
        folder = _rename_numbered(
            fresh,
            root,
            "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in plan.name),
        )
    except OSError as error:
        remove(fresh)
        raise _build_error(root, error) from None
    sync_folder(root)
    return folder


def _build_error(root: Path, error: OSError) -> DiskError:
    return DiskError(
        f"{root}: cannot create a folder for the run there ({error.strerror}); name another place"
        " with --runs DIR"
    )


def _rename_numbered(fresh: Path, root: Path, stem: str) -> Path:
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
    """Remove the folder of a run that never began."""
    shutil.rmtree(folder, ignore_errors=True)


def read_plan(folder: Path) -> Plan:
    """Read the resolved plan with which a run was started."""
    if not (folder / PLAN).exists():
        raise RunError(f"{folder}: contains no run (no {PLAN}); `tacit runs` lists existing runs")
    return plans.load(folder / PLAN)


def write_model(
    folder: Path, learner: Learner, model: Vector, facts: dict[str, Any]
) -> record.Stored:
    """Store the final model as safetensors, with a JSON file for rebuilding it; return their hashes
    for the record.
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
    """Raise RunError if a model or its facts do not match the hashes in the record, if there is
    one.
    """
    if not (folder / RECORD).exists():
        return
    found, remedy = list(entries(folder)), "restore the file, or run again"
    hashes = {
        name: digest
        for stored in record.select_entries(found, record.Stored)
        for name, digest in stored.sha256.items()
    }
    ends = record.select_entries(found, record.Finished, record.RUN)
    if MODEL in hashes:
        known = bool(ends) and hash_file(folder / MODEL) == hashes[MODEL]
    else:
        known = (
            bool(ends) and hashlib.sha256(model.tobytes()).hexdigest() == ends[-1].parameters_sha256
        )
    if not known:
        raise RunError(f"{folder / MODEL}: does not match its hash in the record; {remedy}")
    facts = folder / MODEL_FACTS
    if MODEL_FACTS in hashes and hash_file(facts) != hashes[MODEL_FACTS]:
        raise RunError(f"{facts}: does not match its hash in the record; {remedy}")


def hash_file(path: Path) -> str:
    """SHA-256 of a file, as `sha256sum` prints it."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def entries(folder: Path, wanted: record.Wanted | None = None) -> Iterator[record.Entry]:
    """Read the entries of a run's record, optionally only those `wanted`; raise RunError if it is
    damaged.

    A run that was killed before its first entry has none.
    """
    path = folder / RECORD
    covered = checkpoint.count_covered_bytes(folder)
    return (
        record.read(path, at_least=covered, wanted=wanted) if path.exists() or covered else iter(())
    )


def add(folder: Path, entry: record.Entry) -> None:
    """Append an entry to the record of a finished run, such as the results of an audit."""
    with lock(folder):
        record.add(folder / RECORD, entry)


def refuse_links(folder: Path) -> None:
    """Raise RunError if a run's folder contains a symbolic link, through which files elsewhere could
    be overwritten.
    """
    for inside, folders, files in os.walk(folder):
        for name in (*folders, *files):
            if Path(inside, name).is_symlink():
                raise RunError(
                    f"{Path(inside, name)}: is a symbolic link, which a run's folder must not"
                    " contain; remove it"
                )


def remove_unfinished(folder: Path) -> None:
    """Remove files that a kill left half written."""
    for path in folder.rglob(f".*{UNFINISHED}"):
        path.unlink(missing_ok=True)


@contextmanager
def lock(folder: Path) -> Iterator[None]:
    """Lock a run's folder for this process; raise RunError if another process has locked it."""
    handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        _acquire(handle, folder)
        _locks.add(handle)
        os.truncate(handle, 0)
        os.write(handle, f"{os.getpid()}\n".encode())
        yield
        os.truncate(handle, 0)
    finally:
        _locks.discard(handle)
        os.close(handle)


def is_running(folder: Path) -> bool:
    """Whether a process currently works in a run's folder."""
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


def _acquire(handle: int, folder: Path) -> None:
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


_locks: set[int] = set()
"""Locks of this process. A forked child closes them, so that workers of a killed process do not keep
its run locked.
"""


def _close_locks() -> None:
    for handle in _locks:
        os.close(handle)
    _locks.clear()


os.register_at_fork(after_in_child=_close_locks)
