"""Counts of equal rows over all sites, with a server that chooses every message, and sites that send counts that cannot be."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np
import polars as pl
import pytest

from tacit import plan as plans
from tacit.column_statistics.statistics import merge_statistics
from tacit.data.k_anonymity.class_sums import ClassSums
from tacit.deployment import bodies
from tacit.deployment.agenda import COUNTS
from tacit.deployment.bodies import (
    BeginRequest,
    BeginResponse,
    ClassVectors,
    Member,
    Offer,
    OfferResponse,
    SiteRequest,
    SiteResponse,
    StatisticsBody,
    Terms,
)
from tacit.deployment.site.owner_site import OwnerSite
from tacit.deployment.site.rows.class_counts import CountingSite
from tacit.deployment.versions import write_settings
from tacit.protocol.exchanges.disclose_rows import DiscloseRows
from tacit.protocol.messages.signed_message import MessageSubject, read, write
from tacit.secure_aggregation.site_sum import SealedVector, SumPart
from tests.deployment.local_post import GENEROUS, owner

SITES = ("a", "b", "c")
Body = TypeVar("Body", bound=msgspec.Struct)


def job(k: int = 30, helpers: int = 2) -> plans.Plan:
    columns = {"client": "client", "numeric": ["age"], "label": "label", "quasi": ["age"]}
    return plans.parse(
        {
            "data": {
                "source": "given", "test": 0.0, "columns": columns,
                "share": {"k": k, "counts": "global", "rows_per_client": 5},
            },
            "features": {"ranges": {"age": [20, 30]}},
            "model": {"name": "logistic"},
            "codec": {"name": "dp_sum", "epsilon": 8.0, "delta": 1e-3, "clip": 1.0},
            "secure_aggregation": {"helpers": helpers, "min_clients": 2},
            "server": {"rounds": 2},
        }
    )  # fmt: skip


class HostileServer:
    """Three honest sites, and whatever messages a test sends them."""

    def __init__(
        self, folder: Path, policy: str = GENEROUS, plan: plans.Plan | None = None
    ) -> None:
        self.plan, self.told = plan or job(), dict[str, list[str]]()
        self.text = plans.to_toml(self.plan)
        self.sites = {site: self._site(folder, site, policy) for site in SITES}
        self.status: dict[str, tuple[str, str]] = {}

    def _site(self, folder: Path, site: str, policy: str) -> OwnerSite:
        """Rows aged 20 to 25, alike at all sites; at `a` one person is 29."""
        rows, self.told[site] = 60, []
        age = 20 + np.arange(rows) % 6
        age[0] = 29 if site == "a" else age[0]
        frame = {
            "client": [f"{site}{row % 12}" for row in range(rows)],
            "age": age,
            "label": [("no", "yes")[row % 2] for row in range(rows)],
        }
        folder.mkdir(exist_ok=True)
        pl.DataFrame(frame).write_parquet(folder / f"{site}.parquet")
        made = owner(
            site, folder / f"{site}.parquet", folder / site, policy, tell=self.told[site].append
        )
        return OwnerSite(made)

    def send(self, site: str, kind: Any, exchange: str, body: bytes, round_no: int = 0) -> bytes:
        subject = MessageSubject(
            kind=kind, run="job-1", plan=hashlib.sha256(self.text.encode()).digest(), site=site,
            round_no=round_no, exchange=exchange, nonce=os.urandom(16),
        )  # fmt: skip
        reply = read(self.sites[site].handle(write(subject, body)))
        self.status[site] = reply.subject.status, reply.subject.rule
        return bytes(reply.body)

    def ask(self, site: str, kind: str, body: msgspec.Struct, answer: type[Body]) -> Body | None:
        names = {"counts": COUNTS, "tally": COUNTS}
        sent = self.send(site, kind, names.get(kind, kind), bodies.pack(body))
        return bodies.unpack(sent, answer) if self.status[site][0] == "ok" else None

    def open(self, **changes: Any) -> Terms:
        offer = Offer(plan=self.text, settings=write_settings(self.plan))
        found = {site: self.ask(site, "open", offer, OfferResponse) for site in SITES}
        opened = {site: one for site, one in found.items() if one is not None}
        assert len(opened) == len(SITES), self.status
        first, members = 0, []
        for site, one in opened.items():
            facts = {"clients": one.clients, "rows": one.rows, "test_rows": 0, "nonce": one.nonce}
            members.append(Member(site=site, first=first, **facts))
            first += one.clients
        seen = merge_statistics([one.seen.statistics() for one in opened.values()])
        given: dict[str, Any] = {
            "run": "job", "public": b"p" * 32, "largest_weight": 1, "seen": StatisticsBody.of(seen),
            "members": members, "helps": ["a", "b"],
            "helpers": [opened[site].helper_key for site in ("a", "b")],
        }  # fmt: skip
        return Terms(**{**given, **{key: change(given) for key, change in changes.items()}})

    def begin(self, terms: Terms, *sites: str, **more: Any) -> BeginRequest:
        """Begin at sites; return the request with the confirmations of those that accept."""
        packed = bodies.pack(terms)
        request = BeginRequest(terms=packed, **more)
        found = {site: self.ask(site, "begin", request, BeginResponse) for site in sites or SITES}
        confirmations = {site: one.confirmation for site, one in found.items() if one}
        return BeginRequest(terms=packed, confirmations=confirmations, **more)

    def count(self, begin: BeginRequest) -> dict[str, SealedVector]:
        found = {site: self.ask(site, "counts", begin, SealedVector) for site in SITES}
        return {site: one for site, one in found.items() if one is not None}

    def add(self, vectors: dict[str, SealedVector]) -> list[SumPart]:
        body = ClassVectors(vectors=vectors)
        found = [self.ask(site, "tally", body, SumPart) for site in ("a", "b")]
        return [one for one in found if one is not None]

    def reach(self) -> tuple[Terms, BeginRequest, list[SumPart]]:
        """All honest steps up to the sum."""
        terms = self.open()
        begin = self.begin(terms)
        return terms, begin, self.add(self.count(begin))

    def rows(self, site: str) -> SiteResponse | None:
        sent = self.send(site, "rows", DiscloseRows.name, b"")
        return bodies.unpack(sent, SiteResponse) if self.status[site][0] == "ok" else None


def with_parts(begin: BeginRequest, parts: list[SumPart]) -> BeginRequest:
    return msgspec.structs.replace(begin, parts=parts)


def test_sites_disclose_what_is_frequent_at_all_of_them_together(tmp_path: Path) -> None:
    server = HostileServer(tmp_path)
    _, begin, parts = server.reach()
    for site in SITES:
        begun = server.ask(site, "begin", with_parts(begin, parts), BeginResponse)
        assert begun
        assert begun.dim
    sent = server.rows("a")
    assert sent
    said = "".join(server.told["a"])
    # The ages that begin at 0 lost a row at `a`, where one person is 29: 29 of 30 rows.
    assert "hands over 50 of 60 rows" in said
    assert "adds how many rows are alike in each group by secure aggregation" in said


def test_the_sum_needs_the_owners_word(tmp_path: Path) -> None:
    server = HostileServer(tmp_path, GENEROUS.replace('"class_counts"', '"words"'))
    with pytest.raises(AssertionError):
        server.open()
    assert server.status["a"] == ("policy", "allow.disclosures")


def test_nothing_leaves_before_the_sum(tmp_path: Path) -> None:
    server = HostileServer(tmp_path)
    begin = server.begin(server.open())
    assert server.rows("a") is None
    empty = bodies.pack(SiteRequest(to=b"", everyone=0, head=b"", payload=b""))
    server.send("a", "ask", "train", empty, 1)
    assert server.status["a"][0] == "terms"
    again = server.ask("a", "begin", begin, BeginResponse)
    assert again
    assert (again.dim, again.with_rows) == (0, b""), "still without counts"
    assert server.add({}) == []


def test_a_site_counts_only_once_all_members_confirmed(tmp_path: Path) -> None:
    """Otherwise each site could be told of other helpers, whose keys are the server's."""
    server = HostileServer(tmp_path)
    begin = server.begin(server.open())
    fewer = {site: one for site, one in begin.confirmations.items() if site != "c"}
    for confirmations in ({}, fewer, {**begin.confirmations, "c": bytes(64)}):
        asked = BeginRequest(terms=begin.terms, confirmations=confirmations)
        assert server.count(asked) == {}
    assert len(server.count(begin)) == 3


