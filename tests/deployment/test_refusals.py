"""Owners decide: what a policy or a ledger does not allow does not leave, and the run goes on with the others or stops."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import msgspec
import pytest

from tacit import plan as plans
from tacit.deployment import bodies
from tacit.deployment.bodies import Offer
from tacit.deployment.deployable_plan import remove_simulation_settings
from tacit.deployment.server.job import deploy, resume
from tacit.deployment.server.receipts import Receipts
from tacit.deployment.site.owner_site import OwnerSite
from tacit.errors import PolicyError, RunError, WireError
from tacit.privacy.policy import Limits, PrivacyUnit, SiteLedger
from tacit.privacy.policy.policy import parse_policy
from tacit.protocol.messages import signed_message
from tacit.runs import record
from tacit.runs.run_folder import RECORD
from tacit.simulation.rehearsal import Rehearsal, prepare_rehearsal
from tests.deployment.local_post import GENEROUS, model_of, owner, sites_of
from tests.privacy.policy.test_malicious_plans import MALICIOUS, plan_of
from tests.privacy.policy.test_malicious_plans import POLICY as OF_THE_OWNER_BY_HASH
from tests.simulation.small import small_plan, write_csv

OF_THE_OWNER = OF_THE_OWNER_BY_HASH.replace('[plans]\nhashes = ["HASH"]\n', "")
ONE_CLIENT = PrivacyUnit(one_client=True, quasi_identifiers=("age",))
COSTLY = {"name": "dp_sum", "epsilon": 20.0, "delta": 1e-3, "clip": 0.5}


@pytest.fixture(scope="module")
def ready(tmp_path_factory) -> Rehearsal:
    place = tmp_path_factory.mktemp("rows")
    job = small_plan(write_csv(place / "reviews.csv"), codec=COSTLY, server__rounds=3)
    return prepare_rehearsal(job, place, 3)


def owners(ready: Rehearsal, folder: Path, told: list[str], **policies: str):
    return [
        owner(name, rows, folder / name, policies.get(name, GENEROUS), tell=told.append)
        for name, rows in zip("abc", ready.files, strict=True)
    ]


def spent(folder: Path) -> int:
    limits = parse_policy(GENEROUS).limits
    book = SiteLedger(folder / "ledger.sqlite", limits=limits, delta=1e-3)
    book.verify()
    return sum(one.life.micro for one in book.totals())


def missing(place: Path) -> list[record.SiteMissing]:
    return record.select_entries(list(record.read(place / RECORD)), record.SiteMissing)


def test_a_site_that_allows_less_is_left_out_and_pays_nothing(ready, tmp_path) -> None:
    told: list[str] = []
    careful = GENEROUS.replace("max_epsilon_per_run = 1e12", "max_epsilon_per_run = 2")
    sites = sites_of(owners(ready, tmp_path, told, b=careful), min_sites=2)
    place = deploy(ready.plan, sites, tmp_path / "runs", test=str(ready.test))
    assert any(
        "limits.max_epsilon_per_run = 2 per client: the plan asks for" in sentence
        for sentence in told
    )
    (one,) = missing(place)
    assert (one.site, one.exchange, one.cause) == ("b", "open", "policy")
    assert one.reason == "its owner's policy does not allow it (limits.max_epsilon_per_run)"
    assert not (tmp_path / "b" / "ledger.sqlite").exists()
    assert (spent(tmp_path / "a"), spent(tmp_path / "c")) == (7 * 20_000_000, 6 * 20_000_000)


def test_without_enough_sites_nothing_begins(ready, tmp_path) -> None:
    sites = sites_of(owners(ready, tmp_path, [], b="", c=""), min_sites=2)
    with pytest.raises(
        PolicyError,
        match=r"needs 2 sites, and 1 takes part [(]b: its owner's policy does not allow it",
    ):
        deploy(ready.plan, sites, tmp_path / "runs")
    assert not list((tmp_path / "runs").iterdir())


def test_a_budget_for_life_ends_inside_a_run(ready, tmp_path) -> None:
    """Two runs of epsilon 20 per client do not fit into 30: in the second the site answers as long as its clients can pay."""
    told: list[str] = []
    poor = GENEROUS.replace("max_epsilon_lifetime = 1e12", "max_epsilon_lifetime = 30")
    everybody = owners(ready, tmp_path, told, c=poor)
    deploy(ready.plan, sites_of(everybody, min_sites=2), tmp_path / "runs")
    place = deploy(ready.plan, sites_of(everybody, min_sites=2), tmp_path / "runs")
    late = [one for one in missing(place) if one.site == "c"]
    assert late
    assert {one.reason for one in late} == {
        "its owner's ledger has no budget left for it (limits.max_epsilon_lifetime)"
    }
    assert any("limits.max_epsilon_lifetime = 30 per client" in sentence for sentence in told)
    book = SiteLedger(
        tmp_path / "c" / "ledger.sqlite", limits=parse_policy(poor).limits, delta=1e-3
    )
    assert all(one.life.micro <= 30_000_000 for one in book.totals())


def test_a_site_that_fails_says_only_that_it_failed(ready, tmp_path, monkeypatch) -> None:
    told: list[str] = []
    everybody = owners(ready, tmp_path, told)
    sites = sites_of(everybody, min_sites=2)
    site = sites.transport.sites["b"]  # type: ignore[attr-defined]
    monkeypatch.setattr(site, "_compute_response", lambda *_: 1 / 0)
    place = deploy(ready.plan, sites, tmp_path / "runs")
    assert {one.reason for one in missing(place)} == {"it failed; its own log says why"}
    assert any("ZeroDivisionError" in sentence for sentence in told)


def test_an_older_ledger_is_not_answered_from(ready, tmp_path) -> None:
    """An owner's ledger is put back from a copy, in the middle of a run: the site itself refuses, and names what is wrong."""
    told: list[str] = []
    sites = sites_of(owners(ready, tmp_path, told), min_sites=2)
    ledger, copy, at = tmp_path / "b" / "ledger.sqlite", tmp_path / "copy", list[str]()

    def put_back(site: str, reply: bytes) -> bytes:
        if site == "b" and signed_message.read(reply).subject.exchange == "train":
            at.append(site)
            if len(at) == 1:
                shutil.copyfile(ledger, copy)  # every connection is closed, so the file is whole
            if len(at) == 2:
                shutil.copyfile(copy, ledger)
        return reply

    sites.transport.spoil = put_back  # type: ignore[attr-defined]
    place = deploy(ready.plan, sites, tmp_path / "runs", test=str(ready.test))
    assert any(
        "the ledger is older than its last receipt: it has 4 entries, the receipt says 6"
        in sentence
        for sentence in told
    )
    assert {(one.site, one.round_no, one.reason) for one in missing(place)} == {
        (
            "b",
            3,
            "its ledger is damaged, is an older copy, or cannot be written; its own log says which",
        )
    }
    assert json.loads((place / "receipts.json").read_bytes())["b"][0] == 6


