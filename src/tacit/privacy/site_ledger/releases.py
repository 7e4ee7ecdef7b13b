"""What left a site in the clear, over all runs: what it told of its rows, and which rows it handed
over.

Rows of several releases can be laid side by side. Two rows that were alike in one release and not
in the next are told apart, and so are rows of which one left and the other did not. So the ledger
keeps for each row that ever left which other rows nobody can tell it from, and a release that would
leave too few of them is refused.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from tacit.errors import PolicyError
from tacit.privacy.policy.policy import SharePolicy
from tacit.privacy.site_ledger.chain import encode_canonical
from tacit.privacy.site_ledger.disk import LedgerFile, check_bytes


class RowToRelease(NamedTuple):
    """A row that would leave: its fingerprint, whose it is, its label, and the same bytes for all
    rows alike in this release.
    """

    row: bytes
    person: bytes
    label: bytes
    alike: bytes


class ReleasedRow(NamedTuple):
    """A row that left: whose it is, its label, and the same number for all rows that no release
    tells from it.
    """

    person: bytes
    label: bytes
    alike: int


def record_cleartext(
    disk: LedgerFile, db: sqlite3.Connection, run: str, unit: str, told: dict[str, Any]
) -> None:
    """Write down what a run is told and whom budgets belong to; raise PolicyError if they belonged
    to others before.
    """
    last = db.execute("SELECT entry FROM told ORDER BY entry DESC LIMIT 1").fetchone()
    before = disk.entry(int(last[0])).body["unit"] if last else unit
    if before != unit:
        raise PolicyError(
            f"site.toml: {unit}: the budgets in this site's ledger are kept under {before}; put"
            " that back, since under another client column the same people would get new budgets"
        )
    same = db.execute(
        "SELECT entry FROM told WHERE run = ? ORDER BY entry DESC LIMIT 1", (run,)
    ).fetchone()
    facts = {"run": run, "unit": unit, "told": told}
    if same and {key: disk.entry(int(same[0])).body[key] for key in facts} == facts:
        return
    db.execute("INSERT INTO told VALUES (?, ?)", (disk.append("told", facts), run))


def disclose(
    disk: LedgerFile,
    db: sqlite3.Connection,
    leaving: Sequence[RowToRelease],
    of_rows: int,
    facts: dict[str, Any],
    share: SharePolicy,
) -> bool:
    """Write down which rows leave; raise PolicyError if too few people would be alike in everything
    that left by then.

    Return False if nothing leaves, or the same rows as this run's last entry says.
    """
    before, last = read_released(db), find_last_disclosure(disk, db)
    if (hash_released(before) != last["released"]) if last else before:
        raise disk.damaged(
            last["number"] if last else 1, "the rows that left are not as they were written"
        )
    if not leaving:
        return False
    after = _merge_releases(before, leaving)
    found = _find_refusals(after, of_rows, share)
    if found:
        raise PolicyError("\n".join(found))
    if after == before and last and last["run"] == facts["run"]:
        return False
    db.execute("DELETE FROM released")
    db.executemany(
        "INSERT INTO released VALUES (?, ?, ?, ?)", [(row, *one) for row, one in after.items()]
    )
    counted = {
        "rows": len(leaving),
        "of_rows": of_rows,
        "rows_of_all_runs": len(after),
        "released": hash_released(after),
        "fewest_clients_alike": min(map(_count_clients, _group_alike(after.values()))),
        "fewest_labels_alike": min(map(_count_labels, _group_alike(after.values()))),
    }
    disk.append("disclosed", {**facts, **counted})
    return True


def read_released(db: sqlite3.Connection) -> dict[bytes, ReleasedRow]:
    """Return all rows that ever left, by their fingerprints."""
    rows = db.execute("SELECT row, person, label, alike FROM released")
    return {
        check_bytes(row): ReleasedRow(check_bytes(person), check_bytes(label), int(alike))
        for row, person, label, alike in rows
    }


def hash_released(rows: dict[bytes, ReleasedRow]) -> str:
    """Return the hash of rows that left, as the ledger knows them."""
    content = [
        [row.hex(), one.person.hex(), one.label.hex(), one.alike]
        for row, one in sorted(rows.items())
    ]
    return hashlib.sha256(encode_canonical(content)).hexdigest()


def find_last_disclosure(disk: LedgerFile, db: sqlite3.Connection) -> dict[str, Any] | None:
    """Return the last entry that says which rows left; None if none ever did."""
    query = "SELECT number FROM entries WHERE instr(content, ?) ORDER BY number DESC"
    bodies = (
        disk.entry(int(number)).body
        for (number,) in db.execute(query, (b'"kind":"disclosed"',)).fetchall()
    )
    return next((body for body in bodies if body["kind"] == "disclosed"), None)


def _merge_releases(
    before: dict[bytes, ReleasedRow], leaving: Sequence[RowToRelease]
) -> dict[bytes, ReleasedRow]:
    """Return all rows that will have left; rows have one number if they were alike, or missing, in
    each release.
    """
    now = {one.row: one for one in leaving}
    whose = {row: (one.person, one.label) for rows in (now, before) for row, one in rows.items()}
    signs = {
        row: (before[row].alike if row in before else -1, now[row].alike if row in now else b"")
        for row in whose
    }
    numbers = {sign: number for number, sign in enumerate(sorted(set(signs.values())))}
    return {row: ReleasedRow(*whose[row], numbers[sign]) for row, sign in signs.items()}


def _group_alike(rows: Iterable[ReleasedRow]) -> list[list[ReleasedRow]]:
    found: dict[int, list[ReleasedRow]] = {}
    for one in rows:
        found.setdefault(one.alike, []).append(one)
    return list(found.values())


def _count_clients(rows: list[ReleasedRow]) -> int:
    return len({one.person for one in rows})


def _count_labels(rows: list[ReleasedRow]) -> int:
    return len({one.label for one in rows})


def _find_refusals(after: dict[bytes, ReleasedRow], of_rows: int, share: SharePolicy) -> list[str]:
    groups, found = _group_alike(after.values()), list[str]()
    few = [group for group in groups if _count_clients(group) < share.min_k]
    if few:
        found.append(
            f"share.min_k = {share.min_k:,}: by all rows that left in any run,"
            f" {sum(map(len, few)):,} rows could be told from all but those of"
            f" {min(map(_count_clients, few)):,} clients"
        )
    plain = [group for group in groups if _count_labels(group) < share.min_l]
    if plain:
        found.append(
            f"share.min_l = {share.min_l:,}: by all rows that left in any run,"
            f" {sum(map(len, plain)):,} rows could be told from all but rows with"
            f" {min(map(_count_labels, plain)):,} different labels"
        )
    if share.max_share < 1 and len(after) > share.max_share * of_rows:
        found.append(
            f"share.max_share = {share.max_share:g}: {len(after):,} of {of_rows:,} rows would have"
            " left, over all runs"
        )
    return found
