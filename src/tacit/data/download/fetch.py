"""Download one file to disk, completely and with the right checksum, or not at all."""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from tacit.errors import DataError

Progress = Callable[[str, int, int | None], None]
"""Called with (name, bytes so far, total bytes if known) during a large download."""

_BLOCK = 1 << 18
_SETTLED_NS = 2 * 10**9
_matched: set[tuple[str, int, int, int, str]] = set()
"""State of the files whose checksum this process has verified."""


def fetch(
    url: str,
    target: Path,
    *,
    checksum: str,
    progress: Progress | None = None,
    tries: int = 3,
    pause_seconds: float = 1.0,
) -> Path:
    """Download `url` to `target` and verify its checksum ("sha256:…" or "md5:…").

    Guarantees: `target` appears by an atomic rename after verification, so it is never incomplete.
    An interrupted download stays as `.part`, and the next call resumes it if the server can. Bytes
    with a wrong checksum are removed.
    """
    part = target.with_name(target.name + ".part")
    target.parent.mkdir(parents=True, exist_ok=True)
    with lock_partial_file(part):
        if target.exists() and matches_checksum(target, checksum):
            return target
        _download(url, part, checksum, progress, tries, pause_seconds)
        os.replace(part, target)
    return target


def matches_checksum(path: Path, checksum: str) -> bool:
    """Whether a file has the expected digest.

    Results are cached per process by modification time. A file that changed is read again, and so
    is one written just before it was read, since a write within the clock's resolution would go
    unnoticed.
    """
    found = path.stat()
    state = (str(path), found.st_ino, found.st_size, found.st_mtime_ns, checksum)
    if state in _matched:
        return True
    settled = time.time_ns() - found.st_mtime_ns > _SETTLED_NS
    whole = compute_digest(path, checksum) == checksum
    if whole and settled:
        _matched.add(state)
    return whole


def compute_digest(path: Path, like: str) -> str:
    """Compute a file's digest with the algorithm of `like` ("md5:…" or "sha256:…")."""
    kind = like.partition(":")[0]
    # md5 is what several origins publish; it guards against damage here, not against an attacker.
    running = hashlib.new(kind, usedforsecurity=False)
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            running.update(block)
    return f"{kind}:{running.hexdigest()}"


@contextlib.contextmanager
def lock_partial_file(part: Path) -> Iterator[None]:
    """Lock a partial download: a second process waits, then finds the result."""
    try:
        import fcntl
    except (
        ImportError
    ):  # no such lock on this system: the checksum still refuses what two writers would mix
        yield
        return
    with part.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            with contextlib.suppress(FileNotFoundError):
                if part.stat().st_size == 0:
                    part.unlink()


def _download(
    url: str, part: Path, checksum: str, progress: Progress | None, tries: int, pause_seconds: float
) -> None:
    reason = ""
    for attempt in range(tries):
        if attempt:
            time.sleep(pause_seconds)
        try:
            resumed = _receive(url, part, progress)
        except (OSError, http.client.HTTPException) as error:
            _raise_if_final(url, error)
            reason = str(error) or type(error).__name__
            continue
        got = compute_digest(part, checksum)
        if got == checksum:
            return
        part.unlink()
        # a resumed file may have begun as another version of itself; a clean one is simply wrong
        if not resumed:
            raise DataError(
                f"fetch(url={url!r}): the checksum is {got}, expected {checksum}; the bytes were"
                " removed. The origin has changed, or something in the network alters the file: try"
                " again later or from another network."
            )
    have = part.stat().st_size if part.exists() else 0
    raise DataError(
        f"fetch(url={url!r}): only {have:,} bytes arrived in {tries} tries"
        f" ({reason}); "
        + ("run it again to continue from there" if have else "check the network and run it again")
    )


def _raise_if_final(url: str, error: Exception) -> None:
    if (
        isinstance(error, urllib.error.HTTPError)
        and 400 <= error.code < 500
        and error.code not in (408, 416, 429)
    ):
        raise DataError(
            f"fetch(url={url!r}): the server responded with HTTP {error.code} {error.reason}; see"
            " `tacit data list`"
        ) from None


def _receive(url: str, part: Path, progress: Progress | None) -> bool:
    """Append the missing bytes to the partial file, or rewrite it; return whether earlier bytes
    were kept.
    """
    have = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        answer = urllib.request.urlopen(request, timeout=30)
    except urllib.error.HTTPError as error:
        if (
            error.code == 416
        ):  # nothing after these bytes: they are either all of it or not of it; the checksum says
            error.close()
            return True
        raise
    with answer:
        resumed = (
            have > 0
            and answer.status == 206
            and str(answer.headers.get("Content-Range", "")).startswith(f"bytes {have}-")
        )
        start = have if resumed else 0
        length = answer.headers.get("Content-Length")
        total = start + int(length) if length else None
        with part.open("ab" if resumed else "wb") as file:
            done = _copy(answer, file, start, total, Path(url).name, progress)
    if total is not None and done < total:
        raise ConnectionError(f"connection ended after {done:,} of {total:,} bytes")
    return resumed


def _copy(
    answer: Any, file: IO[bytes], done: int, total: int | None, name: str, progress: Progress | None
) -> int:
    while block := answer.read(_BLOCK):
        file.write(block)
        done += len(block)
        if progress:
            progress(name, done, total)
    return done
