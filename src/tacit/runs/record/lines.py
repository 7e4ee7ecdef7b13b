"""A record as a file: lines that are appended, each with a checksum over itself and the line
before, and read with suspicion.

A reader passes over fields and kinds it does not know, and still reads records of version 1, which
had no checksums.
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
from tacit.runs.record.entries import KINDS, Entry, Resumed, Signed, Started
from tacit.runs.record.fold import fold
from tacit.runs.record.signature import SignedHead, sign

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

Wanted = Callable[[str, str], bool]
"""Says of a kind of entry, and the arm it is about (empty if about none), whether a reader wants
it.
"""

_NAMES = {kind: name for name, kind in KINDS.items()}
_OLD_KINDS = {"shared": "disclosed_rows", "tried": "clients_evaluated"}
_OLD_FIELDS = {"labels_shared": "labels_disclosed"}
_FOUND_BY_READER = "superseded"
"""A field that is no part of a line."""


@dataclass(frozen=True, kw_only=True)
class Mark:
    """How much of a record is safely on the disk: its length in bytes, and the checksum its last
    line ends with.
    """

    length: int = 0
    checksum: str = ""


class Writer:
    """Appends entries to a record file, from a mark on; it reads nothing. With a `key` it can sign
    what was written so far.
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
        """The public half of the key, as hexadecimal digits; empty if there is none."""
        return self._key.public_key().public_bytes_raw().hex() if self._key else ""

    def sign(self) -> None:
        """Sign the record up to here, if there is a key."""
        if self._key:
            self.append(Signed(signature=sign(self._key, self._checksum)))

    def sync(self) -> Mark:
        """Force what was written onto the disk and return how far it goes."""
        self._file.flush()
        os.fsync(self._file.fileno())
        return Mark(length=self._file.tell(), checksum=self._checksum)

    def close(self) -> None:
        """Write out and close."""
        self._file.close()


def verify(path: Path, mark: Mark) -> None:
    """Raise RunError unless the record up to a mark is as it was written."""
    content = _content(path)
    if len(content) < mark.length:
        raise RunError(
            f"{path}: is damaged: it has {len(content):,} bytes, its checkpoint covers"
            f" {mark.length:,}"
        )
    if _last_checksum(path, content[: mark.length]) != mark.checksum:
        raise RunError(f"{path}: is damaged: it is not the record its checkpoint was made with")


def repair_end(path: Path) -> Mark:
    """Return where a record ends; complete or remove a last line that a crash cut short. Raise
    RunError if it is damaged.

    A line is removed only if it was never complete: nothing leaves before its charge is a whole
    line on the disk. A whole line that lacks its line break gets it. Nothing else of a record is
    ever removed.
    """
    content = _content(path)
    *lines, rest = content.split(b"\n")
    checksum = ""
    for number, line in enumerate(lines, start=1):
        checksum = _verified(path, number, line, checksum)[1]
    if not rest:
        return Mark(length=len(content), checksum=checksum)
    try:
        whole = _verified(path, len(lines) + 1, rest, checksum)[1]
    except RunError:
        os.truncate(path, len(content) - len(rest))
        return Mark(length=len(content) - len(rest), checksum=checksum)
    with path.open("ab") as file:
        file.write(b"\n")
    return Mark(length=len(content) + 1, checksum=whole)


def add(path: Path, entry: Entry) -> None:
    """Append one entry to the record of a run that has ended, such as what an audit found."""
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
        checksum = _verified(path, number, line, checksum)[1]
    if rest:
        raise _damaged(path, len(lines) + 1, "it is cut short")
    return checksum


def read(path: Path, at_least: int = 0, wanted: Wanted | None = None) -> Iterator[Entry]:
    """Yield the entries of a record that stand, and every release: what a resume superseded is left
    out (`fold.py`).

    With `wanted`, entries of other kinds or arms are checked for damage and not parsed.
    """
    yield from fold(read_lines(path, at_least, wanted))


def read_lines(
    path: Path, at_least: int = 0, wanted: Wanted | None = None
) -> Iterator[tuple[int, Entry]]:
    """Yield every entry of a record, or those that are wanted, with the byte it begins at (see
    `_lines`).
    """
    for begins, entry, _ in _lines(path, at_least, wanted):
        if entry is not None:
            yield begins, entry


