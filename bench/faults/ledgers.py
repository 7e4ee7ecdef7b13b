"""Whether everything that reached the server was paid for, and once: the ledgers of sites against
what arrived.
"""

from __future__ import annotations

import json
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from tacit.deployment.site.site_folder import LEDGER, read_policy
from tacit.errors import LedgerError
from tacit.privacy.policy import SiteLedger

Totals = dict[bytes, int]
"""What each client has paid in a run, in millionths of epsilon."""


@dataclass(frozen=True)
class Verdict:
    """What ledgers say about a run: answers that arrived, those nobody paid for, exchanges paid for
    twice, clients that paid more or less than in a run without faults, payments without an answer,
    and ledgers that are not whole.
    """

    arrived: int
    uncharged: int
    double: int
    other_totals: int
    unanswered: int
    damaged: int


def totals(site: Path, run: str) -> Totals:
    """What clients of a site were charged in a run."""
    with closing(_book(site)) as book:
        return {one.person: one.runs[run].micro for one in book.totals() if run in one.runs}


def judged(sites: list[Path], run: str, log: Path, expected: dict[str, Totals]) -> Verdict:
    """Return what the ledgers of sites say about a run, of which this arrived at the server."""
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    found = Counter[str]()
    for site in sites:
        reserved, stored = Counter[tuple[int, str]](), dict[tuple[int, str], str]()
        with closing(_book(site)) as book:
            for entry in (
                one
                for one in book.entries()
                if one.body.get("run") == run and one.kind in ("reserved", "stored")
            ):
                place = entry.body["round_no"], entry.body["exchange"]
                if entry.kind == "reserved":
                    reserved[place] += 1
                elif place in reserved:
                    stored[place] = entry.body["answer"]
            try:
                book.verify()
            except LedgerError:
                found["damaged"] += 1
        for one in lines:
            if (
                one["site"] == site.name
                and one["status"] == "ok"
                and one["kind"] in ("ask", "help", "rows", "measure")
            ):
                found["arrived"] += 1
                found["uncharged"] += (
                    stored.get((one["round_no"], one["exchange"])) != one["answer"]
                )
        found["double"] += sum(times - 1 for times in reserved.values())
        found["unanswered"] += len(reserved) - len(stored)
        paid, wanted = totals(site, run), expected.get(site.name)
        found["other_totals"] += (
            0
            if wanted is None
            else sum(paid.get(one) != wanted.get(one) for one in {*paid, *wanted})
        )
    return Verdict(**{name: found[name] for name in Verdict.__dataclass_fields__})


def _book(site: Path) -> SiteLedger:
    policy = read_policy(site)
    assert policy is not None
    return SiteLedger(site / LEDGER, limits=policy.limits, delta=1e-5)
