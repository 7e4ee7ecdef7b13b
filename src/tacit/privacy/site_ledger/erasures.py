"""Erased clients of a site, and what the ledger knows about one client.

An erasure is an entry of the chain. It names the client by pseudonym. Charges before it stay; there
are none after it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

from tacit.privacy.site_ledger.charging import check_pseudonyms, decode_counts
from tacit.privacy.site_ledger.ledger_file import LedgerFile, check_bytes
from tacit.privacy.site_ledger.spending import PrivacyCost

ERASED = "the owner of the site erased this client"
"""Reason by which an erased client is not charged."""


class RunCharge(NamedTuple):
    """Privacy loss of a client in a run, and how often it was charged."""

    cost: PrivacyCost
    charges: int


class ClientAccount(NamedTuple):
    """What the ledger knows about one client: charges by run, released rows, day of the erasure."""

    runs: dict[str, RunCharge]
    released_rows: int
    erased_on: str | None


def record_erasure(disk: LedgerFile, db: sqlite3.Connection, person: bytes, day: str) -> bool:
    """Record that a client is erased; return False if it already was."""
    check_pseudonyms([person], 0)
    if person in read_erased(db):
        return False
    number = disk.append("erased", {"person": person.hex(), "day": day})
    db.execute("INSERT INTO erased VALUES (?, ?)", (person, number))
    return True


def read_erased(db: sqlite3.Connection) -> frozenset[bytes]:
    """Pseudonyms of all erased clients."""
    return frozenset(check_bytes(person) for (person,) in db.execute("SELECT person FROM erased"))


def select_erased(db: sqlite3.Connection, persons: Sequence[bytes]) -> dict[bytes, str]:
    """Those of some clients that are erased, with the reason for refusing them."""
    erased = read_erased(db)
    return {one: ERASED for one in persons if one in erased}


def read_account(disk: LedgerFile, db: sqlite3.Connection, person: bytes) -> ClientAccount:
    """Read what the ledger knows about one client."""
    rows = db.execute(
        "SELECT run, paid, micro, delta, bare FROM tallies WHERE person = ?", (person,)
    )
    runs = {
        run: RunCharge(PrivacyCost(micro, delta, bool(bare)), sum(decode_counts(paid).values()))
        for run, paid, micro, delta, bare in rows
    }
    released = db.execute("SELECT count(*) FROM released WHERE person = ?", (person,)).fetchone()
    erased = db.execute("SELECT entry FROM erased WHERE person = ?", (person,)).fetchone()
    day = disk.entry(int(erased[0])).body["day"] if erased else None
    return ClientAccount({run: one for run, one in runs.items() if one.charges}, released[0], day)
