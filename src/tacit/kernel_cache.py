"""A folder for compiled kernels, also where neither the package nor the home folder is writable.

numba stores compiled functions next to their source or in the user's cache folder, and fails if it
can write to neither.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from pathlib import Path

_PACKAGE = Path(__file__).parent


def prepare_kernel_cache() -> None:
    """Point numba to a private temporary folder if it has no other place to write to.

    `NUMBA_CACHE_DIR` is the user's choice and is kept. Later processes of the same user use the
    folder too. Compiled code is loaded from it, so a folder that anybody else owns or can write to
    is not used.
    """
    if (
        os.environ.get("NUMBA_CACHE_DIR")
        or os.access(_PACKAGE, os.W_OK)
        or _can_create_files_in(_user_cache())
    ):
        return
    try:
        folder = _private_temporary_folder()
    except OSError:  # nothing is writable; commands that compile nothing still work
        return
    os.environ["NUMBA_CACHE_DIR"] = str(folder)
    if "numba" in sys.modules:  # numba has read its settings already
        sys.modules["numba"].config.CACHE_DIR = str(folder)


def _can_create_files_in(folder: Path) -> bool:
    """Whether a file can be created in a folder, which is created if it is missing: numba checks
    the same.
    """
    import tempfile

    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


def _user_cache() -> Path:
    """The folder that numba uses if the package's own is not writable (Linux)."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "numba"


def _private_temporary_folder() -> Path:
    """A temporary folder that only this user can write to, the same one every time if possible."""
    import tempfile

    folder = Path(tempfile.gettempdir()) / f"tacit-kernels-{os.getuid()}"
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    facts = folder.lstat()
    if stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.getuid() and not facts.st_mode & 0o077:
        return folder
    return Path(tempfile.mkdtemp(prefix="tacit-kernels-"))
