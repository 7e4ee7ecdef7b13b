"""A run waits for the owner of a site: what an approval binds, and what asks again."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tacit.deployment.site.approval import request_queue
from tacit.deployment.site.approval.approvals import decide, find_request
from tacit.deployment.upkeep.run_status import summarise_runs
from tacit.errors import LedgerError, PlanError, RunError
from tacit.plan import Plan
from tests.deployment.approval.waiting_site import ASK, WaitingSite
from tests.deployment.test_erasure import job


def test_a_run_waits_and_begins_once_it_is_approved(tmp_path: Path) -> None:
    site = WaitingSite(tmp_path)
    for _ in range(3):
        assert site.server.open() is None
        assert (site.server.status, site.server.rule) == ("approval", "")
    assert not (site.owner.folder / "runs").exists(), "no row was read"
    assert len(site.told) == 1
    assert "waits for your approval" in site.told[0]
    assert site.states() == {"job-1": "waiting"}
    assert summarise_runs(site.owner)["job-1"].refusals == []
    site.decide()
    site.server.start()
    assert site.server.train() is not None
    assert site.states() == {"job-1": "approved"}
    kinds = site.verify()
    assert kinds.index("approved") < kinds.index("told") < kinds.index("reserved")


def test_without_ask_nothing_waits(tmp_path: Path) -> None:
    site = WaitingSite(tmp_path, policy=ASK.replace('approve = "ask"\n', ""))
    site.server.start()
    assert site.states() == {}
    assert "approved" not in site.verify()


def test_a_refused_run_stays_refused(tmp_path: Path) -> None:
    site = WaitingSite(tmp_path)
    site.server.open()
    site.decide("refused", reason="too much")
    for _ in range(2):
        assert site.server.open() is None
        assert (site.server.status, site.server.rule) == ("policy", "policy.approve")
    assert site.states() == {"job-1": "refused"}
    site.restart()
    assert site.server.open() is None
    assert site.server.status == "policy"
    assert not (site.owner.folder / "runs").exists()


def test_an_approval_is_withdrawn_in_the_middle_of_a_run(tmp_path: Path) -> None:
    site = WaitingSite(tmp_path)
    site.server.open()
    site.decide()
    site.server.start()
    assert site.server.train(round_no=1) is not None
    site.decide("refused")
    assert site.server.train(round_no=2) is None
    assert site.server.status == "policy"
    site.decide()
    assert site.server.train(round_no=2) is not None


def test_what_changes_asks_again(tmp_path: Path) -> None:
    site = WaitingSite(tmp_path)
    site.server.open()
    site.decide()
    site.restart(server="elsewhere.example:8443")
    assert site.server.open() is None
    assert site.server.status == "approval"
    (waiting,) = [one for one in [find_request(site.owner, "job-1")] if one.state == "waiting"]
    assert waiting.request.changes == ("the server's address",)
    assert "the server's address changed" in site.told[-1]
    site.restart(server="tacit.example:8443", authority="cd" * 32)
    assert site.server.open() is None
    assert site.server.status == "approval"
    site.restart(authority="ab" * 32)
    site.rows.write_text(site.rows.read_text() + "p999,33,a,y\n")
    assert site.server.open() is None
    assert site.server.status == "approval"
    assert find_request(site.owner, "job-1").request.changes == ("your rows or how they are read",)
    site.decide()
    assert site.server.open() is not None


def test_a_higher_cost_asks_again_and_a_lower_one_does_not(tmp_path: Path) -> None:
    site = WaitingSite(tmp_path)
    site.server.open()
    site.decide()
    site.text = ASK.replace('counts = "noisy"', 'counts = "off"')
    assert site.server.open() is not None
    site.server = site.other_run("job-2")
    site.server.open()
    site.decide(target="job-2")
    site.text = ASK  # noisy counts cost more
    assert site.server.open() is None
    assert site.server.status == "approval"
    assert find_request(site.owner, "job-2").request.changes == ("the cost",)


def test_an_unknown_cost_is_asked_about_when_it_is_known(tmp_path: Path) -> None:
    """With `rr` the epsilon grows with the model: the owner is asked again before anything is trained."""
    plan = job(codec={"name": "rr", "epsilon": 0.02, "clip": 0.01})
    site = WaitingSite(tmp_path, plan)
    site.server.open()
    bound = find_request(site.owner, "job-1").request.bound
    assert bound["cost"]["epsilon"] is None
    site.decide()
    opened = site.server.open()
    assert opened is not None
    assert site.server.begin(opened) is None
    assert site.server.status == "approval"
    again = find_request(site.owner, "job-1").request
    assert again.changes == ("the cost",)
    assert again.bound["cost"]["epsilon"] > 0
    site.decide()
    site.restart()
    assert site.server.begin(opened) is not None
    assert site.server.train() is not None
    site.restart()
    assert site.server.train(round_no=2) is not None


def test_ask_in_the_middle_of_a_run(tmp_path: Path) -> None:
    site = WaitingSite(tmp_path, policy=ASK.replace('approve = "ask"\n', ""))
    site.server.start()
    assert site.server.train(round_no=1) is not None
    site.text = ASK
    assert site.server.train(round_no=2) is None
    assert site.server.status == "approval"
    site.decide()
    assert site.server.train(round_no=2) is not None


def test_a_resumed_run_keeps_its_approval_and_has_no_other_terms(tmp_path: Path) -> None:
    site = WaitingSite(tmp_path)
    site.server.open()
    site.decide()
    opened = site.server.start().open()
    assert opened is not None, "the same offer is approved"
    assert site.server.begin(opened, largest_weight=7) is None
    assert site.server.status == "terms"


def test_a_hash_names_a_request(tmp_path: Path) -> None:
    site = WaitingSite(tmp_path)
    site.server.open()
    request = find_request(site.owner, "job-1").request
    for target in (request.bound["plan"], request.bound["plan"][:12], request.fingerprint[:16]):
        assert find_request(site.owner, target).request == request
    for target in (request.bound["plan"][:11], "", "job", "*", "../job-1"):
        with pytest.raises(RunError, match="has asked for approval"):
            find_request(site.owner, target)
    site.other_run("job-2").open()
    with pytest.raises(PlanError, match="names 2 requests"):
        find_request(site.owner, request.bound["plan"])


def test_a_request_that_changed_after_it_was_shown_is_not_decided(tmp_path: Path) -> None:
    site = WaitingSite(tmp_path)
    site.server.open()
    shown = find_request(site.owner, "job-1").request
    site.rows.write_text(site.rows.read_text() + "p999,33,a,y\n")
    site.server.open()
    with pytest.raises(RunError, match="changed after it was shown"):
        decide(site.owner, shown, "approved", by="test")
    assert site.states() == {"job-1": "waiting"}


def test_a_changed_decision_is_found(tmp_path: Path) -> None:
    site = WaitingSite(tmp_path)
    site.server.open()
    site.decide("refused")
    site.other_run("job-2").open()
    site.decide("approved", "job-2")
    ledger = site.owner.folder / "ledger.sqlite"
    for change in (
        "UPDATE decisions SET entry = (SELECT max(entry) FROM decisions) WHERE run = 'job-1'",
        "DELETE FROM decisions WHERE run = 'job-1'",
        "INSERT OR REPLACE INTO decisions VALUES ('job-9', 2)",
    ):
        kept = ledger.read_bytes()
        with closing(sqlite3.connect(ledger)) as db:
            db.execute(change)
            db.commit()
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        with pytest.raises(LedgerError, match="damaged"):
            site.verify()
        ledger.write_bytes(kept)
    assert site.verify()
    with closing(site.owner.open_ledger(site.read_policy(), Plan())) as book:
        decided = book.find_decision("job-2")
    assert decided is not None
    assert decided.bound["run"] == "job-2"


def test_old_requests_make_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_queue, "MOST_KEPT", 6)
    site = WaitingSite(tmp_path)
    for number in range(10):
        site.other_run(f"job-{number}").open()
        site.decide("refused", f"job-{number}")
    assert len(site.states()) <= 6
    assert site.other_run("job-0").open() is None
    assert site.verify().count("refused") == 10
