"""What a site released in the clear over all runs: facts about its rows, and rows themselves.

Several releases can be combined. Two rows that were equal in one release and differ in the next can
be distinguished, and so can rows of which only one was released. So the ledger keeps, for each row
ever released, the rows that are indistinguishable from it. A release that would make such a group
too small is refused.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from tacit.errors import PolicyError
from tacit.privacy.policy.policy import SharePolicy
from tacit.privacy.site_ledger.chain import encode_canonical
from tacit.privacy.site_ledger.ledger_file import LedgerFile, check_bytes


class RowToRelease(NamedTuple):
    """A row to release: its fingerprint, its client, its label, and a key that equal rows of this
    release share.
    """

    row: bytes
    person: bytes
    label: bytes
    alike: bytes


class ReleasedRow(NamedTuple):
    """A released row: its client, its label, and a number shared by all rows that no release
    distinguishes from it.
    """

    person: bytes
    label: bytes
    alike: int


def record_cleartext(
    disk: LedgerFile, db: sqlite3.Connection, run: str, unit: str, facts_sent: dict[str, Any]
) -> None:
    """Record the facts that a run receives and whom budgets belong to; raise PolicyError if that
    differs from earlier runs.
    """
    last = db.execute("SELECT entry FROM told ORDER BY entry DESC LIMIT 1").fetchone()
    before = disk.entry(int(last[0])).body["unit"] if last else unit
    if before != unit:
        raise PolicyError(
            f"site.toml: {unit}: this site's ledger keeps its budgets under {before}; restore that"
            " setting, since with another client column the same people would get new budgets"
        )
    same = db.execute(
        "SELECT entry FROM told WHERE run = ? ORDER BY entry DESC LIMIT 1", (run,)
    ).fetchone()
    facts = {"run": run, "unit": unit, "told": facts_sent}
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
    """Record which rows are released; raise PolicyError if too few people would be equal in
    everything released so far.

    Returns False if nothing is released, or the same rows as in this run's last entry.
    """
    before, last = read_released(db), find_last_disclosure(disk, db)
    if (hash_released(before) != last["released"]) if last else before:
        raise disk.build_damage_error(
            last["number"] if last else 1, "the released rows were changed"
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
    """Read all rows ever released, by fingerprint."""
    rows = db.execute("SELECT row, person, label, alike FROM released")
    return {
        check_bytes(row): ReleasedRow(check_bytes(person), check_bytes(label), int(alike))
        for row, person, label, alike in rows
    }


def hash_released(rows: dict[bytes, ReleasedRow]) -> str:
    """Hash the released rows as the ledger stores them."""
    content = [
        [row.hex(), one.person.hex(), one.label.hex(), one.alike]
        for row, one in sorted(rows.items())
    ]
    return hashlib.sha256(encode_canonical(content)).hexdigest()


def find_last_disclosure(disk: LedgerFile, db: sqlite3.Connection) -> dict[str, Any] | None:
    """Find the last entry about released rows; None if there is none."""
    query = "SELECT number FROM entries WHERE instr(content, ?) ORDER BY number DESC"
    bodies = (
        disk.entry(int(number)).body
        for (number,) in db.execute(query, (b'"kind":"disclosed"',)).fetchall()
    )
    return next((body for body in bodies if body["kind"] == "disclosed"), None)


def _merge_releases(
    before: dict[bytes, ReleasedRow], leaving: Sequence[RowToRelease]
) -> dict[bytes, ReleasedRow]:
    """Merge earlier and new releases. Rows share a number if they were equal, or absent, in each
    release.
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
            f"share.min_k = {share.min_k:,}: with all rows released in any run,"
            f" {sum(map(len, few)):,} rows would be in groups of as few as"
            f" {min(map(_count_clients, few)):,} clients"
        )
    plain = [group for group in groups if _count_labels(group) < share.min_l]
    if plain:
        found.append(
            f"share.min_l = {share.min_l:,}: with all rows released in any run,"
            f" {sum(map(len, plain)):,} rows would be in groups with as few as"
            f" {min(map(_count_labels, plain)):,} different labels"
        )
    if share.max_share < 1 and len(after) > share.max_share * of_rows:
        found.append(
            f"share.max_share = {share.max_share:g}: {len(after):,} of {of_rows:,} rows would be"
            " released over all runs"
        )
    return found