def drop_last(given: dict[str, Any]) -> list[Member]:
    return list(given["members"][:2])


def invent(given: dict[str, Any]) -> list[Member]:
    last = given["members"][-1]
    first = last.first + last.clients
    return [
        *given["members"],
        Member(site="x", first=first, clients=9, rows=9, test_rows=0, nonce=bytes(32)),
    ]


WRONG_TERMS = {
    "two sites": ({"members": drop_last}, "of two each learns the counts of the other"),
    "an invented site": ({"members": invent}, "lacks x"),
    "one helper twice": (
        {"helps": lambda _: ["a", "a"], "helpers": lambda given: [given["helpers"][0]] * 2},
        "one helper alone would see",
    ),
}


@pytest.mark.parametrize("case", WRONG_TERMS)
def test_terms_under_which_a_sum_hides_nothing_are_refused(tmp_path: Path, case: str) -> None:
    changes, sentence = WRONG_TERMS[case]
    server = HostileServer(tmp_path)
    terms = server.open(**changes)
    assert server.begin(terms, "a").confirmations == {}
    assert sentence in "".join(server.told["a"])


def test_a_helper_adds_up_all_members_once(tmp_path: Path) -> None:
    """The difference of two sums would be one site's counts."""
    server = HostileServer(tmp_path)
    begin = server.begin(server.open())
    vectors = server.count(begin)
    for site in SITES:
        assert server.add({name: one for name, one in vectors.items() if name != site}) == []
    assert len(server.add(vectors)) == 2
    others = server.count(begin)
    assert server.add(others) == []
    assert server.status["a"][0] == "answered"
    assert server.ask("c", "tally", ClassVectors(vectors=vectors), SumPart) is None


