"""Files that are complete or refused: replaced atomically, and sealed with a checksum that is
verified before use.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from safetensors.numpy import load, save

from tacit.errors import RunError

UNFINISHED = ".new"
"""Suffix of a file that is still being written; a kill may leave one behind."""
_MARK = b'"sha256":"'
_DIGITS = 64


def replace_file(path: Path, content: bytes | bytearray) -> None:
    """Put `content` at `path` so that a crash leaves the old file or the new one, never a part of
    either.
    """
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=UNFINISHED, dir=path.parent)
    fresh = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def has_link(root: Path, path: Path) -> bool:
    """Whether a path below `root` is a symbolic link, or leads through one."""
    inner = path.relative_to(root).parts
    return any(root.joinpath(*inner[: count + 1]).is_symlink() for count in range(len(inner)))


def sync_folder(folder: Path) -> None:
    """Make renames inside a folder durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def seal(arrays: dict[str, NDArray[Any]], facts: dict[str, str] | None = None) -> bytearray:
    """Serialise arrays and facts as a safetensors file that carries the SHA-256 of all its bytes.

    The digest is in the header; it is computed with zeros in its own place.
    """
    content = bytearray(save(arrays, metadata={**(facts or {}), "sha256": "0" * _DIGITS}))
    place = _place_of_digest(content)
    assert place is not None
    content[place : place + _DIGITS] = _digest(content, place)
    return content


def unseal(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
    """Read the arrays and facts of a sealed file; raise RunError if a single bit differs from what
    was written.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise RunError(f"{path}: cannot be read ({error.strerror})") from None
    place = _place_of_digest(content)
    if place is None:
        raise RunError(
            f"{path}: is damaged, or was written by an earlier version of Tacit: it has no checksum"
        )
    if _digest(content, place) != content[place : place + _DIGITS]:
        raise RunError(f"{path}: is damaged: its checksum does not match")
    facts: dict[str, str] = json.loads(content[8 : _end_of_header(content)])["__metadata__"]
    return load(content), facts


def _end_of_header(content: bytes | bytearray) -> int:
    return 8 + int.from_bytes(content[:8], "little")


def _place_of_digest(content: bytes | bytearray) -> int | None:
    found = content.find(_MARK, 8, min(_end_of_header(content), len(content)))
    place = found + len(_MARK)
    return None if found < 0 or place + _DIGITS > len(content) else place


def _digest(content: bytes | bytearray, place: int) -> bytes:
    view = memoryview(content)
    digest = hashlib.sha256(view[:place])
    digest.update(b"0" * _DIGITS)
    digest.update(view[place + _DIGITS :])
    return digest.hexdigest().encode()


def get_cache_folder() -> Path:
    """The folder for fetched files: TACIT_CACHE, else ~/.cache/tacit."""
    return Path(os.environ.get("TACIT_CACHE") or Path.home() / ".cache" / "tacit")
