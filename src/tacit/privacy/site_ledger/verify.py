"""Verification of a ledger from its first entry to its last: the chain, its claims, and every tally
recomputed.
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
from tacit.privacy.site_ledger.cohorts import expand_cohorts, list_cohorts
from tacit.privacy.site_ledger.decisions import DECISION_KINDS, hash_bound
from tacit.privacy.site_ledger.ledger_file import LedgerFile, check_bytes
from tacit.privacy.site_ledger.releases import hash_released, read_released

_NOTHING = hashlib.sha256(b"[]").hexdigest()
"""Hash of an empty list of claims."""
Tally = tuple[str, int, float, int]
"""Charges of a client in a run, as stored: counts by claim, millionths of epsilon, delta, and
whether a part has no epsilon.
"""


@dataclass
class ReplayedTables:
    """Contents that the tables must have, computed from the entries alone."""

    claim_costs: dict[float, ClaimCosts] = field(default_factory=dict)
    tallies: dict[tuple[bytes, str], tuple[int, Tally]] = field(default_factory=dict)
    exchanges: dict[ExchangeKey, tuple[int, int | None, bytes | None, int]] = field(
        default_factory=dict
    )
    rounds: dict[tuple[str, int], str] = field(default_factory=dict)
    answers: dict[int, tuple[str, str]] = field(default_factory=dict)
    forgotten: dict[str, int] = field(default_factory=dict)
    facts_sent: dict[int, str] = field(default_factory=dict)
    released: tuple[int, str] | None = None
    erased: dict[bytes, int] = field(default_factory=dict)
    decisions: dict[str, int] = field(default_factory=dict)
    cohorts: set[str] = field(default_factory=set)


def verify(disk: LedgerFile) -> None:
    """Raise LedgerError, naming the first bad entry, unless the chain is intact and every table
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
                raise disk.build_damage_error(number, wrong)
        if whole != "ok":
            raise disk.build_damage_error(number, f"SQLite finds the file damaged ({whole})")
        _compare(disk, db, then)


def _replay(db: sqlite3.Connection, then: ReplayedTables, number: int, body: dict[str, Any]) -> str:
    """Apply one entry; return what is wrong with it, or an empty string."""
    kind = body["kind"]
    if kind == "forgotten":
        then.forgotten[body["run"]] = number
    if kind == "told":
        then.facts_sent[number] = body["run"]
    if kind == "disclosed":
        then.released = (number, body["released"])
    if kind == "erased" and then.erased.setdefault(bytes.fromhex(body["person"]), number) < number:
        return "it erases a client twice"
    if kind in DECISION_KINDS:
        then.decisions[body["run"]] = number
        if hash_bound(body["bound"]) != body["request"]:
            return "it decides about another request than the one that it describes"
    if kind not in ("reserved", "stored"):
        return ""
    place = ExchangeKey(body["run"], body["round_no"], body["exchange"])
    if kind == "reserved":
        if place in then.exchanges:
            return "it charges an exchange twice"
        charged = body["claims"] != _NOTHING or body.get("round", False)
        then.exchanges[place] = (number, None, None, int(charged))
        if charged:
            then.rounds.setdefault((place.run, place.round_no), body["day"])
        return _replay_charges(db, then, number, place, body)
    if place not in then.exchanges or then.exchanges[place][1] is not None:
        return "it stores a response that was not reserved, or a second one"
    reserved, _, _, charged = then.exchanges[place]
    then.exchanges[place] = (reserved, number, bytes.fromhex(body["request"]), charged)
    then.answers[number] = (body["answer"], place.run)
    return ""


