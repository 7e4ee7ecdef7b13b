"""Keys in a run's folder. They are there while the run can still go on, and deleted when it ends,
fails to begin or is abandoned.

A file is unlinked and its folder synced. Its bytes may stay on the medium until they are
overwritten, and in copies and snapshots: writing over a file first would promise more than journals
and solid-state disks keep. A disk that is encrypted covers that.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from tacit.errors import RunError
from tacit.files import UNFINISHED, replace_file, sync_folder

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

RECORD_KEY = "record.key"
"""Signs the record."""
ROOT = "root.key"
"""The root of a server's own randomness in a run between sites: cohorts, the first model, noise
that the server adds.
"""
_BYTES = 32


def make_key(folder: Path, name: str) -> bytes:
    """Return a new key from the operating system, kept in a file that only its owner can read."""
    key = os.urandom(_BYTES)
    replace_file(folder / name, key)
    return key


def read_key(folder: Path, name: str) -> bytes:
    """Return a key that was kept; raise RunError if it is missing or damaged."""
    path = folder / name
    key = path.read_bytes() if path.exists() else b""
    if len(key) != _BYTES:
        what = f"must have {_BYTES} bytes, got {len(key)}" if key else "is missing"
        raise RunError(
            f"{path}: {what}; without it the run cannot go on: start the plan as a new run"
        )
    return key


def read_record_key(folder: Path) -> Ed25519PrivateKey:
    """Return the key that signs a run's record."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.from_private_bytes(read_key(folder, RECORD_KEY))


def delete_keys(folder: Path) -> list[str]:
    """Delete the keys of a run, also those that a kill left half written; return the names of those
    that were there.
    """
    files = [
        path
        for name in (RECORD_KEY, ROOT)
        for path in (folder / name, *folder.glob(f".{name}.*{UNFINISHED}"))
        if path.exists()
    ]
    for path in files:
        path.unlink(missing_ok=True)
    if files:
        sync_folder(folder)
    return [path.name for path in files]


def list_keys(folder: Path) -> list[str]:
    """Return the names of the keys that are still in a run's folder."""
    return [name for name in (RECORD_KEY, ROOT) if (folder / name).exists()]
