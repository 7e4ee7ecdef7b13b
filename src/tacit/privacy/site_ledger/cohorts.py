"""Lists of clients that entries name: a long list is stored once, and entries refer to its hash.

A site whose clients all respond in every round would otherwise store the same list in every entry.
The hash is part of the chain, so a changed list is detected.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Sequence
from typing import Any

from tacit.privacy.site_ledger.ledger_file import check_bytes

INLINE = 8
"""Largest number of clients that an entry lists itself."""
_PSEUDONYM = 16


def store_cohort(db: sqlite3.Connection, persons: Sequence[bytes]) -> dict[str, Any]:
    """Store a list of clients; return how an entry names it: in full, or by hash and length."""
    content = b"".join(persons)
    if len(persons) <= INLINE:
        return {"persons": content.hex()}
    name = hashlib.sha256(content).hexdigest()
    db.execute("INSERT OR IGNORE INTO cohorts VALUES (?, ?)", (name, content))
    return {"cohort": name, "clients": len(persons)}


def count_clients(group: dict[str, Any]) -> int:
    """Number of clients of a list, as an entry names it."""
    return int(group["clients"]) if "cohort" in group else len(group["persons"]) // 2 // _PSEUDONYM


def list_cohorts(body: dict[str, Any]) -> list[str]:
    """Hashes of the lists that an entry refers to."""
    groups = [*body.get("paid", ()), *body.get("refused", ())]
    return [str(group["cohort"]) for group in groups if "cohort" in group]


def expand_cohorts(db: sqlite3.Connection, body: dict[str, Any]) -> dict[str, Any]:
    """An entry that charges clients, with every list in full; raise sqlite3.DatabaseError if a list
    was changed.
    """
    lists = {key: [_expand(db, group) for group in body[key]] for key in ("paid", "refused")}
    return {**body, **lists}


def read_cohort(db: sqlite3.Connection, name: str) -> bytes:
    """Pseudonyms of a stored list; raise sqlite3.DatabaseError if it was changed."""
    row = db.execute("SELECT content FROM cohorts WHERE hash = ?", (name,)).fetchone()
    content = check_bytes(row[0] if row else None)
    if hashlib.sha256(content).hexdigest() != name:
        raise sqlite3.DatabaseError("a stored list of clients was changed")
    return content


def _expand(db: sqlite3.Connection, group: dict[str, Any]) -> dict[str, Any]:
    if "cohort" not in group:
        return group
    content = read_cohort(db, str(group["cohort"]))
    if len(content) != _PSEUDONYM * group["clients"]:
        raise sqlite3.DatabaseError("a stored list of clients has another length")
    kept = {key: value for key, value in group.items() if key not in ("cohort", "clients")}
    return {**kept, "persons": content.hex()}
