"""A server that is killed, resumed in vain and resumed again: its record keeps every charge, and its keys go with the run."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit.cli import execute
from tacit.deployment.server.job import Sites, deploy, prepare, resume
from tacit.deployment.server.messenger import RequestSettings
from tacit.deployment.site import stored_runs
from tacit.errors import RunError, TacitError
from tacit.privacy import ledger
from tacit.protocol.messages.signed_message import read
from tacit.runs import checkpoint, record
from tacit.runs.run_folder import RECORD
from tacit.runs.verify import list_damage
from tacit.simulation.rehearsal import Rehearsal, prepare_rehearsal
from tests.deployment.local_post import LocalPost, model_of, owner, sites_of
from tests.simulation.rewriting import rewrite
from tests.simulation.small import small_plan, write_csv

DELTA = 1e-3


class Killed(BaseException):
    """The server's machine stops."""


class Away(LocalPost):
    """Sites that cannot be reached."""

    def online(self) -> dict[str, bool]:
        return dict.fromkeys(self.sites, False)


@pytest.fixture(scope="module")
def ready(tmp_path_factory) -> Rehearsal:
    place = tmp_path_factory.mktemp("rows")
    codec = {"name": "gaussian", "epsilon": 1.0, "delta": DELTA, "clip": 0.5}
    return prepare_rehearsal(
        small_plan(write_csv(place / "reviews.csv"), codec=codec, server__rounds=4), place, 2
    )


def sites(ready: Rehearsal, folder: Path, told: list[str] | None = None, **settings: Any) -> Sites:
    tell = (told if told is not None else []).append
    owners = [
        owner(name, rows, folder / name, tell=tell)
        for name, rows in zip("ab", ready.files, strict=True)
    ]
    return sites_of(owners, **settings)


def settings(ready: Rehearsal) -> dict[str, Any]:
    return {"test": str(ready.test), "simulated_noise": True, "identity": ready.identity}


def killed_in_round(
    ready: Rehearsal, folder: Path, round_no: int, **more: Any
) -> tuple[Path, Sites]:
    """Return the folder of a run whose server stopped after both sites answered a round, and the sites."""
    there = sites(ready, folder)
    transport = there.transport
    assert isinstance(transport, LocalPost)
    send = transport.send

    def stops(site: str, message: bytes) -> str:
        mark, subject = send(site, message), read(message).subject
        if (subject.kind, subject.round_no, site) == ("ask", round_no, "b"):
            raise Killed
        return mark

    place = prepare(ready.plan, folder / "runs", **{**settings(ready), **more})
    transport.send = stops  # type: ignore[method-assign]
    with pytest.raises(Killed):
        resume(place, there)
    transport.send = send  # type: ignore[method-assign]
    return place, there


def stated(place: Path) -> float:
    """Return the epsilon per run that the record states."""
    entries = [
        one
        for one in record.select_entries(list(record.read(place / RECORD)), record.Released, "run")
        if one.round_no
    ]
    return ledger.compute_totals(ledger.fold_releases(entries), DELTA)[-1].epsilon or 0.0


def told(place: Path) -> list[dict[str, Any]]:
    """Return the entries that stand, but for resumptions, times, and what is drawn anew for each run."""
    entries = [
        entry for entry in record.read(place / RECORD) if not isinstance(entry, record.Resumed)
    ]
    return [
        {
            "kind": type(entry).__name__,
            **asdict(entry),
            "seconds": 0,
            "data_fingerprint": "",
            "key": "",
        }
        for entry in entries
    ]


def test_a_resume_that_fails_takes_no_charge_back(ready, tmp_path) -> None:
    place, there = killed_in_round(ready, tmp_path, 3)
    before, content = stated(place), (place / RECORD).read_bytes()
    away = Sites(
        transport=Away(there.transport.sites),
        keys=there.keys,
        settings=RequestSettings(min_sites=2, deadline=0.1, poll_interval=0),
    )
    for _ in range(2):
        with pytest.raises(RunError, match="needs 2 sites, and 0 is ready"):
            resume(place, away)
        assert stated(place) == before
        assert (place / RECORD).read_bytes().startswith(content)


