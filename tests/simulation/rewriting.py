"""A record written anew by somebody with access to the folder, checksums and checkpoint included."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit.runs import checkpoint, record
from tacit.runs.run_folder import RECORD

Change = Callable[[list[record.Entry]], list[record.Entry]]


def rewrite(folder: Path, change: Change = list, key: Ed25519PrivateKey | None = None) -> None:
    """Write a run's record anew, with other entries; signed with a key, or with the signatures as they were."""
    entries = change([entry for _, entry in record.read_lines(folder / RECORD)])
    (folder / RECORD).unlink()
    writer = record.Writer(folder / RECORD, None, key)
    for entry in entries:
        if isinstance(entry, record.Signed) and key:
            writer.sign()
        elif isinstance(entry, record.Started) and key:
            writer.append(replace(entry, key=writer.key))
        else:
            writer.append(entry)
    mark = writer.sync()
    writer.close()
    checkpoint.write(folder, replace(checkpoint.read(folder), mark=mark))
