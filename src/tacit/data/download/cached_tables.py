"""Cached tables with checksums in separate files; a changed table is built again.

Arrow files: images load ten times faster than from Parquet, which has no one-byte type.
"""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl

from tacit.data.download.fetch import compute_digest, matches_checksum

ENDING = ".arrow"
_KIND = "sha256:"


def write_table(table: pl.DataFrame, path: Path) -> None:
    """Write a table and its checksum, each by an atomic rename."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        table.write_ipc(part)
        checksum = compute_digest(part, _KIND)
        os.replace(part, path)
        part.write_text(f"{checksum}\n")
        os.replace(part, get_checksum_path(path))
    finally:
        part.unlink(missing_ok=True)


def read_table(path: Path) -> pl.DataFrame:
    """Read a cached table."""
    return pl.read_ipc(path)


def is_intact(path: Path) -> bool:
    """Whether a cached table exists and matches its checksum."""
    try:
        checksum = get_checksum_path(path).read_text(encoding="ascii").strip()
        return checksum.startswith(_KIND) and matches_checksum(path, checksum)
    except (OSError, UnicodeDecodeError):
        return False


def get_checksum_path(path: Path) -> Path:
    """The path of a cached table's checksum file."""
    return path.with_name(f"{path.name}.sha256")
