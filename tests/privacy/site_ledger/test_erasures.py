"""An erased client is charged no more; the erasure is part of the chain, and verification covers it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tacit.errors import LedgerError
from tacit.privacy.claim import Pure
from tacit.privacy.policy import Limits, SiteLedger
from tacit.privacy.site_ledger.erasures import ERASED
from tests.privacy.claims import claim

ONE = (claim(Pure(1.0)),)
ANN, BOB = (bytes([number]) * 16 for number in (1, 2))
LIMITS = Limits(max_epsilon_per_run=100, max_epsilon_lifetime=1000)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A ledger in which Ann and Bob were charged once, and Ann was erased."""
    with closing(open_book(tmp_path / "book.db")) as book:
        assert book.reserve("r", 1, "train", [ANN, BOB], ONE) == {}
        assert book.erase(ANN)
    return tmp_path / "book.db"


def open_book(file: Path) -> SiteLedger:
    return SiteLedger(file, limits=LIMITS, delta=1e-5, today=lambda: "2026-11-16")


def change(file: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(file)) as db, db:
        db.execute(statement, values)


def test_charges_stay_and_none_is_added(file: Path) -> None:
    with closing(open_book(file)) as book:
        before = book.account(ANN)
        assert (before.erased_on, before.runs["r"].charges) == ("2026-11-16", 1)
        assert 0 < before.runs["r"].cost.micro <= 1_000_000
        assert book.reserve("r", 2, "train", [ANN, BOB], ONE) == {ANN: ERASED}
        assert book.reserve("s", 1, "train", [ANN], ONE) == {ANN: ERASED}
        assert book.reserve("r", 1, "train", [ANN, BOB], ONE) == {ANN: ERASED}, "asked again"
        assert book.account(ANN) == before
        assert book.account(BOB).runs["r"].charges == 2
        book.verify()


def test_an_erasure_is_one_entry(file: Path) -> None:
    with closing(open_book(file)) as book:
        entries = book.receipt().counter
        assert not book.erase(ANN)
        assert book.receipt().counter == entries
        assert book.erased() == {ANN}
        (entry,) = book.list_entries("erased")
        assert (entry["person"], entry["day"]) == (ANN.hex(), "2026-11-16")


def test_a_client_without_charges(file: Path) -> None:
    with closing(open_book(file)) as book:
        assert book.erase(b"e" * 16)
        assert book.account(b"e" * 16).runs == {}
        book.verify()
        with pytest.raises(ValueError, match="16 bytes"):
            book.erase(b"patient 7")


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM erased",
        "UPDATE erased SET entry = 1",
        "INSERT INTO erased VALUES (x'02020202020202020202020202020202', 1)",
    ],
)
def test_a_changed_table_is_found(file: Path, statement: str) -> None:
    change(file, statement)
    with closing(open_book(file)) as book, pytest.raises(LedgerError):
        book.verify()


def test_a_charge_after_an_erasure_is_found(file: Path) -> None:
    with closing(open_book(file)) as book:
        book._disk._db.execute("DELETE FROM erased")
        assert book.reserve("r", 2, "train", [ANN], ONE) == {}
        book._disk._db.execute("INSERT INTO erased VALUES (?, 3)", (ANN,))
        with pytest.raises(LedgerError, match="it charges a client that was erased before"):
            book.verify()


def test_a_second_erasure_is_found(file: Path) -> None:
    with closing(open_book(file)) as book:
        book._disk._db.execute("DELETE FROM erased")
        assert book.erase(ANN)
        with pytest.raises(LedgerError, match="it erases a client twice"):
            book.verify()
