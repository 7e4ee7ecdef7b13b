"""A server that is killed, resumed in vain and resumed again: its record keeps every charge, and its keys go with the run."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from tacit import ledger, record
from tacit.engine import checkpoint
from tacit.engine.deployed.job import Sites, deploy, prepare, resume
from tacit.engine.deployed.mail import Manner
from tacit.engine.deployed.rehearsal import Rehearsal, rehearsal
from tacit.engine.run_folder import RECORD
from tacit.errors import RunError
from tacit.wire.letter import read
from tests.engine.deployed.local_post import LocalPost, model_of, owner, sites_of
from tests.engine.small import small_plan, write_csv

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
    return rehearsal(small_plan(write_csv(place / "reviews.csv"), codec=codec, server__rounds=4), place, 2)


def sites(ready: Rehearsal, folder: Path, told: list[str] | None = None, **manner: Any) -> Sites:
    tell = (told if told is not None else []).append
    owners = [owner(name, rows, folder / name, tell=tell) for name, rows in zip("ab", ready.files, strict=True)]
    return sites_of(owners, **manner)


def settings(ready: Rehearsal) -> dict[str, Any]:
    return {"test": str(ready.test), "simulated_noise": True, "identity": ready.identity}


def killed_in_round(ready: Rehearsal, folder: Path, round_no: int, **more: Any) -> tuple[Path, Sites]:
    """Return the folder of a run whose server stopped after both sites answered a round, and the sites."""
    there = sites(ready, folder)
    post = there.post
    assert isinstance(post, LocalPost)
    send = post.send

    def stops(site: str, letter: bytes) -> str:
        mark, subject = send(site, letter), read(letter).subject
        if (subject.kind, subject.round_no, site) == ("ask", round_no, "b"):
            raise Killed
        return mark

    place = prepare(ready.plan, folder / "runs", **{**settings(ready), **more})
    post.send = stops  # type: ignore[method-assign]
    with pytest.raises(Killed):
        resume(place, there)
    post.send = send  # type: ignore[method-assign]
    return place, there


def stated(place: Path) -> float:
    """Return the epsilon per run that the record states."""
    entries = [one for one in record.of_kind(list(record.read(place / RECORD)), record.Released, "run") if one.round_no]
    return ledger.totals(ledger.folded(entries), DELTA)[-1].epsilon or 0.0


def told(place: Path) -> list[dict[str, Any]]:
    """Return the entries that stand, but for resumptions, times, and what is drawn anew for each run."""
    entries = [entry for entry in record.read(place / RECORD) if not isinstance(entry, record.Resumed)]
    return [{"kind": type(entry).__name__, **asdict(entry), "seconds": 0, "data_fingerprint": "", "key": ""} for entry in entries]


def test_a_resume_that_fails_takes_no_charge_back(ready, tmp_path) -> None:
    place, there = killed_in_round(ready, tmp_path, 3)
    before, content = stated(place), (place / RECORD).read_bytes()
    away = Sites(post=Away(there.post.sites), keys=there.keys, manner=Manner(least_sites=2, deadline=0.1, look=0))
    for _ in range(2):
        with pytest.raises(RunError, match="needs 2 sites, and 0 is ready"):
            resume(place, away)
        assert stated(place) == before
        assert (place / RECORD).read_bytes().startswith(content)


def test_a_run_resumed_after_failed_resumes_tells_what_an_unbroken_one_tells(ready, tmp_path) -> None:
    place, there = killed_in_round(ready, tmp_path / "broken", 3)
    away = Sites(post=Away(there.post.sites), keys=there.keys, manner=Manner(least_sites=2, deadline=0.1, look=0))
    with pytest.raises(RunError):
        resume(place, away)
    resume(place, there)
    whole = deploy(ready.plan, sites(ready, tmp_path / "whole"), tmp_path / "whole" / "runs", **settings(ready))
    assert model_of(place) == model_of(whole)
    assert told(place) == told(whole)
    assert stated(place) == stated(whole)


def test_a_round_asked_of_others_after_a_resume_is_charged_in_addition(ready, tmp_path) -> None:
    """Site b is away when the run is resumed, so round 3 asks others than before; site a refuses. Both charges stay."""
    place, there = killed_in_round(ready, tmp_path, 3)
    before, gone = stated(place), there.post.sites.pop("b")
    with pytest.raises(RunError, match="round 3, train: needs 1 sites, got 0"):
        resume(place, Sites(post=there.post, keys=there.keys, manner=Manner(least_sites=1, deadline=0.2, look=0)))
    assert stated(place) > before
    there.post.sites["b"] = gone
    resume(place, there)
    entries = list(record.read(place / RECORD))
    assert record.of_kind(entries, record.Spent, "run")[-1].totals[-1]["epsilon"] == stated(place)
    assert sum(one.superseded for one in record.of_kind(entries, record.Released, "run")) == 1


def test_a_missing_checkpoint_does_not_delete_the_record(ready, tmp_path) -> None:
    place, there = killed_in_round(ready, tmp_path, 2)
    (place / checkpoint.NAME).unlink()
    content = (place / RECORD).read_bytes()
    with pytest.raises(RunError, match=r"checkpoint\.safetensors: is missing, though rounds were recorded"):
        resume(place, there)
    assert (place / RECORD).read_bytes() == content