def test_a_run_resumed_after_failed_resumes_tells_what_an_unbroken_one_tells(
    ready, tmp_path
) -> None:
    place, there = killed_in_round(ready, tmp_path / "broken", 3)
    away = Sites(
        transport=Away(there.transport.sites),
        keys=there.keys,
        settings=RequestSettings(min_sites=2, deadline=0.1, poll_interval=0),
    )
    with pytest.raises(RunError):
        resume(place, away)
    resume(place, there)
    whole = deploy(
        ready.plan, sites(ready, tmp_path / "whole"), tmp_path / "whole" / "runs", **settings(ready)
    )
    assert model_of(place) == model_of(whole)
    assert told(place) == told(whole)
    assert stated(place) == stated(whole)


def test_a_round_repeated_without_a_site_is_charged_once(ready, tmp_path) -> None:
    """Site b is away when the run is resumed; round 3 is asked to the letter as before, so a repeats its response."""
    place, there = killed_in_round(ready, tmp_path, 3)
    before = stated(place)
    there.transport.sites.pop("b")
    fewer = RequestSettings(min_sites=1, deadline=5.0, poll_interval=0, grace=0.0)
    resume(place, Sites(transport=there.transport, keys=there.keys, settings=fewer))
    entries = list(record.read(place / RECORD))
    released = record.select_entries(entries, record.Released, "run")
    assert sum(one.round_no == 3 and one.exchange == "train" for one in released) == 1
    assert not any(one.superseded for one in released)
    assert stated(place) >= before
    assert {one.reason for one in record.select_entries(entries, record.SiteMissing)} == {
        "the server does not admit it"
    }


def test_a_missing_checkpoint_does_not_delete_the_record(ready, tmp_path) -> None:
    place, there = killed_in_round(ready, tmp_path, 2)
    (place / checkpoint.NAME).unlink()
    content = (place / RECORD).read_bytes()
    with pytest.raises(
        RunError, match=r"checkpoint\.safetensors: is missing, although rounds were recorded"
    ):
        resume(place, there)
    assert (place / RECORD).read_bytes() == content


def keys_in(folder: Path) -> list[str]:
    """Return every file below a folder that holds a key of a run, also half written."""
    names = ("root.key", "record.key", "root")
    return sorted(
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.name.strip(".").startswith(names)
    )


def test_no_key_is_left_when_a_run_has_ended(ready, tmp_path) -> None:
    there = sites(ready, tmp_path)
    during: dict[str, list[str]] = {}
    transport = there.transport
    assert isinstance(transport, LocalPost)
    transport.spoil = lambda site, reply: (
        during.update({read(reply).subject.kind: keys_in(tmp_path / "runs")}) or reply
    )
    place = deploy(ready.plan, there, tmp_path / "runs", test=str(ready.test))
    run = place.name
    assert during["ask"] == [f"{run}/record.key", f"{run}/root.key"]  # while it could still go on
    assert during["model"] == during["end"] == []  # the model was signed before
    assert keys_in(tmp_path) == []


def test_a_key_that_a_kill_left_in_a_finished_run_is_deleted_by_the_next_resume(
    ready, tmp_path
) -> None:
    there = sites(ready, tmp_path)
    place = deploy(ready.plan, there, tmp_path / "runs", test=str(ready.test))
    for name in ("root.key", ".root.key.x1.new"):
        (place / name).write_bytes(bytes(32))
    resume(place, there)
    assert keys_in(tmp_path) == []


def test_a_run_that_does_not_begin_leaves_no_key(ready, tmp_path) -> None:
    there = sites(ready, tmp_path)
    with pytest.raises(RunError):
        deploy(
            ready.plan,
            Sites(
                transport=Away(there.transport.sites),
                keys=there.keys,
                settings=RequestSettings(deadline=0.1, poll_interval=0),
            ),
            tmp_path / "runs",
        )
    assert keys_in(tmp_path) == []
    (tmp_path / "a" / "gone.csv").write_text("who\n")
    told: list[str] = []
    unreadable = owner("a", tmp_path / "a" / "gone.csv", tmp_path / "a", tell=told.append)
    with pytest.raises(TacitError):
        deploy(ready.plan, sites_of([unreadable]), tmp_path / "runs")
    assert keys_in(tmp_path) == []


