"""The SQLite file of a site's ledger: one writer at a time, and every change is forced to the disk
before it counts.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from tacit.errors import LedgerError
from tacit.files import sync_folder
from tacit.privacy.site_ledger.chain import (
    START,
    LedgerEntry,
    Receipt,
    encode_canonical,
    hash_entry,
    parse_entry,
)

VERSION = 1
_PATIENCE_SECONDS = 60.0
_INCREMENTAL = 2
"""SQLite's number for `auto_vacuum = INCREMENTAL`."""
_TABLES = (
    "CREATE TABLE entries (number INTEGER PRIMARY KEY, content BLOB NOT NULL, hash BLOB NOT NULL)",
    (
        "CREATE TRIGGER unchanged BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'entries are"
        " never changed'); END"
    ),
    (
        "CREATE TRIGGER undropped BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, 'entries are"
        " never dropped'); END"
    ),
    "CREATE TABLE claims (hash TEXT PRIMARY KEY, content BLOB NOT NULL) WITHOUT ROWID",
    (
        "CREATE TABLE tallies (person BLOB, run TEXT, paid TEXT NOT NULL, micro INTEGER NOT NULL,"
        " delta REAL NOT NULL, bare INTEGER NOT NULL, PRIMARY KEY (person, run)) WITHOUT ROWID"
    ),
    (
        "CREATE TABLE exchanges (run TEXT, round_no INTEGER, exchange TEXT, reserved INTEGER NOT"
        " NULL, stored INTEGER, request BLOB, paid INTEGER NOT NULL, PRIMARY KEY (run, round_no,"
        " exchange)) WITHOUT ROWID"
    ),
    "CREATE TABLE answers (entry INTEGER PRIMARY KEY, content BLOB NOT NULL)",
    "CREATE TABLE days (day TEXT PRIMARY KEY, rounds INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE TABLE forgotten (run TEXT PRIMARY KEY) WITHOUT ROWID",
)
MORE_TABLES = (
    "CREATE TABLE IF NOT EXISTS told (entry INTEGER PRIMARY KEY, run TEXT NOT NULL)",
    (
        "CREATE TABLE IF NOT EXISTS released (row BLOB PRIMARY KEY, person BLOB NOT NULL, label"
        " BLOB NOT NULL, alike INTEGER NOT NULL) WITHOUT ROWID"
    ),
    "CREATE TABLE IF NOT EXISTS cohorts (hash TEXT PRIMARY KEY, content BLOB NOT NULL)",
    "CREATE TABLE IF NOT EXISTS erased (person BLOB PRIMARY KEY, entry INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS decisions (run TEXT PRIMARY KEY, entry INTEGER NOT NULL) WITHOUT ROWID",
)
"""Tables for facts sent in the clear, for released rows (`releases.py`), for erased clients
(`erasures.py`), for lists of clients (`cohorts.py`) and for the owner's last decision about each run
(`decisions.py`); created if missing.
"""


def check_bytes(value: Any) -> bytes:
    """Check that a stored value is bytes; we write no other type."""
    if not isinstance(value, bytes):
        raise sqlite3.DatabaseError("a stored value has the wrong type")
    return value


