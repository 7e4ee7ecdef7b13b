"""What an owner looks up about runs: requests, responses, refusals with reasons, last contact; and the log of a request."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.deployment.site.contacts import CONTACTS, MOST_REFUSALS, MOST_RUNS, ContactBook
from tacit.deployment.site.owner_site import OwnerSite
from tacit.deployment.upkeep.run_status import summarise_runs
from tacit.log_lines import SETTING, LineLog
from tacit.protocol.messages.signed_message import MessageSubject
from tests.deployment.hostile import HostileServer
from tests.deployment.local_post import GENEROUS, owner
from tests.deployment.test_erasure import GONE, Clinic, job


def subject(run: str = "notes-1", round_no: int = 0, kind: str = "open") -> MessageSubject:
    return MessageSubject(
        kind=kind, run=run, plan=bytes(32), site="a", round_no=round_no, exchange=kind, nonce=bytes(16)
    )  # fmt: skip


def test_a_run_is_summarised(tmp_path: Path) -> None:
    clinic = Clinic(tmp_path)
    clinic.server.start()
    sent = clinic.server.train()
    clinic.erase(GONE)
    assert clinic.server.train(0.5, round_no=2)
    assert clinic.server.train(0.7, round_no=9) is None
    assert clinic.server.train(0.7, round_no=9) is None
    found = summarise_runs(clinic.owner)["job-1"]
    assert (found.state, found.responses, found.rows) == ("open", 2, 0)
    assert [(one.round_no, one.exchange) for one in found.exchanges] == [(1, "train"), (2, "train")]
    first, second = found.exchanges
    assert first.clients == second.clients + 1
    assert found.bytes == (first.bytes or 0) + (second.bytes or 0) > len(sent.frames)
    assert found.clients == first.clients
    assert found.no_epsilon, "the codec is plain"
    assert found.statistics is not None
    assert found.requests == {"open": 1, "begin": 1, "ask": 4}
    (refusal,) = found.refusals
    assert (refusal["times"], refusal["status"], refusal["round"]) == (2, "question", 9)
    assert "the plan has rounds 1 to 4" in refusal["why"]
    assert found.last_contact == refusal["last"]
    clinic.server.send("end", "end", b"")
    assert summarise_runs(clinic.owner)["job-1"].state == "ended"


def test_a_refused_offer_makes_no_folder(tmp_path: Path) -> None:
    clinic = Clinic(tmp_path)
    refusing = owner("a", tmp_path / "rows.csv", tmp_path / "a", "", unit=clinic.owner.unit)
    server = HostileServer(OwnerSite(refusing), job(), "other-1")
    assert server.open() is None
    assert not (tmp_path / "a" / "runs" / "other-1").exists()
    found = summarise_runs(refusing)["other-1"]
    assert (found.state, found.responses) == ("not opened", 0)
    assert found.refusals[0]["why"].startswith("policy: there is none")


def test_a_server_cannot_fill_the_disk(tmp_path: Path) -> None:
    book = ContactBook(tmp_path)
    for number in range(2 * MOST_RUNS):
        book.note(subject(f"run-{number}"), "policy", "x" * 10_000)
    assert list(book.read()) == [f"run-{number}" for number in range(MOST_RUNS, 2 * MOST_RUNS)]
    (tmp_path / "runs" / "notes-1").mkdir(parents=True)
    for number in range(2 * MOST_REFUSALS):
        book.note(subject(round_no=number), "question", f"reason {number}")
        book.note(subject(round_no=number), "question", "always")
    kept = book.read()["notes-1"]["refusals"]
    assert len(kept) == MOST_REFUSALS
    assert (kept[-1]["why"], kept[-1]["times"]) == ("always", 2 * MOST_REFUSALS)
    assert (tmp_path / CONTACTS).stat().st_size < 100_000


@pytest.mark.parametrize("run", ["../../x", "", "a/b", "a\nb", "x" * 500])
def test_an_odd_name_is_not_noted(tmp_path: Path, run: str) -> None:
    ContactBook(tmp_path).note(subject(run), "question", "odd")
    assert list(tmp_path.rglob("*")) == []


def test_a_damaged_file_is_begun_again(tmp_path: Path) -> None:
    (tmp_path / CONTACTS).write_bytes(b"{")
    ContactBook(tmp_path).note(subject(), "policy", "no")
    assert list(ContactBook(tmp_path).read()) == ["notes-1"]


def test_lines_of_a_request_name_its_run_and_round(tmp_path, monkeypatch) -> None:
    monkeypatch.delenv(SETTING, raising=False)
    clinic = Clinic(tmp_path)
    lines: list[str] = []
    log = LineLog("a", lines.append, lambda: "now")
    site = OwnerSite(
        owner(
            "a", tmp_path / "rows.csv", tmp_path / "a", GENEROUS, tell=log, unit=clinic.owner.unit
        )
    )
    server = HostileServer(site, job())
    server.start()
    assert all(line.startswith("now INFO run=job-1 round=0 a: ") for line in lines)
    assert server.train(round_no=9) is None
    assert lines[-1].startswith("now WARNING run=job-1 round=9 a: ask of run job-1 refused:")
