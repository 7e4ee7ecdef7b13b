"""Whether a site's rows are still those a run began with. A run whose rows changed would train on
other people than its clients were charged for, and a restart would number its clients anew.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from pathlib import Path

from tacit.data.read import is_file_source
from tacit.errors import DataError
from tacit.files import replace_file

Change = tuple[int, int, int]
"""What the file system says about a file: when it last changed, its size and its number."""


class ChangedRowsError(DataError):
    """The site's rows changed since a run began; the site sits out until they are put back."""


class RowsWatch:
    """Watches the file of a site's rows during one run.

    `path` keeps a keyed fingerprint of the file from the moment the run was opened, also over a
    restart. The file is read again only if the file system says that it changed. A named data set
    is public and not watched.
    """

    def __init__(self, path: Path, source: str, secret: bytes) -> None:
        self.path, self.source, self.secret = path, source, secret
        self._file = Path(source).expanduser() if is_file_source(source) else None
        self._seen: Change | None = None

    def check(self) -> None:
        """Raise ChangedRowsError if the file is not the one that the run was opened with."""
        if self._file is None:
            return
        try:
            now = read_change(self._file)
            if now == self._seen:
                return
            found = fingerprint_file(self._file, self.secret)
        except OSError as error:
            if not self.path.exists():
                return  # the run begins; the reader of the rows reports what is wrong with the file
            raise ChangedRowsError(
                f"{self.source}: the rows of this run cannot be read ({error.strerror}); put the"
                " file back"
            ) from None
        if not self.path.exists():
            replace_file(self.path, found.encode())
        elif not hmac.compare_digest(self.path.read_bytes(), found.encode()):
            raise ChangedRowsError(
                f"{self.source}: the rows have changed since run {self.path.parent.name} was opened"
                " here; put the file back as it was, or start the plan as a new run"
            )
        self._seen = now


def read_change(file: Path) -> Change:
    """What the file system says about a file now."""
    found = os.stat(file)
    return found.st_mtime_ns, found.st_size, found.st_ino


def fingerprint_file(file: Path, secret: bytes) -> str:
    """Keyed fingerprint of a file's bytes."""
    key = hmac.digest(secret, b"tacit rows of a run", "sha256")
    with file.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").digest()
    return hmac.digest(key, digest, "sha256").hex()
