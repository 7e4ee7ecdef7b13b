"""A ledger that was tampered with is refused, and the first bad entry is named."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

from tacit.errors import LedgerError
from tacit.privacy.claim import GaussianNoise
from tacit.privacy.policy import Limits, SiteLedger
from tests.privacy.claims import ADD, claim

NOISE = (claim(GaussianNoise(20.0), relation=ADD),)
EVERYBODY = [bytes([number]) * 16 for number in range(6)]
LIMITS = Limits(max_epsilon_per_run=100, max_epsilon_lifetime=100)


def opened(file: Path) -> SiteLedger:
    return SiteLedger(file, limits=LIMITS, delta=1e-5)


def write_ledger(file: Path) -> Path:
    """Write a ledger of four rounds, entries 1 to 9, in one file."""
    book = opened(file)
    for round_no in range(1, 5):
        book.reserve("r", round_no, "train", EVERYBODY, NOISE)
        book.store("r", round_no, "train", b"q" * 32, bytes([round_no]) * 40)
    book.close()
    return file


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_ledger(tmp_path_factory.mktemp("made") / "book.db")


@pytest.fixture
def file(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(made, tmp_path / "book.db"))


def change(file: Path, *statements: str) -> None:
    """Change the file as somebody would who has it, past its triggers."""
    db = sqlite3.connect(file)
    for trigger in ("unchanged", "undropped"):
        db.execute(f"DROP TRIGGER {trigger}")
    for statement in statements:
        db.execute(statement)
    db.commit()
    db.close()


def test_a_whole_ledger_passes(file: Path) -> None:
    opened(file).verify()


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        (
            (
                "UPDATE entries SET content = CAST(replace(content, 'train', 'tr4in') AS BLOB)"
                " WHERE number = 4"
            ),
            "at entry 4: its hash",
        ),
        ("UPDATE entries SET hash = zeroblob(32) WHERE number = 3", "at entry 3: its hash"),
        ("DELETE FROM entries WHERE number = 5", "at entry 5: it is missing"),
        ("DELETE FROM entries WHERE number > 5", "at entry"),
        (
            "UPDATE tallies SET micro = 0 WHERE person = zeroblob(16)",
            "its charge is not in the tallies",
        ),
        ("UPDATE tallies SET paid = '{}'", "its charge is not in the tallies"),
        ("DELETE FROM tallies", "its charge is not in the tallies"),
        (
            "UPDATE answers SET content = x'00' WHERE entry = 5",
            "at entry 5: its stored response was changed",
        ),
        ("DELETE FROM exchanges WHERE round_no = 3", "at entry 6: its exchange was changed"),
        (
            "UPDATE claims SET content = CAST(replace(content, '20.0', '90.0') AS BLOB)",
            "at entry 2: the claims it charges for",
        ),
        ("UPDATE claims SET content = 'text'", "a stored value has the wrong type"),
        ("UPDATE entries SET content = 'text' WHERE number = 4", "at entry 4: its hash"),
        ("DELETE FROM claims", "at entry 2: the claims it charges for"),
        ("UPDATE exchanges SET paid = 0", "at entry 2: its exchange was changed"),
        ("UPDATE days SET rounds = 0", "tables contain rows that no entry explains"),
        ("INSERT INTO forgotten VALUES ('r')", "tables contain rows that no entry explains"),
        (
            "INSERT INTO tallies VALUES (x'aa', 'r', '{}', 0, 0, 0)",
            "tables contain rows that no entry explains",
        ),
    ],
)
def test_an_edited_row_is_found(file: Path, statement: str, said: str) -> None:
    change(file, statement)
    with pytest.raises(LedgerError, match="damaged") as found:
        opened(file).verify()
    assert said in str(found.value)


def test_a_damaged_head_is_refused_when_it_is_opened(file: Path) -> None:
    change(file, "UPDATE entries SET hash = zeroblob(32) WHERE number = 9")
    with pytest.raises(
        LedgerError, match=r"damaged at entry 9: its hash does not match\. No response is sent"
    ):
        opened(file)


def test_entries_cannot_be_changed_by_accident(file: Path) -> None:
    db = sqlite3.connect(file)
    for statement in ("UPDATE entries SET hash = x'00'", "DELETE FROM entries"):
        with pytest.raises(sqlite3.DatabaseError, match="entries are never"):
            db.execute(statement)


@pytest.mark.parametrize("text", [b"", b"not a ledger at all" * 100])
def test_a_file_that_is_no_ledger(tmp_path: Path, text: bytes) -> None:
    other = tmp_path / "other.db"
    other.write_bytes(text)
    if not text:
        opened(other).verify()  # an empty file is a ledger that begins
        return
    with pytest.raises(LedgerError, match="the file is damaged or not a ledger"):
        opened(other)


def test_a_ledger_of_a_later_version_is_refused(file: Path) -> None:
    change(file, "PRAGMA user_version = 9")
    with pytest.raises(LedgerError, match="ledger version must be 1, got 9"):
        opened(file)
