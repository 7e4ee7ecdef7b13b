"""Keys in a run's folder: kept while the run can be resumed, and deleted when it ends, fails to begin
or is abandoned.

Deleting unlinks the file and syncs its folder. The bytes may remain on the medium, in copies and in
snapshots; overwriting first would not change that on journalling file systems and solid-state disks.
Use an encrypted disk against this.
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
"""Root of the server's randomness in a deployment: cohorts, the initial model, and server noise."""
_BYTES = 32


def make_key(folder: Path, name: str) -> bytes:
    """Create a random key in a file that only its owner can read, and return it."""
    key = os.urandom(_BYTES)
    replace_file(folder / name, key)
    return key


def read_key(folder: Path, name: str) -> bytes:
    """Read a key; raise RunError if it is missing or damaged."""
    path = folder / name
    key = path.read_bytes() if path.exists() else b""
    if len(key) != _BYTES:
        what = f"must have {_BYTES} bytes, got {len(key)}" if key else "is missing"
        raise RunError(
            f"{path}: {what}; without it the run cannot be resumed; start the plan as a new run"
        )
    return key


def read_record_key(folder: Path) -> Ed25519PrivateKey:
    """Read the key that signs a run's record."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.from_private_bytes(read_key(folder, RECORD_KEY))


def delete_keys(folder: Path) -> list[str]:
    """Delete the keys of a run, including partially written ones, and return their names."""
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
    """List the keys that are still in a run's folder."""
    return [name for name in (RECORD_KEY, ROOT) if (folder / name).exists()]
