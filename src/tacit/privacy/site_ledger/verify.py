"""A ledger from its first entry to its last: the chain, the claims it names, and every tally
reckoned again.
"""

from __future__ import annotations

import hashlib
import sqlite3
from dataclasses import dataclass, field
from typing import Any

from tacit.errors import BudgetError
from tacit.privacy.site_ledger.chain import encode_canonical
from tacit.privacy.site_ledger.charging import (
    ClaimCosts,
    ExchangeKey,
    count_after,
    decode_claims,
    decode_counts,
    split_pseudonyms,
)
from tacit.privacy.site_ledger.disk import LedgerFile, check_bytes
from tacit.privacy.site_ledger.releases import hash_released, read_released

_NOTHING = hashlib.sha256(b"[]").hexdigest()
"""The hash of no claims."""
Tally = tuple[str, int, float, int]
"""What a client paid in a run, as it is kept: for what, millionths of epsilon, at which delta, and
whether part of it has none.
"""


@dataclass
class ReplayedTables:
    """What the tables must hold, from the entries alone."""

    prices: dict[float, ClaimCosts] = field(default_factory=dict)
    tallies: dict[tuple[bytes, str], tuple[int, Tally]] = field(default_factory=dict)
    exchanges: dict[ExchangeKey, tuple[int, int | None, bytes | None, int]] = field(
        default_factory=dict
    )
    rounds: dict[tuple[str, int], str] = field(default_factory=dict)
    answers: dict[int, tuple[str, str]] = field(default_factory=dict)
    forgotten: dict[str, int] = field(default_factory=dict)
    told: dict[int, str] = field(default_factory=dict)
    released: tuple[int, str] | None = None


def verify(disk: LedgerFile) -> None:
    """Raise LedgerError, naming the first bad entry, unless the chain is whole and every table
    follows from it.
    """
    with disk.reading() as db:
        whole = db.execute("PRAGMA integrity_check(1)").fetchone()[0]
        then, number = ReplayedTables(), 0
        for number in range(1, disk.receipt().counter + 1):
            body = disk.entry(number).body
            try:
                wrong = _replay(db, then, number, body)
            except (KeyError, TypeError, ValueError, BudgetError) as error:
                wrong = f"it cannot be read ({error})"
            if wrong:
                raise disk.damaged(number, wrong)
        if whole != "ok":
            raise disk.damaged(number, f"SQLite finds the file damaged ({whole})")
        _compare(disk, db, then)


def _replay(db: sqlite3.Connection, then: ReplayedTables, number: int, body: dict[str, Any]) -> str:
    """Take one entry into account; return what is wrong with it, or nothing."""
    kind = body["kind"]
    if kind == "forgotten":
        then.forgotten[body["run"]] = number
    if kind == "told":
        then.told[number] = body["run"]
    if kind == "disclosed":
        then.released = (number, body["released"])
    if kind not in ("reserved", "stored"):
        return ""
    place = ExchangeKey(body["run"], body["round_no"], body["exchange"])
    if kind == "reserved":
        if place in then.exchanges:
            return "it charges for what was paid for"
        paid = body["claims"] != _NOTHING or body.get("round", False)
        then.exchanges[place] = (number, None, None, int(paid))
        if paid:
            then.rounds.setdefault((place.run, place.round_no), body["day"])
        return _replay_charges(db, then, number, place, body)
    if place not in then.exchanges or then.exchanges[place][1] is not None:
        return "it stores an answer that was not reserved, or a second one"
    reserved, _, _, paid = then.exchanges[place]
    then.exchanges[place] = (reserved, number, bytes.fromhex(body["request"]), paid)
    then.answers[number] = (body["answer"], place.run)
    return ""


def _replay_charges(
    db: sqlite3.Connection,
    then: ReplayedTables,
    number: int,
    place: ExchangeKey,
    body: dict[str, Any],
) -> str:
    """Charge everybody an entry names, once more; return what does not come out as it is
    written.
    """
    name, prices = body["claims"], then.prices.setdefault(body["delta"], ClaimCosts(body["delta"]))
    row = db.execute("SELECT content FROM claims WHERE hash = ?", (name,)).fetchone()
    if row is None or hashlib.sha256(check_bytes(row[0])).hexdigest() != name:
        return "the claims it charges for are not as they were written"
    claims = prices.known[name] if name in prices.known else decode_claims(check_bytes(row[0]))
    for group in body["paid"]:
        paid = encode_canonical(group["paid"]).decode()
        own = prices.cost(db, group["paid"])
        if (own.micro, own.delta, own.bare) != (group["micro"], group["delta"], group["bare"]):
            return "what it charged is not what its claims cost"
        tally = (paid, own.micro, own.delta, int(own.bare))
        befores = dict[str, bool]()
        for person in split_pseudonyms(group["persons"]):
            before = then.tallies.get((person, place.run), (0, ("{}", 0, 0.0, 0)))[1][0]
            if before not in befores:
                befores[before] = (
                    encode_canonical(
                        count_after(decode_counts(before), name, claims, place.round_no)
                    ).decode()
                    == paid
                )
            if not befores[before]:
                return "what it says a client has paid does not follow from the entries before"
            then.tallies[person, place.run] = (number, tally)
    return ""


def _compare(disk: LedgerFile, db: sqlite3.Connection, then: ReplayedTables) -> None:
    """Raise LedgerError if a table does not hold what the entries say, naming the earliest entry it
    is about.
    """
    bad: list[tuple[int, str]] = []
    kept = {
        (check_bytes(one[0]), one[1]): tuple(one[2:]) for one in db.execute("SELECT * FROM tallies")
    }
    bad += [
        (number, "its charge is not in the tallies")
        for key, (number, tally) in then.tallies.items()
        if kept.get(key) != tally
    ]
    found = {ExchangeKey(*one[:3]): tuple(one[3:]) for one in db.execute("SELECT * FROM exchanges")}
    bad += [
        (row[0], "its exchange is not as it was")
        for place, row in then.exchanges.items()
        if found.get(place) != row
    ]
    hashes = {
        int(one[0]): hashlib.sha256(check_bytes(one[1])).hexdigest()
        for one in db.execute("SELECT * FROM answers")
    }
    for number, (digest, run) in then.answers.items():
        if run not in then.forgotten and hashes.get(number) != digest:
            bad.append((number, "the answer it stored is not as it was written"))
    days = dict(db.execute("SELECT day, rounds FROM days").fetchall())
    counted = dict[str, int]()
    for day in then.rounds.values():
        counted[day] = counted.get(day, 0) + 1
    forgotten = {one[0] for one in db.execute("SELECT run FROM forgotten")}
    told = dict(db.execute("SELECT entry, run FROM told").fetchall())
    bad += [
        (number, "that it told is not in the tables")
        for number, run in then.told.items()
        if told.get(number) != run
    ]
    gone = read_released(db)
    if then.released and hash_released(gone) != then.released[1]:
        bad.append((then.released[0], "the rows that left are not as they were written"))
    more = [
        len(kept) > len(then.tallies),
        len(found) > len(then.exchanges),
        len(told) > len(then.told),
        gone and not then.released,
    ]
    last = disk.receipt().counter
    if any(more) or days != counted or forgotten != set(then.forgotten):
        bad.append((last, "tables hold what no entry says"))
    if bad:
        raise disk.damaged(*min(bad))