def read_signed_heads(path: Path) -> list[SignedHead]:
    """Return every signature of a record, oldest first; whether they are right is for the reader to
    ask.
    """
    return [
        SignedHead(length=begins, head=head, signature=entry.signature)
        for begins, entry, head in _lines(path, 0)
        if isinstance(entry, Signed)
    ]


def read_head_at(path: Path, length: int) -> str | None:
    """Return the checksum of the line that ends after `length` bytes; None if no line does."""
    content = _content(path)[:length]
    return (
        None
        if len(content) < length or not content.endswith(b"\n")
        else _last_checksum(path, content)
    )


def _lines(
    path: Path, at_least: int, wanted: Wanted | None = None
) -> Iterator[tuple[int, Entry | None, str]]:
    """Yield every entry of a record (None: of a kind that is not known here, or not wanted) with
    the byte it begins at and the checksum of the line before; a last line that a crash cut short is
    passed over.

    Raise RunError if the record is damaged, or has fewer than `at_least` bytes of whole lines.
    """
    content = _content(path)
    *lines, rest = content.split(b"\n")
    if len(content) - len(rest) < at_least:
        raise RunError(f"{path}: is damaged: its end is missing; the run cannot be read")
    has_checksums, checksum, after = bool(lines) and _has_checksum(lines[0]), "", 0
    for number, line in enumerate(lines, start=1):
        begins, after, before = after, after + len(line) + 1, checksum
        if has_checksums:
            line, checksum = _verified(path, number, line, checksum)
        entry = (
            None
            if wanted and has_checksums and _is_unwanted(line, wanted)
            else _entry(path, number, line)
        )
        if isinstance(entry, Started) and entry.version > 1 and not has_checksums:
            raise _damaged(
                path, number, "its checksum is missing, or an earlier version of Tacit wrote it"
            )
        yield begins, entry, before


_BEGINNING = re.compile(rb'\{"kind": "(\w+)"(?:, "arm": "(\w+)")?')


def _is_unwanted(line: bytes, wanted: Wanted) -> bool:
    """Whether the first words of a line say that nobody wants it; resumes are always wanted, since
    they supersede others.
    """
    found = _BEGINNING.match(line)
    kind, arm = (found[1].decode(), (found[2] or b"").decode()) if found else ("", "")
    return kind in KINDS and KINDS[kind] is not Resumed and not wanted(kind, arm)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise RunError(
            f"{path}: no record can be read ({error.strerror}); `tacit runs` lists the runs"
            " there are"
        ) from None


def _entry(path: Path, number: int, line: bytes) -> Entry | None:
    """Return the entry of a line; None if its kind is not known here."""
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
        raise _damaged(path, number, str(error)) from None


_BEFORE_CHECKSUM, _AFTER_CHECKSUM, _DIGITS = b', "sum": "', b'"}', 64
_LENGTH_OF_ENDING = len(_BEFORE_CHECKSUM) + _DIGITS + len(_AFTER_CHECKSUM)


def _next_checksum(before: str, content: bytes) -> str:
    return hashlib.sha256(before.encode() + content).hexdigest()


def _ending(checksum: str) -> bytes:
    return _BEFORE_CHECKSUM + checksum.encode() + _AFTER_CHECKSUM


def _has_checksum(line: bytes) -> bool:
    return line[-_LENGTH_OF_ENDING:].startswith(_BEFORE_CHECKSUM)


def _verified(path: Path, number: int, line: bytes, before: str) -> tuple[bytes, str]:
    """Return a line without its checksum, and the checksum; raise RunError if it does not fit."""
    content = line[:-_LENGTH_OF_ENDING] + b"}"
    checksum = _next_checksum(before, content)
    if line[-_LENGTH_OF_ENDING:] != _ending(checksum):
        raise _damaged(path, number, "its checksum does not fit")
    return content, checksum


def _damaged(path: Path, number: int, reason: str) -> RunError:
    return RunError(f"{path}: entry {number} is damaged ({reason}); the run cannot be read")