def test_a_server_cannot_write_the_sum(tmp_path: Path) -> None:
    """It would call the one person of 29 a large group."""
    server = HostileServer(tmp_path)
    _, begin, parts = server.reach()
    numbers = np.frombuffer(parts[0].numbers, "<u8") + np.uint64(10)
    forged = msgspec.structs.replace(parts[0], numbers=numbers.astype("<u8").tobytes())
    for wrong in ([forged, parts[1]], parts[::-1], parts[:1], [parts[0], parts[0]]):
        assert server.ask("a", "begin", with_parts(begin, wrong), BeginResponse) is None
        assert server.status["a"][0] == "terms"
    assert server.rows("a") is None
    assert server.ask("a", "begin", with_parts(begin, parts), BeginResponse)


def lie(monkeypatch: pytest.MonkeyPatch, change: Any) -> None:
    """Site `c` adds other counts than its own."""
    honest = CountingSite._count

    def count(self: CountingSite) -> ClassSums:
        own = honest(self)
        if self.owner.name != "c":
            return own
        tables = own.numbers.reshape(8, own.counting.cells, -1).copy()
        change(tables)
        return ClassSums(counting=own.counting, numbers=tables.ravel())

    monkeypatch.setattr(CountingSite, "_count", count)


def inflate(tables: Any) -> None:
    tables[:, :, 0] += np.uint64(1000)


def inflate_a_little(tables: Any) -> None:
    tables[:, 0, 0] += np.uint64(1)


def remove(tables: Any) -> None:
    tables[:, :, 0] -= np.uint64(1)


def only_one_table(tables: Any) -> None:
    used = np.flatnonzero(tables[0, :, 0])
    tables[0, used[0]] = 0


LIES = {
    "more rows than all sites have": (inflate, "more than the 180 rows of all sites"),
    "more rows than it said": (inflate_a_little, "do not add up to at most 180 rows"),
    "fewer than none": (remove, "class counts refused"),
    "another sum in each table": (only_one_table, "class counts refused"),
}


@pytest.mark.parametrize("case", LIES)
def test_counts_that_cannot_be_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    change, sentence = LIES[case]
    server = HostileServer(tmp_path)
    lie(monkeypatch, change)
    _, begin, parts = server.reach()
    assert server.ask("a", "begin", with_parts(begin, parts), BeginResponse) is None
    assert server.status["a"][0] == "terms"
    assert sentence in "".join(server.told["a"]), server.told["a"]
    assert server.rows("a") is None


def test_an_invented_group_is_bounded_by_the_owners_policy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A site may claim that its rows are alike to the one person of 29; `share.min_k` counts own clients only."""
    server = HostileServer(tmp_path, GENEROUS.replace("min_k = 1", "min_k = 5"))
    honest = CountingSite._count

    def claim(self: CountingSite) -> ClassSums:
        own = honest(self)
        if self.owner.name != "c":
            return own
        key = b"n" + (2).to_bytes(8, "little") + b"29"
        return own.counting.count([key], np.array([[60]]))

    monkeypatch.setattr(CountingSite, "_count", claim)
    _, begin, parts = server.reach()
    assert server.ask("a", "begin", with_parts(begin, parts), BeginResponse) is None
    assert server.status["a"] == ("policy", "share.min_k")


def test_a_run_has_one_sum_and_a_restarted_site_keeps_it(tmp_path: Path) -> None:
    server = HostileServer(tmp_path)
    _, begin, parts = server.reach()
    assert server.ask("a", "begin", with_parts(begin, parts), BeginResponse)
    server.sites["a"] = OwnerSite(server.sites["a"].owner)
    assert server.ask("a", "begin", with_parts(begin, parts[::-1]), BeginResponse) is None
    sent = server.rows("a")
    assert sent
    assert len(sent.frames) == 12
