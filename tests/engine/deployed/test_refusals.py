"""Owners decide: what a policy or a ledger does not allow does not leave, and the run goes on with the others or stops."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit import record
from tacit.engine.deployed.job import deploy, resume
from tacit.engine.deployed.rehearsal import Rehearsal, rehearsal
from tacit.engine.run_folder import RECORD
from tacit.errors import RunError
from tacit.ledger.owner import Book
from tacit.ledger.owner.policy import parse_policy
from tests.engine.deployed.local_post import GENEROUS, model_of, owner, sites_of
from tests.engine.small import small_plan, write_csv

COSTLY = {"name": "dp_sum", "epsilon": 20.0, "delta": 1e-3, "clip": 0.5}


@pytest.fixture(scope="module")
def ready(tmp_path_factory) -> Rehearsal:
    place = tmp_path_factory.mktemp("rows")
    job = small_plan(write_csv(place / "reviews.csv"), codec=COSTLY, server__rounds=3)
    return rehearsal(job, place, 3)


def owners(ready: Rehearsal, folder: Path, told: list[str], **policies: str):
    return [
        owner(name, rows, folder / name, policies.get(name, GENEROUS), tell=told.append)
        for name, rows in zip("abc", ready.files, strict=True)
    ]


def spent(folder: Path) -> int:
    limits = parse_policy(GENEROUS).limits
    book = Book(folder / "ledger.sqlite", limits=limits, delta=1e-3)
    book.verify()
    return sum(one.life.micro for one in book.totals())


def refused(place: Path) -> list[record.Refused]:
    return record.of_kind(list(record.read(place / RECORD)), record.Refused)


def test_a_site_that_allows_less_is_left_out_and_pays_nothing(ready, tmp_path) -> None:
    told: list[str] = []
    careful = GENEROUS.replace("epsilon_per_run = 1e9", "epsilon_per_run = 2")
    sites = sites_of(owners(ready, tmp_path, told, b=careful), least_sites=2)
    place = deploy(ready.plan, sites, tmp_path / "runs", test=str(ready.test))
    assert any("limits.epsilon_per_run = 2 per client: the plan asks for" in sentence for sentence in told)
    (one,) = refused(place)
    assert one.sender == "site b"
    assert one.reason == "its owner's policy does not allow it (limits.epsilon_per_run)"
    assert not (tmp_path / "b" / "ledger.sqlite").exists()
    assert (spent(tmp_path / "a"), spent(tmp_path / "c")) == (7 * 20_000_000, 6 * 20_000_000)


def test_without_enough_sites_nothing_begins(ready, tmp_path) -> None:
    sites = sites_of(owners(ready, tmp_path, [], b="", c=""), least_sites=2)
    with pytest.raises(RunError, match=r"needs 2 sites, and 1 takes part [(]b: its owner's policy does not allow it"):
        deploy(ready.plan, sites, tmp_path / "runs")
    assert not list((tmp_path / "runs").iterdir())


def test_a_budget_for_life_ends_inside_a_run(ready, tmp_path) -> None:
    """Two runs of epsilon 20 per client do not fit into 30: in the second the site answers as long as its clients can pay."""
    told: list[str] = []
    poor = GENEROUS.replace("epsilon_for_life = 1e9", "epsilon_for_life = 30")
    everybody = owners(ready, tmp_path, told, c=poor)
    deploy(ready.plan, sites_of(everybody, least_sites=2), tmp_path / "runs")
    place = deploy(ready.plan, sites_of(everybody, least_sites=2), tmp_path / "runs")
    late = [one for one in refused(place) if one.sender == "site c"]
    assert late
    assert {one.reason for one in late} == {"its owner's ledger has no budget left for it (limits.epsilon_for_life)"}
    assert any("limits.epsilon_for_life = 30 per client" in sentence for sentence in told)
    book = Book(tmp_path / "c" / "ledger.sqlite", limits=parse_policy(poor).limits, delta=1e-3)
    assert all(one.life.micro <= 30_000_000 for one in book.totals())


def test_a_site_that_fails_says_only_that_it_failed(ready, tmp_path, monkeypatch) -> None:
    told: list[str] = []
    everybody = owners(ready, tmp_path, told)
    sites = sites_of(everybody, least_sites=2)
    site = sites.post.sites["b"]  # type: ignore[attr-defined]
    monkeypatch.setattr(site, "_made", lambda *_: 1 / 0)
    place = deploy(ready.plan, sites, tmp_path / "runs")
    assert {one.reason for one in refused(place)} == {"it failed; its own log says why"}
    assert any("ZeroDivisionError" in sentence for sentence in told)


def test_stopped_for_want_of_sites_it_goes_on_later(ready, tmp_path) -> None:
    everybody = owners(ready, tmp_path, [])
    whole = deploy(ready.plan, sites_of(everybody), tmp_path / "whole", simulated_noise=True, identity="same")
    sites = sites_of([owner(one.name, Path(one.source), tmp_path / "again" / one.name) for one in everybody], deadline=0.2)
    sites.post.spoil = lambda site, reply: None if site == "b" and sites.post.count > 14 else reply  # type: ignore[attr-defined]
    with pytest.raises(RunError, match=r"needs 3 sites, got 2 \(b: no valid reply within 0.2 seconds\)"):
        deploy(ready.plan, sites, tmp_path / "runs", simulated_noise=True, identity="same")
    (place,) = (tmp_path / "runs").iterdir()
    sites.post.spoil = lambda site, reply: reply  # type: ignore[attr-defined]
    resume(place, sites)
    assert model_of(place) == model_of(whole)