def test_a_server_takes_no_answer_from_an_older_ledger(tmp_path) -> None:
    """The same, seen from the other side: a site that does not look."""
    known = Receipts(tmp_path)
    reply = signed_message.MessageSubject(
        kind="ask",
        run="r",
        plan=bytes(32),
        site="b",
        round_no=1,
        exchange="train",
        nonce=bytes(16),
        status="ok",
    )
    known.take("b", msgspec.structs.replace(reply, entries=5, head=b"5" * 32))
    known.keep()
    for entries, head in ((4, b"4" * 32), (5, b"6" * 32)):
        with pytest.raises(
            WireError,
            match="its ledger is older than its last receipt, or another one: it must have at least 5 entries",
        ):
            Receipts(tmp_path).take("b", msgspec.structs.replace(reply, entries=entries, head=head))


def test_a_restarted_site_forgets_answers_too_when_a_run_ends(ready, tmp_path) -> None:
    everybody = owners(ready, tmp_path, told := [])
    sites = sites_of(everybody)
    restarted = OwnerSite(everybody[1])
    sites.transport.spoil = lambda site, reply: (
        (  # type: ignore[attr-defined]
            sites.transport.sites.update(b=restarted)
            if signed_message.read(reply).subject.round_no == 3
            else None  # type: ignore[attr-defined]
        )
        or reply
    )
    deploy(ready.plan, sites, tmp_path / "runs")
    kinds = [
        one.kind
        for one in SiteLedger(
            tmp_path / "b" / "ledger.sqlite", limits=Limits(), delta=1e-3
        ).entries()
    ]
    assert kinds.count("forgotten") == 1
    assert sum("has ended" in sentence for sentence in told) == 3


