"""Ledger of a site: the privacy loss of every client, on the disk before a response is sent, and
the responses themselves.

The order is policy, reserve, compute, randomise, store, send. A crash in between can only
over-charge. If a request is repeated, the site charges nothing and sends the stored bytes again.
Clients are identified by a 16-byte pseudonym that their site computes with its own key, never by
name.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from tacit.errors import BudgetError, LedgerError, PolicyError, RequestError
from tacit.privacy.policy.policy import Limits, SharePolicy
from tacit.privacy.site_ledger import decisions, erasures, releases
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
from tacit.privacy.site_ledger.cohorts import expand_cohorts, read_cohort
from tacit.privacy.site_ledger.ledger_file import LedgerFile, check_bytes
from tacit.privacy.site_ledger.releases import RowToRelease
from tacit.privacy.site_ledger.spending import Claims, ClientSpending, PrivacyCost


def get_utc_day() -> str:
    """Today's date in UTC."""
    return datetime.now(UTC).date().isoformat()


class SiteLedger:
    """The ledger of one site. Several processes may open the same one.

    `delta` is that of totals per run, or the owner's limit if that is smaller.
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
        """`on_close` receives the last receipt once the file is closed."""
        self.limits, self._today, self._on_close = limits, today, on_close
        self._claim_costs = ClaimCosts(min(delta, limits.delta))
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
        """Charge clients for a response, on the disk; return those that cannot be charged, with the
        reason.

        A repeated call for the same run, round and exchange charges nothing and returns the same;
        clients that were not in the first call are refused. If nobody can be charged, nothing is
        written. Raises RequestError if the exchange is repeated with other claims. Claims under
        subsampling are charged for every round so far. Erased clients are never charged. An exchange
        without claims has no privacy loss and does not count as a round, unless `is_round` says so,
        as for exact counts.
        """
        place, asked = ExchangeKey(run, round_no, exchange), check_pseudonyms(persons, round_no)
        with self._disk.writing() as db:
            before, gone = self._row(db, place), erasures.select_erased(db, asked)
            asked = [one for one in asked if one not in gone]
            if before is not None:
                name = self._claim_costs.register(claims)
                body = expand_cohorts(db, self._disk.entry(before[0]).body)
                return {**repeat_decision(body, place, asked, name), **gone}
            day = advance_day(db, self._today())
            counted = is_round or bool(claims)
            why = refuse_round(db, self.limits, place, day) if counted else ""
            if why:
                return {**dict.fromkeys(asked, why), **gone}
            try:
                found = decide_charges(db, self._claim_costs, self.limits, place, asked, claims)
            except BudgetError as error:
                return {**dict.fromkeys(asked, str(error)), **gone}
            if found.groups:
                charge(
                    self._disk,
                    db,
                    self._claim_costs,
                    place,
                    replace(found, day=day, is_round=counted),
                    claims,
                )
            return {**found.refused, **gone}

    def store(
        self, run: str, round_no: int, exchange: str, request_hash: bytes, answer: bytes
    ) -> None:
        """Store a response, on the disk, before it is sent; raise PolicyError if nothing was
        reserved, RequestError if a different response is stored.
        """
        place = ExchangeKey(run, round_no, exchange)
        with self._disk.writing() as db:
            row = self._row(db, place)
            if row is None:
                raise PolicyError(f"{place}: no budget was reserved, so no response may be sent")
            if row[1] is not None:
                if (check_bytes(row[2]), self._content(db, int(row[1]))) == (request_hash, answer):
                    return
                raise RequestError(
                    "answered", f"{place}: another response is stored already; send that one"
                )
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

    def find_response(
        self, run: str, round_no: int, exchange: str, request_hash: bytes
    ) -> bytes | None:
        """Find the stored response, to send it again; None if there is none.

        Raises RequestError if the stored response is to a different request, or the run's responses
        were dropped.
        """
        place = ExchangeKey(run, round_no, exchange)
        with self._disk.reading() as db:
            row = self._row(db, place)
            if row is None or row[1] is None:
                return None
            if check_bytes(row[2]) != request_hash:
                raise RequestError(
                    "answered",
                    f"{place}: a different request was received before; each exchange gets one"
                    " response",
                )
            return self._content(db, int(row[1]))

    def drop_responses(self, run: str) -> None:
        """Drop the stored responses of a run that has ended. Its charges stay, and the run never
        gets another response.
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
        self._disk.shrink()

    def record_cleartext(self, run: str, unit: str, facts_sent: dict[str, Any]) -> None:
        """Record, on the disk, the facts about the rows that a run receives in the clear, before
        they are sent.

        `unit` says whom budgets belong to; raises PolicyError if it differs from that of earlier
        runs.
        """
        with self._disk.writing() as db:
            releases.record_cleartext(self._disk, db, run, unit, facts_sent)

    def disclose(
        self,
        leaving: Sequence[RowToRelease],
        of_rows: int,
        facts: dict[str, Any],
        share: SharePolicy,
    ) -> bool:
        """Record, on the disk, which rows are released, before they are; raise PolicyError if
        groups of equal rows would be too small.

        `facts` names the run. The releases of all runs count together. Returns whether a new entry
        was written.
        """
        with self._disk.writing() as db:
            return releases.disclose(self._disk, db, leaving, of_rows, facts, share)

    def erase(self, person: bytes) -> bool:
        """Record, on the disk, that a client is erased: it is never charged again. Return False if
        it already was.
        """
        with self._disk.writing() as db:
            return erasures.record_erasure(self._disk, db, person, self._today())

    def erased(self) -> frozenset[bytes]:
        """Pseudonyms of all erased clients."""
        with self._disk.reading() as db:
            return erasures.read_erased(db)

    def account(self, person: bytes) -> erasures.ClientAccount:
        """What the ledger knows about one client."""
        with self._disk.reading() as db:
            return erasures.read_account(self._disk, db, person)

    def record_decision(self, decision: decisions.RunDecision) -> None:
        """Record, on the disk, that the owner approves or refuses a run; the last decision holds."""
        with self._disk.writing() as db:
            decisions.record_decision(self._disk, db, decision, self._today())

    def find_decision(self, run: str) -> decisions.RunDecision | None:
        """The owner's last decision about a run; None if there is none."""
        with self._disk.reading() as db:
            return decisions.find_decision(self._disk, db, run)

    def record_loss(self, known: Receipt | None, left: int, runs: Sequence[str]) -> None:
        """Record, on the disk, that the owner continues without entries that were lost.

        `known` is the last receipt of the lost ledger, if any; `left` is the number of entries that
        remain, `runs` are those that were open.
        """
        facts = {"entries_left": left, "runs_ended": list(runs), "day": self._today()}
        had = {"entries_before": known.counter, "head_before": known.head.hex()} if known else {}
        with self._disk.writing():
            self._disk.append("loss accepted", {**facts, **had})

    def record_restore(self, made: str, copied: Receipt) -> None:
        """Record, on the disk, that the ledger was restored from a backup of a time and receipt."""
        facts = {"made": made, "entries": copied.counter, "head": copied.head.hex()}
        with self._disk.writing():
            self._disk.append("restored", {**facts, "day": self._today()})

    def copy_to(self, target: Path) -> None:
        """Copy the ledger to a new private file, as it is at one moment."""
        self._disk.copy_to(target)

    def list_entries(
        self,
        kind: Literal[
            "told", "disclosed", "erased", "approved", "refused", "loss accepted", "restored"
        ],
    ) -> list[dict[str, Any]]:
        """Bodies of all entries of one kind, oldest first."""
        return [entry.body for entry in self.entries() if entry.kind == kind]

    def entries(self) -> Iterator[LedgerEntry]:
        """Yield every entry, oldest first, each checked against the one before."""
        for number in range(1, self.receipt().counter + 1):
            with self._disk.reading():
                entry = self._disk.entry(number)
            yield entry

    def read_cohort(self, name: str) -> bytes:
        """Pseudonyms of a list of clients that entries refer to by its hash."""
        with self._disk.reading() as db:
            return read_cohort(db, name)

    def totals(self) -> list[ClientSpending]:
        """Privacy loss of each client."""
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
        """Number of entries and hash of the last one, for others to keep."""
        with self._disk.reading():
            return self._disk.receipt()

    def check_receipt(self, counter: int, head: bytes) -> None:
        """Raise LedgerError if this is an older copy of the ledger that issued a receipt, or a
        different ledger.
        """
        with self._disk.reading():
            now = self._disk.receipt().counter
            if now < counter:
                raise LedgerError(
                    f"{self._disk.file}: the ledger is older than its last receipt: it has {now:,}"
                    f" entries, the receipt says {counter:,}; restore the newer file. No response is"
                    " sent"
                )
            if counter and self._disk.entry(counter).hash != head:
                raise LedgerError(
                    f"{self._disk.file}: entry {counter} does not match its receipt, so this is a"
                    " different ledger; restore the right file. No response is sent"
                )

    def verify(self) -> None:
        """Raise LedgerError, naming the first bad entry, unless the file is unchanged and every
        tally follows from its entries.
        """
        from tacit.privacy.site_ledger.verify import verify

        verify(self._disk)

    def _row(self, db: sqlite3.Connection, place: ExchangeKey) -> Any:
        """Read the entries that reserved and stored an exchange, and the hash of its request; None
        if it is new.
        """
        if db.execute("SELECT 1 FROM forgotten WHERE run = ?", (place.run,)).fetchone():
            raise RequestError(
                "ended",
                f"run {place.run!r} has ended here and its responses were dropped, so it gets no more"
                " responses",
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
            raise self._disk.build_damage_error(number, "its stored response was changed")
        return content
