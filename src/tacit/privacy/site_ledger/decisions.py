"""Decisions of the owner about runs: each is an entry of the chain, and the last one about a run holds.

An entry holds what the owner decided about, as bound facts: the offer, the plan, the server, the
coordinator, the site's rows and the cost. Their hash is the request's. A run that differs in one of
them has no decision.
"""

from __future__ import annotations

import hashlib
import sqlite3
from dataclasses import dataclass, field
from typing import Any, Literal

from tacit.privacy.site_ledger.chain import encode_canonical
from tacit.privacy.site_ledger.ledger_file import LedgerFile

Verdict = Literal["approved", "refused"]
DECISION_KINDS: tuple[Verdict, ...] = ("approved", "refused")
BoundFacts = dict[str, Any]
"""What a decision is about, as plain JSON values."""


@dataclass(frozen=True, kw_only=True)
class RunDecision:
    """A decision about a run: the verdict, the facts that it binds, who decided and why, and what the
    owner saw besides, such as the budget that was left. `day` is set by the ledger.
    """

    run: str
    verdict: Verdict
    bound: BoundFacts
    by: str = ""
    reason: str = ""
    seen: dict[str, Any] = field(default_factory=dict)
    day: str = ""


def hash_bound(bound: BoundFacts) -> str:
    """SHA-256 of bound facts, in their canonical encoding."""
    return hashlib.sha256(encode_canonical(bound)).hexdigest()


def record_decision(
    disk: LedgerFile, db: sqlite3.Connection, decision: RunDecision, day: str
) -> None:
    """Append a decision to the chain, in place of an earlier one about the same run."""
    facts = {
        "run": decision.run,
        "request": hash_bound(decision.bound),
        "bound": decision.bound,
        "by": decision.by,
        "reason": decision.reason,
        "seen": decision.seen,
        "day": day,
    }
    number = disk.append(decision.verdict, facts)
    db.execute(
        "INSERT INTO decisions VALUES (?, ?) ON CONFLICT (run) DO UPDATE SET entry = excluded.entry",
        (decision.run, number),
    )


def find_decision(disk: LedgerFile, db: sqlite3.Connection, run: str) -> RunDecision | None:
    """The last decision about a run; None if there is none.

    Raises LedgerError if the table names an entry that is no decision about this run.
    """
    row = db.execute("SELECT entry FROM decisions WHERE run = ?", (run,)).fetchone()
    if row is None:
        return None
    entry = disk.entry(int(row[0]))
    if entry.kind not in DECISION_KINDS or entry.body["run"] != run:
        raise disk.build_damage_error(entry.number, "it holds no decision about this run")
    return parse_decision(entry.kind, entry.body)


def parse_decision(kind: str, body: dict[str, Any]) -> RunDecision:
    """Read a decision from the body of its entry."""
    return RunDecision(
        run=body["run"],
        verdict="approved" if kind == "approved" else "refused",
        bound=body["bound"],
        by=body["by"],
        reason=body["reason"],
        seen=body["seen"],
        day=body["day"],
    )