def said_to(site: OwnerSite, job: plans.Plan) -> signed_message.MessageSubject:
    """Return what a site says to a plan that is offered by letter."""
    text = plans.to_toml(job)
    subject = signed_message.MessageSubject(
        kind="open",
        run="r-1",
        plan=hashlib.sha256(text.encode()).digest(),
        site="a",
        round_no=0,
        exchange="open",
        nonce=bytes(16),
    )
    return signed_message.read(
        site.handle(signed_message.write(subject, bodies.pack(Offer(plan=text))))
    ).subject


def test_only_a_plan_the_policy_allows_comes_as_far_as_the_rows(tmp_path) -> None:
    site = OwnerSite(
        owner("a", tmp_path / "no such file.csv", tmp_path / "a", OF_THE_OWNER, unit=ONE_CLIENT)
    )
    assert said_to(site, remove_simulation_settings(plan_of())).status == "data"


# Sites run no baselines, and see how long a message is when they build the model.
OFFERED = [case for case in MALICIOUS if case not in ("unprotected beside it", "oversized message")]


@pytest.mark.parametrize("case", OFFERED)
def test_a_malicious_plan_is_refused_by_a_letter_and_no_row_is_read(tmp_path, case) -> None:
    """The plans of the policy's own test, as a server would offer them: the file of rows does not even exist."""
    told: list[str] = []
    changes, _ = MALICIOUS[case]
    job = remove_simulation_settings(plan_of(**changes))
    site = OwnerSite(
        owner(
            "a",
            tmp_path / "no such file.csv",
            tmp_path / "a",
            OF_THE_OWNER,
            unit=ONE_CLIENT,
            tell=told.append,
        )
    )
    reply = said_to(site, job)
    assert reply.status in ("policy", "plan")
    assert reply.status == "policy" or "cannot run between sites" in told[0]
    assert len(told) == 1
    assert not (tmp_path / "a" / "ledger.sqlite").exists()


SIMULATED_ONLY = {
    "corrupt": {"corrupt": {"clients": 0.2, "kind": "sign_flip"}},
    "data.deal = 'every_round'": {"data__deal": "every_round", "codec": {"name": "plain"}},
}


@pytest.mark.parametrize("what", SIMULATED_ONLY)
def test_a_site_refuses_what_only_a_simulation_can_do(ready, tmp_path, what) -> None:
    """A server that offers it all the same is told that the question is not taken; no row is read."""
    told: list[str] = []
    job = remove_simulation_settings(small_plan(tmp_path / "reviews.csv", **SIMULATED_ONLY[what]))
    site = OwnerSite(owner("a", tmp_path / "no such file.csv", tmp_path / "a", tell=told.append))
    assert said_to(site, job).status == "plan"
    assert any("cannot run between sites" in sentence and what in sentence for sentence in told)


def test_stopped_for_want_of_sites_it_goes_on_later(ready, tmp_path) -> None:
    everybody = owners(ready, tmp_path, [])
    whole = deploy(
        ready.plan, sites_of(everybody), tmp_path / "whole", simulated_noise=True, identity="same"
    )
    sites = sites_of(
        [owner(one.name, Path(one.source), tmp_path / "again" / one.name) for one in everybody],
        deadline=0.2,
    )
    sites.transport.spoil = lambda site, reply: (
        None if site == "b" and sites.transport.count > 14 else reply
    )  # type: ignore[attr-defined]
    with pytest.raises(
        RunError, match=r"needs 3 sites, got 2 \(b: no valid reply within 0.2 seconds\)"
    ):
        deploy(ready.plan, sites, tmp_path / "runs", simulated_noise=True, identity="same")
    (place,) = (tmp_path / "runs").iterdir()
    sites.transport.spoil = lambda site, reply: reply  # type: ignore[attr-defined]
    resume(place, sites)
    assert model_of(place) == model_of(whole)