def test_a_run_whose_root_is_missing_does_not_go_on_with_another(ready, tmp_path) -> None:
    place, there = killed_in_round(ready, tmp_path, 2, simulated_noise=False, identity=None)
    (place / "root.key").unlink()
    with pytest.raises(
        RunError, match=r"root\.key: is missing; without it the run cannot be resumed"
    ):
        resume(place, there)


def test_an_abandoned_run_has_no_keys_and_its_sites_are_told(ready, tmp_path, capsys) -> None:
    place, there = killed_in_round(ready, tmp_path, 3, simulated_noise=False, identity=None)
    before = stated(place)
    assert keys_in(place) == ["record.key", "root.key"]
    assert execute(["resume", str(place), "--abandon"]) == 0
    assert "deleted record.key, root.key" in capsys.readouterr().out
    assert keys_in(place) == []
    assert len(keys_in(tmp_path)) == 2  # the sites' own
    assert stated(place) == before
    assert list_damage(place) == []
    with pytest.raises(
        RunError, match="was abandoned, and its keys are deleted; start the plan as a new run"
    ):
        resume(place, there)
    assert keys_in(tmp_path) == []
    assert execute(["resume", str(place), "--abandon"]) == 0
    assert execute(["runs", "show", str(place)]) == 0
    assert "abandoned after round 2 of 4" in capsys.readouterr().out


def test_an_owner_ends_a_run_that_the_server_never_ended(ready, tmp_path) -> None:
    place, there = killed_in_round(ready, tmp_path, 2, simulated_noise=False, identity=None)
    site = there.transport.sites["a"].owner
    (run,) = stored_runs.list_open_runs(site)
    stored_runs.forget_run(site, run)
    assert stored_runs.list_open_runs(site) == []
    assert not (tmp_path / "a" / "runs" / run / "root").exists()
    with pytest.raises(RunError, match="is not open here"):
        stored_runs.forget_run(site, run)
    with pytest.raises(
        RunError, match="needs 2 sites, and 1 is ready"
    ):  # also with a site process that had it in memory
        resume(place, there)


def test_sites_know_the_key_and_the_head_of_the_record(ready, tmp_path, capsys) -> None:
    told: list[str] = []
    there = sites(ready, tmp_path, told)
    place = deploy(ready.plan, there, tmp_path / "runs", test=str(ready.test))
    (known,) = stored_runs.list_ended_runs(there.transport.sites["a"].owner).values()
    assert any(f"the server's record ends in {known['head']}" in sentence for sentence in told)
    words = ["runs", "verify", str(place), "--key", str(known["key"]), "--head", str(known["head"])]
    assert execute(words) == 0
    rewrite(
        place, key=Ed25519PrivateKey.generate()
    )  # as the server's operator may, with another key
    assert execute(["runs", "verify", str(place)]) == 0
    capsys.readouterr()
    assert execute(words) == 6
    assert "record.jsonl" in capsys.readouterr().err
    assert execute(["runs", "verify", str(place), "--head", str(known["head"])]) == 6


def test_a_head_that_is_not_signed_by_the_key_of_the_terms_is_told(
    ready, tmp_path, monkeypatch
) -> None:
    told: list[str] = []
    there = sites(ready, tmp_path, told)
    forged = record.SignedHead(length=9, head="ab" * 32, signature="cd" * 64)
    monkeypatch.setattr(record, "read_signed_heads", lambda path: [forged])
    deploy(ready.plan, there, tmp_path / "runs", test=str(ready.test))
    assert (
        sum(
            "the head of the server's record is NOT signed with the key in the terms" in sentence
            for sentence in told
        )
        == 2
    )
    assert stored_runs.list_ended_runs(there.transport.sites["a"].owner) == {}
    assert keys_in(tmp_path) == []
