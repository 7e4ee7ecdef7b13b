"""Which clients can be charged for an exchange, and the entry that charges them; all inside one
transaction of the ledger.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tacit.errors import RequestError
from tacit.privacy.claim import Claim
from tacit.privacy.ledger.account import is_subsampled
from tacit.privacy.policy.policy import Limits
from tacit.privacy.site_ledger.chain import encode_canonical
from tacit.privacy.site_ledger.cohorts import store_cohort
from tacit.privacy.site_ledger.ledger_file import LedgerFile, check_bytes
from tacit.privacy.site_ledger.spending import (
    Claims,
    PrivacyCost,
    compute_cost,
    find_exceeded_limit,
)

PSEUDONYM = 16
"""Length of a pseudonym in bytes."""


class ExchangeKey(NamedTuple):
    """The unit of a charge: one exchange of a round of a run."""

    run: str
    round_no: int
    exchange: str

    def __str__(self) -> str:
        return f"run {self.run!r}, round {self.round_no}, {self.exchange}"


@dataclass(frozen=True)
class ClaimCosts:
    """Privacy loss of claims at a delta; claims are referred to by their hash."""

    delta: float
    known: dict[str, Claims] = field(default_factory=dict)

    def register(self, claims: Claims) -> str:
        """Remember claims and return their hash."""
        name = hashlib.sha256(encode_claims(claims)).hexdigest()
        self.known[name] = claims
        return name

    def compute(self, db: sqlite3.Connection, charged: dict[str, int]) -> PrivacyCost:
        """Privacy loss of a client in a run, from the number of charges of each claim."""
        for name in charged:
            if name not in self.known:
                row = db.execute("SELECT content FROM claims WHERE hash = ?", (name,)).fetchone()
                self.known[name] = decode_claims(check_bytes(row[0] if row else None))
        return compute_cost(
            tuple((self.known[name], times) for name, times in sorted(charged.items())), self.delta
        )


@dataclass(frozen=True, kw_only=True)
class ChargeDecision:
    """Clients that can be charged, grouped by their charges in the run, with the privacy loss; and
    those refused, with the reason.

    `is_round` says whether the exchange counts among the rounds of `day`.
    """

    groups: dict[str, tuple[PrivacyCost, list[bytes]]]
    refused: dict[bytes, str]
    day: str = ""
    is_round: bool = True


def encode_claims(claims: Claims) -> bytes:
    """Encode claims as the ledger stores them."""
    return encode_canonical([claim.to_json() for claim in claims])


def decode_claims(content: bytes) -> Claims:
    """Decode stored claims."""
    try:
        return tuple(Claim.from_json(one) for one in json.loads(content))
    except ValueError:
        raise sqlite3.DatabaseError("stored claims were changed") from None


def decode_counts(charged: str) -> dict[str, int]:
    """Decode how often a client was charged for each claim, as a tally stores it."""
    try:
        found: dict[str, int] = json.loads(charged)
    except (TypeError, ValueError):
        raise sqlite3.DatabaseError("a stored tally was changed") from None
    return found


def split_pseudonyms(text: str) -> list[bytes]:
    """Split the pseudonyms of an entry."""
    whole = bytes.fromhex(text)
    return [whole[start : start + PSEUDONYM] for start in range(0, len(whole), PSEUDONYM)]


def check_pseudonyms(persons: Sequence[bytes], round_no: int) -> list[bytes]:
    """Check pseudonyms and a round number, and drop repeated pseudonyms."""
    if not 0 <= round_no < 2**31:
        raise ValueError(f"round must be from 0 to 2^31 - 1, got {round_no}")
    wrong = next((one for one in persons if len(one) != PSEUDONYM), None)
    if wrong is not None:
        raise ValueError(
            f"a pseudonym must have {PSEUDONYM} bytes, got {len(wrong)}; hash the client's name"
        )
    return list(dict.fromkeys(persons))


def count_after(before: dict[str, int], name: str, claims: Claims, round_no: int) -> dict[str, int]:
    """Charges of a client in a run after one more exchange; under subsampling, one for every round
    so far.
    """
    times = before.get(name, 0)
    once_more = max(times, round_no, 1) if is_subsampled(claims) else times + 1
    return {**before, name: once_more} if claims else before


def decide_charges(
    db: sqlite3.Connection,
    claim_costs: ClaimCosts,
    limits: Limits,
    place: ExchangeKey,
    persons: list[bytes],
    claims: Claims,
) -> ChargeDecision:
    """Decide which clients can be charged; raise BudgetError for an unproven claim."""
    name = claim_costs.register(claims)
    alone = claim_costs.compute(db, count_after({}, name, claims, 1))
    after, costs = dict[str, str](), dict[str, PrivacyCost]()  # many clients have equal charges
    found = ChargeDecision(groups={}, refused={})
    for person in persons:
        rows = db.execute(
            "SELECT run, paid, micro FROM tallies WHERE person = ?", (person,)
        ).fetchall()
        before = next((charged for run, charged, _ in rows if run == place.run), "{}")
        if before not in after:
            charged = count_after(decode_counts(before), name, claims, place.round_no)
            after[before] = encode_canonical(charged).decode()
            costs[after[before]] = claim_costs.compute(db, charged)
        now = after[before]
        life = costs[now].micro + sum(amount for run, _, amount in rows if run != place.run)
        why = find_exceeded_limit(limits, alone, costs[now], life)
        if why:
            found.refused[person] = why
        else:
            found.groups.setdefault(now, (costs[now], []))[1].append(person)
    return found


def charge(
    disk: LedgerFile,
    db: sqlite3.Connection,
    claim_costs: ClaimCosts,
    place: ExchangeKey,
    found: ChargeDecision,
    claims: Claims,
) -> None:
    """Write the entry that charges clients and lists those refused."""
    name, began = claim_costs.register(claims), has_round_begun(db, place)
    reasons: dict[str, list[bytes]] = {}
    for person, why in found.refused.items():
        reasons.setdefault(why, []).append(person)
    charged = [
        {
            "paid": json.loads(now),
            "micro": own.micro,
            "delta": own.delta,
            "bare": own.bare,
            **store_cohort(db, who),
        }
        for now, (own, who) in found.groups.items()
    ]
    refused = [{"why": why, **store_cohort(db, who)} for why, who in reasons.items()]
    facts: dict[str, Any] = {
        "day": found.day,
        "delta": claim_costs.delta,
        "claims": name,
        "paid": charged,
        "refused": refused,
    }
    if found.is_round and not claims:
        facts["round"] = True
    number = disk.append("reserved", {**place._asdict(), **facts})
    db.execute("INSERT OR IGNORE INTO claims VALUES (?, ?)", (name, encode_claims(claims)))
    db.executemany(
        "INSERT OR REPLACE INTO tallies VALUES (?, ?, ?, ?, ?, ?)",
        [
            (one, place.run, now, own.micro, own.delta, own.bare)
            for now, (own, who) in found.groups.items()
            for one in who
        ],
    )
    db.execute(
        "INSERT INTO exchanges VALUES (?, ?, ?, ?, NULL, NULL, ?)", (*place, number, found.is_round)
    )
    if found.is_round and not began:
        db.execute(
            "INSERT INTO days VALUES (?, 1) ON CONFLICT (day) DO UPDATE SET rounds = rounds + 1",
            (found.day,),
        )


def repeat_decision(
    before: dict[str, Any], place: ExchangeKey, persons: list[bytes], name: str
) -> dict[bytes, str]:
    """Find the refusals of a repeated exchange; raise RequestError if it is repeated with other
    claims.
    """
    if before["claims"] != name:
        raise RequestError(
            "answered",
            f"{place}: was requested before with other privacy claims; each exchange gets one response",
        )
    charged = {one for group in before["paid"] for one in split_pseudonyms(group["persons"])}
    refused = {
        one: group["why"]
        for group in before["refused"]
        for one in split_pseudonyms(group["persons"])
    }
    late = "was not among the clients when this exchange was charged; each exchange is charged once"
    return {one: refused.get(one, late) for one in persons if one not in charged}


def has_round_begun(db: sqlite3.Connection, place: ExchangeKey) -> bool:
    """Whether an exchange of this round already counted as a round."""
    query = "SELECT 1 FROM exchanges WHERE run = ? AND round_no = ? AND paid"
    return db.execute(query, (place.run, place.round_no)).fetchone() is not None


def advance_day(db: sqlite3.Connection, today: str) -> str:
    """Today, or the latest recorded day: setting the clock back gives no new rounds."""
    latest = db.execute("SELECT max(day) FROM days").fetchone()[0]
    return max(today, latest or "")


def refuse_round(db: sqlite3.Connection, limits: Limits, place: ExchangeKey, day: str) -> str:
    """Say why no further round may begin in this run or on a day; empty if it may."""
    if place.round_no > limits.max_rounds_per_run:
        return (
            f"limits.max_rounds_per_run = {limits.max_rounds_per_run:,}: this is round"
            f" {place.round_no:,}"
        )
    counted = db.execute("SELECT rounds FROM days WHERE day = ?", (day,)).fetchone()
    if counted and counted[0] >= limits.max_rounds_per_day and not has_round_begun(db, place):
        return (
            f"limits.max_rounds_per_day = {limits.max_rounds_per_day:,}: this site already took"
            f" part in {counted[0]:,} rounds on {day}"
        )
    return ""