def _replay_charges(
    db: sqlite3.Connection,
    then: ReplayedTables,
    number: int,
    place: ExchangeKey,
    body: dict[str, Any],
) -> str:
    """Recompute the charges of an entry; return what does not match, or an empty string."""
    then.cohorts.update(list_cohorts(body))
    try:
        body = expand_cohorts(db, body)
    except sqlite3.DatabaseError:
        return "the clients it names were changed"
    name, claim_costs = (
        body["claims"],
        then.claim_costs.setdefault(body["delta"], ClaimCosts(body["delta"])),
    )
    row = db.execute("SELECT content FROM claims WHERE hash = ?", (name,)).fetchone()
    if row is None or hashlib.sha256(check_bytes(row[0])).hexdigest() != name:
        return "the claims it charges for were changed"
    claims = (
        claim_costs.known[name] if name in claim_costs.known else decode_claims(check_bytes(row[0]))
    )
    for group in body["paid"]:
        charged = encode_canonical(group["paid"]).decode()
        own = claim_costs.compute(db, group["paid"])
        if (own.micro, own.delta, own.bare) != (group["micro"], group["delta"], group["bare"]):
            return "its charge does not match the privacy loss of its claims"
        tally = (charged, own.micro, own.delta, int(own.bare))
        befores = dict[str, bool]()
        for person in split_pseudonyms(group["persons"]):
            if person in then.erased:
                return "it charges a client that was erased before"
            before = then.tallies.get((person, place.run), (0, ("{}", 0, 0.0, 0)))[1][0]
            if before not in befores:
                befores[before] = (
                    encode_canonical(
                        count_after(decode_counts(before), name, claims, place.round_no)
                    ).decode()
                    == charged
                )
            if not befores[before]:
                return "a client's charges do not follow from the entries before"
            then.tallies[person, place.run] = (number, tally)
    return ""


def _compare(disk: LedgerFile, db: sqlite3.Connection, then: ReplayedTables) -> None:
    """Raise LedgerError if a table does not match the entries, naming the earliest entry concerned."""
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
        (row[0], "its exchange was changed")
        for place, row in then.exchanges.items()
        if found.get(place) != row
    ]
    hashes = {
        int(one[0]): hashlib.sha256(check_bytes(one[1])).hexdigest()
        for one in db.execute("SELECT * FROM answers")
    }
    for number, (digest, run) in then.answers.items():
        if run not in then.forgotten and hashes.get(number) != digest:
            bad.append((number, "its stored response was changed"))
    days = dict(db.execute("SELECT day, rounds FROM days").fetchall())
    counted = dict[str, int]()
    for day in then.rounds.values():
        counted[day] = counted.get(day, 0) + 1
    forgotten = {one[0] for one in db.execute("SELECT run FROM forgotten")}
    facts_sent = dict(db.execute("SELECT entry, run FROM told").fetchall())
    bad += [
        (number, "the facts it sent are not in the tables")
        for number, run in then.facts_sent.items()
        if facts_sent.get(number) != run
    ]
    gone = read_released(db)
    if then.released and hash_released(gone) != then.released[1]:
        bad.append((then.released[0], "the released rows were changed"))
    erased = {check_bytes(one[0]): one[1] for one in db.execute("SELECT * FROM erased")}
    bad += [
        (number, "the client it erases is not in the tables")
        for person, number in then.erased.items()
        if erased.get(person) != number
    ]
    decisions = dict(db.execute("SELECT run, entry FROM decisions").fetchall())
    bad += [
        (number, "the decision that it holds is not in the tables")
        for run, number in then.decisions.items()
        if decisions.get(run) != number
    ]
    more = [
        len(decisions) > len(then.decisions),
        len(erased) > len(then.erased),
        {one[0] for one in db.execute("SELECT hash FROM cohorts")} != then.cohorts,
        len(kept) > len(then.tallies),
        len(found) > len(then.exchanges),
        len(facts_sent) > len(then.facts_sent),
        gone and not then.released,
    ]
    last = disk.receipt().counter
    if any(more) or days != counted or forgotten != set(then.forgotten):
        bad.append((last, "tables contain rows that no entry explains"))
    if bad:
        raise disk.build_damage_error(*min(bad))
