"""Lists of clients in a ledger: stored once, named by their hash, and covered by the chain."""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tacit.errors import LedgerError
from tacit.privacy.claim import Pure
from tacit.privacy.policy import Limits, SiteLedger
from tacit.privacy.site_ledger.cohorts import INLINE, count_clients
from tests.privacy.claims import claim

ONE = (claim(Pure(1.0)),)
MANY = [number.to_bytes(16, "big") for number in range(200)]
LIMITS = Limits(max_epsilon_per_run=100, max_epsilon_lifetime=1000)


def open_book(file: Path) -> SiteLedger:
    return SiteLedger(file, limits=LIMITS, delta=1e-5, today=lambda: "2026-11-16")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A ledger of three rounds: all clients twice, half of them once."""
    with closing(open_book(tmp_path / "book.db")) as book:
        for round_no, who in ((1, MANY), (2, MANY), (3, MANY[::2])):
            assert book.reserve("r", round_no, "train", who, ONE) == {}
        book.verify()
    return tmp_path / "book.db"


def change(file: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(file)) as db, db:
        db.execute(statement, values)


def test_a_list_is_stored_once(file: Path) -> None:
    with closing(sqlite3.connect(file)) as db:
        stored = dict(db.execute("SELECT hash, content FROM cohorts").fetchall())
    assert sorted(map(len, stored.values())) == [16 * 100, 16 * 200]
    assert all(hashlib.sha256(content).hexdigest() == name for name, content in stored.items())
    with closing(open_book(file)) as book:
        bodies = [entry.body for entry in book.entries() if entry.kind == "reserved"]
        assert [count_clients(body["paid"][0]) for body in bodies] == [200, 200, 100]
        assert book.read_cohort(bodies[0]["paid"][0]["cohort"]) == b"".join(MANY)
        totals = {one.person: one.runs["r"] for one in book.totals()}
        assert totals[MANY[0]].micro > totals[MANY[1]].micro


def test_a_repeated_request_gets_the_same_decision(file: Path) -> None:
    with closing(open_book(file)) as book:
        assert book.reserve("r", 1, "train", MANY, ONE) == {}
        assert list(book.reserve("r", 3, "train", MANY, ONE)) == MANY[1::2]


def test_few_clients_are_listed_in_the_entry(tmp_path: Path) -> None:
    with closing(open_book(tmp_path / "book.db")) as book:
        book.reserve("r", 1, "train", MANY[:INLINE], ONE)
        book.reserve("s", 1, "train", MANY[: INLINE + 1], ONE)
        kinds = [sorted(entry.body["paid"][0]) for entry in book.entries() if entry.number > 1]
    assert "persons" in kinds[0]
    assert "cohort" in kinds[1]


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("UPDATE cohorts SET content = substr(content, 1, 1600)", "the clients it names"),
        ("UPDATE cohorts SET content = zeroblob(length(content))", "the clients it names"),
        ("DELETE FROM cohorts", "the clients it names"),
        ("INSERT INTO cohorts VALUES ('x', x'00')", "no entry explains"),
    ],
)
def test_a_changed_list_is_found(file: Path, statement: str, why: str) -> None:
    change(file, statement)
    with closing(open_book(file)) as book, pytest.raises(LedgerError, match=why):
        book.verify()


def test_a_changed_list_decides_nothing(file: Path) -> None:
    change(file, "UPDATE cohorts SET content = zeroblob(length(content))")
    with closing(open_book(file)) as book, pytest.raises(LedgerError, match="damaged"):
        book.reserve("r", 1, "train", MANY, ONE)


def test_dropped_responses_leave_the_file(tmp_path: Path) -> None:
    file = tmp_path / "book.db"
    with closing(open_book(file)) as book:
        book.reserve("r", 1, "train", MANY, ONE)
        book.store("r", 1, "train", bytes(32), b"x" * 4_000_000)
    before = file.stat().st_size
    assert before > 4_000_000
    with closing(open_book(file)) as book:
        book.drop_responses("r")
        book.verify()
    assert file.stat().st_size < before - 3_900_000
