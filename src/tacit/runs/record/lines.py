"""A record as a file of appended lines, each with a checksum over itself and the line before.

A reader ignores unknown fields and kinds, and still reads records of version 1, which had no
checksums.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tacit.errors import RunError
from tacit.runs.record.entries import KINDS, Entry
from tacit.runs.record.fold import fold
from tacit.runs.record.run_entries import Resumed, Signed, Started
from tacit.runs.record.signature import SignedHead, sign

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

Wanted = Callable[[str, str], bool]
"""Whether a reader wants entries of a kind and an arm (empty if the entry has none)."""

_NAMES = {kind: name for name, kind in KINDS.items()}
_OLD_KINDS = {"shared": "disclosed_rows", "tried": "clients_evaluated"}
_OLD_FIELDS = {"labels_shared": "labels_disclosed"}
_FOUND_BY_READER = "superseded"
"""A field that is not stored."""


@dataclass(frozen=True, kw_only=True)
class Mark:
    """A position in a record that is synced to disk: length in bytes, and the checksum of the last
    line.
    """

    length: int = 0
    checksum: str = ""


class Writer:
    """Appends entries to a record after a mark, without reading it; with a `key` it can sign the
    record.
    """

    def __init__(
        self, path: Path, mark: Mark | None = None, key: Ed25519PrivateKey | None = None
    ) -> None:
        self._file = path.open("ab")
        self._checksum = mark.checksum if mark else ""
        self._key = key

    def append(self, entry: Entry) -> None:
        """Write one entry as one line."""
        line = {"kind": _NAMES[type(entry)], **dataclasses.asdict(entry)}
        line.pop(_FOUND_BY_READER, None)
        content = json.dumps(line, allow_nan=False).encode()
        self._checksum = _next_checksum(self._checksum, content)
        self._file.write(content[:-1] + _ending(self._checksum) + b"\n")

    @property
    def key(self) -> str:
        """The public key in hexadecimal digits; empty if there is none."""
        return self._key.public_key().public_bytes_raw().hex() if self._key else ""

    def sign(self) -> None:
        """Sign the record up to here, if there is a key."""
        if self._key:
            self.append(Signed(signature=sign(self._key, self._checksum)))

    def sync(self) -> Mark:
        """Sync the file to disk and return the mark of its end."""
        self._file.flush()
        os.fsync(self._file.fileno())
        return Mark(length=self._file.tell(), checksum=self._checksum)

    def close(self) -> None:
        """Flush and close the file."""
        self._file.close()


def verify(path: Path, mark: Mark) -> None:
    """Raise RunError unless the record up to a mark is unchanged."""
    content = _content(path)
    if len(content) < mark.length:
        raise RunError(
            f"{path}: is damaged: it has {len(content):,} bytes, its checkpoint covers"
            f" {mark.length:,}"
        )
    if _last_checksum(path, content[: mark.length]) != mark.checksum:
        raise RunError(f"{path}: is damaged: it does not belong to its checkpoint")


def repair_end(path: Path) -> Mark:
    """Repair the end of a record after a crash and return its mark; raise RunError if it is damaged.

    An incomplete last line is removed: clients send nothing before the line of its charge is
    complete on disk. A complete line without a line break gets one. Nothing else is ever removed.
    """
    content = _content(path)
    *lines, rest = content.split(b"\n")
    checksum = ""
    for number, line in enumerate(lines, start=1):
        checksum = _split_checksum(path, number, line, checksum)[1]
    if not rest:
        return Mark(length=len(content), checksum=checksum)
    try:
        whole = _split_checksum(path, len(lines) + 1, rest, checksum)[1]
    except RunError:
        os.truncate(path, len(content) - len(rest))
        return Mark(length=len(content) - len(rest), checksum=checksum)
    with path.open("ab") as file:
        file.write(b"\n")
    return Mark(length=len(content) + 1, checksum=whole)


def add(path: Path, entry: Entry) -> None:
    """Append one entry to the record of a finished run, such as the results of an audit."""
    writer = Writer(path, Mark(checksum=_last_checksum(path, _content(path))))
    try:
        writer.append(entry)
        writer.sync()
    finally:
        writer.close()


def _last_checksum(path: Path, content: bytes) -> str:
    *lines, rest = content.split(b"\n")
    checksum = ""
    for number, line in enumerate(lines, start=1):
        checksum = _split_checksum(path, number, line, checksum)[1]
    if rest:
        raise _build_damage_error(path, len(lines) + 1, "it is truncated")
    return checksum


def read(path: Path, at_least: int = 0, wanted: Wanted | None = None) -> Iterator[Entry]:
    """Yield the valid entries of a record, and every release that counts (`fold.py`).

    With `wanted`, other entries are checked for damage but not parsed.
    """
    yield from fold(read_lines(path, at_least, wanted))


def parse(content: bytes, source: Path) -> Iterator[Entry]:
    """Yield the valid entries of a record from its bytes, as `read` does. `source` is named in
    errors.
    """
    lines = ((begins, entry) for begins, entry, _ in _parse_lines(source, content, 0))
    yield from fold((begins, entry) for begins, entry in lines if entry is not None)


def read_lines(
    path: Path, at_least: int = 0, wanted: Wanted | None = None
) -> Iterator[tuple[int, Entry]]:
    """Yield every entry of a record, or those `wanted`, with the offset of its first byte."""
    for begins, entry, _ in _lines(path, at_least, wanted):
        if entry is not None:
            yield begins, entry


def read_signed_heads(path: Path) -> list[SignedHead]:
    """Read all signatures of a record, oldest first, without verifying them."""
    return [
        SignedHead(length=begins, head=head, signature=entry.signature)
        for begins, entry, head in _lines(path, 0)
        if isinstance(entry, Signed)
    ]


def read_head_at(path: Path, length: int) -> str | None:
    """Checksum of the line that ends after `length` bytes; None if no line ends there."""
    content = _content(path)[:length]
    return (
        None
        if len(content) < length or not content.endswith(b"\n")
        else _last_checksum(path, content)
    )


def _lines(
    path: Path, at_least: int, wanted: Wanted | None = None
) -> Iterator[tuple[int, Entry | None, str]]:
    """Yield every entry of a record (None: unknown kind, or not wanted) with the offset of its first
    byte and the checksum of the line before; an incomplete last line is skipped.

    Raise RunError if the record is damaged, or has fewer than `at_least` bytes of complete lines.
    """
    yield from _parse_lines(path, _content(path), at_least, wanted)


def parse_signed(content: bytes, source: Path) -> tuple[list[Entry], SignedHead | None]:
    """Parse the bytes of a record that somebody else wrote; return its entries and the signature in
    its last line, None if the last line is none. `source` is named in errors.

    Raise RunError if the hash chain is broken or an entry is malformed, of an unknown kind or not a
    complete line. The caller verifies the signature.
    """
    if not content.endswith(b"\n") or not _has_checksum(content.partition(b"\n")[0]):
        raise RunError(f"{source}: is no record with a hash chain in complete lines")
    lines = list(_parse_lines(source, content, 0))
    entries = [entry for _, entry, _ in lines if entry is not None]
    if len(entries) != len(lines):
        raise RunError(f"{source}: has entries of an unknown kind")
    begins, last, head = lines[-1]
    if not isinstance(last, Signed):
        return entries, None
    return entries[:-1], SignedHead(length=begins, head=head, signature=last.signature)


def _parse_lines(
    path: Path, content: bytes, at_least: int, wanted: Wanted | None = None
) -> Iterator[tuple[int, Entry | None, str]]:
    *lines, rest = content.split(b"\n")
    if len(content) - len(rest) < at_least:
        raise RunError(f"{path}: is damaged: its end is missing; the run cannot be read")
    has_checksums, checksum, after = bool(lines) and _has_checksum(lines[0]), "", 0
    for number, line in enumerate(lines, start=1):
        begins, after, before = after, after + len(line) + 1, checksum
        if has_checksums:
            line, checksum = _split_checksum(path, number, line, checksum)
        entry = (
            None
            if wanted and has_checksums and _is_unwanted(line, wanted)
            else _entry(path, number, line)
        )
        if isinstance(entry, Started) and entry.version > 1 and not has_checksums:
            raise _build_damage_error(
                path, number, "its checksum is missing, or an earlier version of Tacit wrote it"
            )
        yield begins, entry, before


def parse_entry(line: bytes, source: Path) -> Entry | None:
    """Parse one line without verifying its checksum; None if its kind is unknown.

    For readers that follow a record while it grows. Raise RunError if the line is malformed.
    """
    return _entry(source, 0, line)


_BEGINNING = re.compile(rb'\{"kind": "(\w+)"(?:, "arm": "(\w+)")?')


def _is_unwanted(line: bytes, wanted: Wanted) -> bool:
    """Whether the beginning of a line shows that it is not wanted; resumes always are, since they
    supersede others.
    """
    found = _BEGINNING.match(line)
    kind, arm = (found[1].decode(), (found[2] or b"").decode()) if found else ("", "")
    return kind in KINDS and KINDS[kind] is not Resumed and not wanted(kind, arm)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise RunError(
            f"{path}: the record cannot be read ({error.strerror}); `tacit runs` lists existing runs"
        ) from None


def _entry(path: Path, number: int, line: bytes) -> Entry | None:
    """Parse the entry of a line; None if its kind is unknown."""
    try:
        values = {_OLD_FIELDS.get(name, name): value for name, value in json.loads(line).items()}
        name = values.pop("kind")
        values.pop(_FOUND_BY_READER, None)
        kind = KINDS.get(_OLD_KINDS.get(name, name))
        if kind is None:
            return None
        upgrade = getattr(kind, "upgrade", None)
        values = upgrade(values) if upgrade else values
        known = {one.name for one in dataclasses.fields(kind)}
        entry: Entry = kind(**{name: value for name, value in values.items() if name in known})
        return entry
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _build_damage_error(path, number, str(error)) from None


_BEFORE_CHECKSUM, _AFTER_CHECKSUM, _DIGITS = b', "sum": "', b'"}', 64
_LENGTH_OF_ENDING = len(_BEFORE_CHECKSUM) + _DIGITS + len(_AFTER_CHECKSUM)


def _next_checksum(before: str, content: bytes) -> str:
    return hashlib.sha256(before.encode() + content).hexdigest()


def _ending(checksum: str) -> bytes:
    return _BEFORE_CHECKSUM + checksum.encode() + _AFTER_CHECKSUM


def _has_checksum(line: bytes) -> bool:
    return line[-_LENGTH_OF_ENDING:].startswith(_BEFORE_CHECKSUM)


def _split_checksum(path: Path, number: int, line: bytes, before: str) -> tuple[bytes, str]:
    """Split a line into content and checksum; raise RunError if they do not match."""
    content = line[:-_LENGTH_OF_ENDING] + b"}"
    checksum = _next_checksum(before, content)
    if line[-_LENGTH_OF_ENDING:] != _ending(checksum):
        raise _build_damage_error(path, number, "its checksum does not match")
    return content, checksum


def _build_damage_error(path: Path, number: int, reason: str) -> RunError:
    return RunError(f"{path}: entry {number} is damaged ({reason}); the run cannot be read")
