"""The ledger of a site: who has paid how much, on the disk before anything leaves, and what was
answered.

The order is policy, reserve, compute, randomise, store, send. Whoever stops in between has paid too
much, never too little; asked again, the site charges nothing and sends the very bytes it stored. A
client is known here by a pseudonym of 16 bytes that its site makes with a key of its own, never by
name.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from tacit.errors import BudgetError, LedgerError, PolicyError
from tacit.privacy.policy.policy import Limits, SharePolicy
from tacit.privacy.site_ledger import releases
from tacit.privacy.site_ledger.chain import LedgerEntry, Receipt
from tacit.privacy.site_ledger.charging import (
    ClaimCosts,
    ExchangeKey,
    advance_day,
    charge,
    check_pseudonyms,
    decide_charges,
    refuse_round,
    repeat_decision,
)
from tacit.privacy.site_ledger.disk import LedgerFile, check_bytes
from tacit.privacy.site_ledger.releases import RowToRelease
from tacit.privacy.site_ledger.spending import Claims, PrivacyCost


@dataclass(frozen=True, kw_only=True)
class ClientSpending:
    """What a client has paid: by run, and for life. Epsilons of runs add up, and so do their
    deltas.
    """

    person: bytes
    runs: dict[str, PrivacyCost]

    @property
    def life(self) -> PrivacyCost:
        """What all runs cost together."""
        each = self.runs.values()
        return PrivacyCost(
            sum(one.micro for one in each),
            sum(one.delta for one in each),
            any(one.bare for one in each),
        )


def get_utc_day() -> str:
    """Return the date in Greenwich."""
    return datetime.now(UTC).date().isoformat()


class SiteLedger:
    """The ledger of one site. Several processes may have the same one open.

    `delta` is that of totals per run; where the owner allows less, it is what the owner allows.
    """

    def __init__(
        self,
        file: Path,
        *,
        limits: Limits,
        delta: float,
        today: Callable[[], str] = get_utc_day,
        on_close: Callable[[Receipt], None] = lambda receipt: None,
    ) -> None:
        """`on_close` gets the last receipt once the file is closed."""
        self.limits, self._today, self._on_close = limits, today, on_close
        self._prices = ClaimCosts(min(delta, limits.delta))
        self._disk = LedgerFile(file)

    def close(self) -> None:
        """Close the file."""
        last = self.receipt()
        self._disk.close()
        self._on_close(last)

    def abandon(self) -> None:
        """Close the file of a ledger that must not be used."""
        self._disk.close()

    def reserve(
        self,
        run: str,
        round_no: int,
        exchange: str,
        persons: Sequence[bytes],
        claims: Claims,
        *,
        is_round: bool = False,
    ) -> dict[bytes, str]:
        """Return who cannot pay for an answer, and why; all others have paid, on the disk.

        Guarantees: asked again for the same run, round and exchange it charges nothing and returns
        the same; who was not asked the first time is refused. Where nobody can pay nothing is
        written. Raises PolicyError if the same is asked with other claims. Edge cases: claims about
        a sample are paid for every round so far. An exchange without claims costs nothing and is no
        round, unless `is_round` says so, as for exact counts.
        """
        place, asked = ExchangeKey(run, round_no, exchange), check_pseudonyms(persons, round_no)
        with self._disk.writing() as db:
            before = self._row(db, place)
            if before is not None:
                return repeat_decision(
                    self._disk.entry(int(before[0])).body, place, asked, self._prices.learn(claims)
                )
            day = advance_day(db, self._today())
            counted = is_round or bool(claims)
            why = refuse_round(db, self.limits, place, day) if counted else ""
            if why:
                return dict.fromkeys(asked, why)
            try:
                found = decide_charges(db, self._prices, self.limits, place, asked, claims)
            except BudgetError as error:
                return dict.fromkeys(asked, str(error))
            if found.groups:
                charge(
                    self._disk,
                    db,
                    self._prices,
                    place,
                    replace(found, day=day, is_round=counted),
                    claims,
                )
            return found.refused

    def store(
        self, run: str, round_no: int, exchange: str, request_hash: bytes, answer: bytes
    ) -> None:
        """Keep an answer, on the disk, before it is sent; raise PolicyError if nothing was reserved
        or another answer is kept.
        """
        place = ExchangeKey(run, round_no, exchange)
        with self._disk.writing() as db:
            row = self._row(db, place)
            if row is None:
                raise PolicyError(f"{place}: nothing was reserved for it, so nothing may leave")
            if row[1] is not None:
                if (check_bytes(row[2]), self._content(db, int(row[1]))) == (request_hash, answer):
                    return
                raise PolicyError(f"{place}: was answered already; send the answer that is stored")
            digest = hashlib.sha256(answer).hexdigest()
            facts = {
                **place._asdict(),
                "request": request_hash.hex(),
                "answer": digest,
                "bytes": len(answer),
            }
            number = self._disk.append("stored", facts)
            db.execute("INSERT INTO answers VALUES (?, ?)", (number, answer))
            change = (
                "UPDATE exchanges SET stored = ?, request = ? WHERE run = ? AND round_no = ? AND"
                " exchange = ?"
            )
            db.execute(change, (number, request_hash, *place))

    def answer(self, run: str, round_no: int, exchange: str, request_hash: bytes) -> bytes | None:
        """Return the answer that is stored, to be sent again; None if there is none.

        Raises PolicyError if another question was answered in its place, or the run's answers were
        forgotten.
        """
        place = ExchangeKey(run, round_no, exchange)
        with self._disk.reading() as db:
            row = self._row(db, place)
            if row is None or row[1] is None:
                return None
            if check_bytes(row[2]) != request_hash:
                raise PolicyError(
                    f"{place}: was asked before with another question; it is answered once"
                )
            return self._content(db, int(row[1]))

    def forget(self, run: str) -> None:
        """Drop the answers of a run that has ended. What it cost stays charged, and the run is
        never answered again.
        """
        with self._disk.writing() as db:
            if db.execute("SELECT 1 FROM forgotten WHERE run = ?", (run,)).fetchone():
                return
            self._disk.append("forgotten", {"run": run})
            db.execute(
                "DELETE FROM answers WHERE entry IN (SELECT stored FROM exchanges WHERE run = ?)",
                (run,),
            )
            db.execute("INSERT INTO forgotten VALUES (?)", (run,))

    def record_cleartext(self, run: str, unit: str, told: dict[str, Any]) -> None:
        """Write down, on the disk, what a run is told of the rows, before it is told.

        `unit` says whom budgets belong to; raises PolicyError if they belonged to others before.
        """
        with self._disk.writing() as db:
            releases.record_cleartext(self._disk, db, run, unit, told)

    def disclose(
        self,
        leaving: Sequence[RowToRelease],
        of_rows: int,
        facts: dict[str, Any],
        share: SharePolicy,
    ) -> bool:
        """Write down, on the disk, which rows leave, before they do; raise PolicyError if too few
        of them would be alike.

        `facts` names the run. All releases of all runs count together. Return whether it was not
        written down before.
        """
        with self._disk.writing() as db:
            return releases.disclose(self._disk, db, leaving, of_rows, facts, share)

    def note_loss(self, known: Receipt | None, left: int, runs: Sequence[str]) -> None:
        """Write down, on the disk, that the owner goes on without entries that are lost.

        `known` is the last receipt of the ledger that was, if there is one, `left` how many entries
        were still there, `runs` those that were open.
        """
        facts = {"entries_left": left, "runs_ended": list(runs), "day": self._today()}
        had = {"entries_before": known.counter, "head_before": known.head.hex()} if known else {}
        with self._disk.writing():
            self._disk.append("loss accepted", {**facts, **had})

    def said(self, kind: Literal["told", "disclosed", "loss accepted"]) -> list[dict[str, Any]]:
        """Return what was told of the rows, or which rows were handed over, the first entry
        first.
        """
        return [entry.body for entry in self.entries() if entry.kind == kind]

    def entries(self) -> Iterator[LedgerEntry]:
        """Yield every entry, the first one first, each checked against the one before."""
        for number in range(1, self.receipt().counter + 1):
            with self._disk.reading():
                entry = self._disk.entry(number)
            yield entry

    def totals(self) -> list[ClientSpending]:
        """Return what each client has paid."""
        found: dict[bytes, dict[str, PrivacyCost]] = {}
        with self._disk.reading() as db:
            for person, run, amount, delta, bare in db.execute(
                "SELECT person, run, micro, delta, bare FROM tallies"
            ):
                found.setdefault(check_bytes(person), {})[run] = PrivacyCost(
                    amount, delta, bool(bare)
                )
        return [ClientSpending(person=person, runs=runs) for person, runs in found.items()]

    def receipt(self) -> Receipt:
        """Return how far the ledger has come, for others to keep."""
        with self._disk.reading():
            return self._disk.receipt()

    def check_receipt(self, counter: int, head: bytes) -> None:
        """Raise LedgerError if this is an older copy of the ledger that gave out a receipt, or
        another ledger.
        """
        with self._disk.reading():
            now = self._disk.receipt().counter
            if now < counter:
                raise LedgerError(
                    f"{self._disk.file}: the ledger is older than its last receipt: it has {now:,}"
                    f" entries, the receipt says {counter:,}; put the newer file back; no answer is"
                    " sent"
                )
            if counter and self._disk.entry(counter).hash != head:
                raise LedgerError(
                    f"{self._disk.file}: entry {counter} is not the one its receipt says: another"
                    " ledger; no answer is sent"
                )

    def verify(self) -> None:
        """Raise LedgerError, naming the first bad entry, unless everything is as it was written and
        every tally follows from it.
        """
        from tacit.privacy.site_ledger.verify import verify

        verify(self._disk)

    def _row(self, db: sqlite3.Connection, place: ExchangeKey) -> Any:
        """Return the entries that reserved and stored an exchange, and the hash of its request;
        None if it is new.
        """
        if db.execute("SELECT 1 FROM forgotten WHERE run = ?", (place.run,)).fetchone():
            raise PolicyError(
                f"run {place.run!r}: has ended here and its answers are dropped; it is not answered"
                " again"
            )
        query = (
            "SELECT reserved, stored, request FROM exchanges WHERE run = ? AND round_no = ? AND"
            " exchange = ?"
        )
        return db.execute(query, place).fetchone()

    def _content(self, db: sqlite3.Connection, number: int) -> bytes:
        row = db.execute("SELECT content FROM answers WHERE entry = ?", (number,)).fetchone()
        content = check_bytes(row[0]) if row else b""
        if hashlib.sha256(content).hexdigest() != self._disk.entry(number).body["answer"]:
            raise self._disk.damaged(number, "the answer it stored is not as it was written")
        return content
