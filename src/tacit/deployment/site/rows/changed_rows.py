"""Whether a site's rows are still those a run began with. A run whose rows changed would train on
other people than its clients were charged for, and a restart would number its clients anew.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from pathlib import Path

from tacit.data.parts import names_several_files
from tacit.data.read import is_file_source, list_files
from tacit.errors import DataError
from tacit.files import replace_file

Change = tuple[tuple[str, int, int, int], ...]
"""What the file system says about each file: its path, when it last changed, its size and its
number.
"""


class ChangedRowsError(DataError):
    """The site's rows changed since a run began; the site sits out until they are put back."""


class RowsWatch:
    """Watches the files of a site's rows during one run.

    `path` keeps a keyed fingerprint of the files from the moment the run was opened, also over a
    restart. They are read again only if the file system says that one changed. A named data set
    is public and not watched.
    """

    def __init__(self, path: Path, source: str, secret: bytes) -> None:
        self.path, self.source, self.secret = path, source, secret
        self._is_watched = is_file_source(source)
        self._seen: Change | None = None

    def check(self) -> None:
        """Raise ChangedRowsError if the files are not those that the run was opened with."""
        if not self._is_watched:
            return
        try:
            now = read_change(self.source)
            if now == self._seen:
                return
            found = fingerprint_files(self.source, self.secret)
        except (OSError, DataError) as error:
            if not self.path.exists():
                return  # the run begins; the reader of the rows reports what is wrong with the file
            reason = error.strerror if isinstance(error, OSError) else "no file is there"
            raise ChangedRowsError(
                f"{self.source}: the rows of this run cannot be read ({reason}); put the file back"
            ) from None
        if not self.path.exists():
            replace_file(self.path, found.encode())
        elif not hmac.compare_digest(self.path.read_bytes(), found.encode()):
            raise ChangedRowsError(
                f"{self.source}: the rows have changed since run {self.path.parent.name} was opened"
                " here; put the file back as it was, or start the plan as a new run"
            )
        self._seen = now


def read_change(source: str) -> Change:
    """What the file system says about the files of a source now."""
    found = ((str(file), os.stat(file)) for file in list_files(source))
    return tuple((name, one.st_mtime_ns, one.st_size, one.st_ino) for name, one in found)


def fingerprint_files(source: str, secret: bytes) -> str:
    """Keyed fingerprint of the bytes of a source's files; of several also their names."""
    key = hmac.digest(secret, b"tacit rows of a run", "sha256")
    digests = list[bytes]()
    files = list_files(source)
    for file in files:
        with file.open("rb") as content:
            digests.append(hashlib.file_digest(content, "sha256").digest())
    if not names_several_files(source):
        return hmac.digest(key, digests[0], "sha256").hex()
    whole = hashlib.sha256(f"{len(files)} files\0".encode())
    for file, digest in zip(files, digests, strict=True):
        whole.update(hashlib.sha256(file.name.encode()).digest() + digest)
    return hmac.digest(key, whole.digest(), "sha256").hex()