class LedgerFile:
    """An open ledger file. Rows are read and written only inside `writing` or `reading`."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._lock = threading.RLock()
        with self.translate_errors():
            self._create_private()
            self._db = sqlite3.connect(
                str(file), timeout=_PATIENCE_SECONDS, isolation_level=None, check_same_thread=False
            )
            self._open_tables()

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    @contextmanager
    def translate_errors(self) -> Iterator[None]:
        """Convert errors of SQLite and of the disk into a LedgerError that names the file."""
        try:
            yield
        except OSError as error:
            raise LedgerError(
                f"{self.file} cannot be read or written ({error.strerror}). No response is sent"
            ) from None
        except sqlite3.DatabaseError as error:
            full = "full" in str(error) or "disk I/O" in str(error)
            what = "the disk is full or failing" if full else "the file is damaged or not a ledger"
            if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
                what = f"another process used the file for {_PATIENCE_SECONDS:.0f} seconds"
            raise LedgerError(f"{self.file}: {what} ({error}). No response is sent") from None

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Open an exclusive write transaction; committed to the disk at the end, or rolled back if
        anything is raised.
        """
        with self._lock, self.translate_errors():
            self._execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Open a consistent read transaction."""
        with self._lock, self.translate_errors():
            self._execute("BEGIN")
            try:
                yield self._db
            finally:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")

    def shrink(self) -> None:
        """Give empty pages back to the file system, if no other process uses the file just now."""
        with self._lock, suppress(sqlite3.OperationalError):
            # `execute` would take one step, which frees one page.
            self._db.executescript("PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE)")

    def copy_to(self, target: Path) -> None:
        """Copy the ledger to a new private file, as it is at one moment, while others may write."""
        with self._lock, self.translate_errors():
            os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            with closing(sqlite3.connect(str(target), isolation_level=None)) as copy:
                self._db.backup(copy)

    def append(self, kind: str, facts: dict[str, Any]) -> int:
        """Append an entry to the chain, inside `writing`, and return its number."""
        before = self.receipt()
        content = encode_canonical({**facts, "kind": kind, "number": before.counter + 1})
        self._db.execute(
            "INSERT INTO entries VALUES (?, ?, ?)",
            (before.counter + 1, content, hash_entry(before.head, content)),
        )
        return before.counter + 1

    def receipt(self) -> Receipt:
        """Number of entries and hash of the last one; call inside `reading` or `writing`."""
        last = self._db.execute(
            "SELECT number, hash FROM entries ORDER BY number DESC LIMIT 1"
        ).fetchone()
        return Receipt(int(last[0]), check_bytes(last[1])) if last else Receipt(0, START)

    def entry(self, number: int) -> LedgerEntry:
        """Read one entry and check its hash against the one before; raise LedgerError if it is
        damaged or missing.
        """
        rows = self._db.execute(
            "SELECT number, content, hash FROM entries WHERE number BETWEEN ? AND ? ORDER BY"
            " number",
            (number - 1, number),
        )
        found = {int(row[0]): (row[1], row[2]) for row in rows}
        before = START if number == 1 else found.get(number - 1, (b"", b""))[1]
        if number not in found:
            raise self.build_damage_error(number, "it is missing")
        content, digest = found[number]
        if (
            not isinstance(content, bytes)
            or not isinstance(before, bytes)
            or hash_entry(before, content) != digest
        ):
            raise self.build_damage_error(number, "its hash does not match")
        try:
            return parse_entry(number, content, digest)
        except ValueError as error:
            raise self.build_damage_error(number, str(error)) from None

    def build_damage_error(self, number: int, why: str) -> LedgerError:
        """Build the error for a ledger that is damaged at an entry."""
        return LedgerError(
            f"{self.file}: the ledger is damaged at entry {number}: {why}. No response is sent"
        )

    def _create_private(self) -> None:
        """Create the file if it is missing, readable by its owner only."""
        try:
            os.close(os.open(self.file, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            sync_folder(self.file.parent)
        except FileExistsError:
            if self.file.stat().st_mode & 0o077:
                self.file.chmod(0o600)

    def _open_tables(self) -> None:
        # Takes effect in a new file only, but writes to every file: others would verify it again.
        if self._execute("PRAGMA auto_vacuum").fetchone()[0] != _INCREMENTAL:
            self._execute("PRAGMA auto_vacuum = INCREMENTAL")
        if self._execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            self._execute("PRAGMA journal_mode = WAL")
        for setting in ("synchronous = FULL", "cell_size_check = ON", "trusted_schema = OFF"):
            self._execute(f"PRAGMA {setting}")
        with self.writing() as db:
            version = int(db.execute("PRAGMA user_version").fetchone()[0])
            if version == 0 and not db.execute("SELECT 1 FROM sqlite_master").fetchone():
                for statement in _TABLES:
                    db.execute(statement)
                db.execute(f"PRAGMA user_version = {VERSION}")
                self.append("opened", {"version": VERSION})
            elif version != VERSION:
                raise LedgerError(
                    f"{self.file}: ledger version must be {VERSION}, got {version}; use the version of"
                    " Tacit that wrote it"
                )
            for statement in MORE_TABLES:
                db.execute(statement)
            last = self.receipt().counter
            if not last:
                raise self.build_damage_error(1, "it is missing")
            self.entry(last)

    def _execute(self, statement: str) -> sqlite3.Cursor:
        """Run a statement that takes a lock; wait while another process opens or closes the file."""
        until = time.monotonic() + _PATIENCE_SECONDS
        while True:
            try:
                return self._db.execute(statement)
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > until:
                    raise
                time.sleep(0.01)
