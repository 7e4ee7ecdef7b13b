"""Files of run folders, opened without following a symbolic link and without ever blocking."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MAX_TEXT = 4 << 20
"""Largest file that is read as a whole; records may be larger."""


def is_plain_name(name: str) -> bool:
    """Whether a text can be the name of one entry of a folder, and is not hidden."""
    return bool(name) and "/" not in name and "\0" not in name and not name.startswith(".")


@contextmanager
def open_inside(root: Path, *names: str) -> Iterator[int]:
    """Open a regular file below `root`, given the name at each level, for reading.

    Raise FileNotFoundError if there is none, or if a level below `root` is a symbolic link.
    """
    if not names or not all(map(is_plain_name, names)):
        raise FileNotFoundError(os.path.join(*names) if names else "")
    handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for name in names[:-1]:
            inner = _open(name, os.O_DIRECTORY, handle)
            os.close(handle)
            handle = inner
        file = _open(names[-1], os.O_NONBLOCK, handle)
        os.close(handle)
        handle = file
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise FileNotFoundError(names[-1])
        yield handle
    finally:
        os.close(handle)


def _open(name: str, flags: int, folder: int) -> int:
    try:
        return os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | flags, dir_fd=folder)
    except (OSError, ValueError) as error:
        raise FileNotFoundError(name) from error


def read_text_inside(root: Path, *names: str) -> str:
    """Read a text file below `root`; empty if there is none or it is too large."""
    try:
        with open_inside(root, *names) as handle:
            if os.fstat(handle).st_size > MAX_TEXT:
                return ""
            return os.pread(handle, MAX_TEXT, 0).decode("utf-8", "replace")
    except OSError:
        return ""


def list_plain_folders(root: Path) -> list[str]:
    """Names of the folders in `root` that are neither hidden nor symbolic links."""
    try:
        with os.scandir(root) as entries:
            return sorted(
                entry.name
                for entry in entries
                if is_plain_name(entry.name) and entry.is_dir(follow_symlinks=False)
            )
    except OSError:
        return []
