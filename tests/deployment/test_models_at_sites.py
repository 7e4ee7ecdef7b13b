"""After a run every site has its model, which predicts what the server's and the simulator's do, whatever the method.

Models with private parameters (FedVocab) are in `test_personal_models.py`.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from tacit import api, simulation
from tacit.deployment.server import job as server_job
from tacit.deployment.server.delivery import DELIVERED, OFFLINE, STORED, read_delivered
from tacit.deployment.server.job import deploy, resume
from tacit.deployment.site.owner_site import OwnerSite
from tacit.errors import RunError
from tacit.models.exporting import make_up_rows
from tacit.models.predict import load
from tacit.negotiation import NegotiationTerms, save
from tacit.negotiation.result import bind_result
from tacit.protocol.messages.signed_message import read
from tacit.runs.run_folder import MODEL, MODEL_FACTS, hash_file
from tacit.runs.run_keys import list_keys
from tacit.runs.verify import verify_files
from tacit.simulation.rehearsal import prepare_rehearsal
from tests.deployment.local_post import owner, sites_of
from tests.deployment.test_same_model import CODECS, FILTER, VOTING
from tests.simulation.small import small_plan, write_csv
from tests.simulation.test_disclosure import job as disclosing_plan
from tests.simulation.test_disclosure import people  # noqa: F401 (a fixture)

CLOSE = 1e-6
WAYS = {
    "plain": {"codec": {"name": "plain"}},
    "dp_sum": {"codec": CODECS["dp_sum"]},
    "secure aggregation": {"codec": CODECS["rr"], "secure_aggregation": {"helpers": 2}},
    "LazyInf": {
        "filter": FILTER,
        "data": VOTING,
        "codec": {"name": "plain"},
        "model": {"name": "logistic"},
    },
}


@pytest.fixture(scope="module")
def reviews(tmp_path_factory) -> Path:
    return write_csv(tmp_path_factory.mktemp("data") / "reviews.csv")


def deployed(job, folder: Path, *, simulated=False, **settings) -> tuple[Path, list[Path]]:
    """The run's folder, and the folder of the model at each site; noise comes from the system, or
    as in a simulation from the plan's seed.
    """
    ready = prepare_rehearsal(job, folder / "rows", 3)
    owners = [
        owner(name, file, folder / name, tell=print, **settings)
        for name, file in zip("abc", ready.files, strict=True)
    ]
    same = {"simulated_noise": True, "identity": ready.identity} if simulated else {}
    place = deploy(ready.plan, sites_of(owners), folder / "runs", test=str(ready.test), **same)
    return place, [one for own in owners for one in sorted((own.folder / "models").glob("*"))]


def check_against_simulation(job, folder: Path) -> None:
    """Every site predicts as the simulator's model does."""
    wanted = load(simulation.start(job, folder / "simulated"))
    rows = make_up_rows(wanted)
    _, models = deployed(job, folder, simulated=True)
    assert len(models) == 3
    for model in models:
        found = load(model).predict_proba(rows)
        assert np.abs(found - wanted.predict_proba(rows)).max() <= CLOSE
        assert found.std(axis=0).max() > 0


def check_predictions(place: Path, models: list[Path]) -> None:
    ours = load(place)
    rows = make_up_rows(ours)
    wanted = ours.predict_proba(rows)
    assert len(models) == 3
    for folder in models:
        found = load(folder)
        assert np.abs(found.predict_proba(rows) - wanted).max() <= CLOSE
        assert hash_file(folder / MODEL) == hash_file(place / MODEL)
        assert hash_file(folder / MODEL_FACTS) == hash_file(place / MODEL_FACTS)


@pytest.mark.parametrize("way", WAYS)
def test_every_site_predicts_as_the_server_does(reviews, tmp_path, way) -> None:
    changes = {
        key: {**value, "source": str(reviews)} if key == "data" else value
        for key, value in WAYS[way].items()
    }
    job = small_plan(reviews, server={"rounds": 2}, **changes)
    place, models = deployed(job, tmp_path)
    check_predictions(place, models)
    assert read_delivered(place) == dict.fromkeys("abc", STORED)
    check_against_simulation(job, tmp_path / "same noise")


def test_partfed(people, tmp_path) -> None:  # noqa: F811
    job = disclosing_plan(people, server__rounds=2)
    check_predictions(*deployed(job, tmp_path))
    check_against_simulation(job, tmp_path / "same noise")


def test_hashcomb_is_read_by_the_sites_alone(reviews, tmp_path) -> None:
    """The server has no model; each site writes the one that its clients decoded."""
    terms = NegotiationTerms(run="secret-1", parties=3, levels=10, enlargement=2.0)
    save(bind_result(terms, -0.04, 0.04, os.urandom(16)), tmp_path / "agreed.json")
    codec = {"name": "hashcomb", "agreed": str(tmp_path / "agreed.json"), "levels": 10}
    job = small_plan(reviews, name="secret-1", codec=codec, server={"rounds": 2})
    place, models = deployed(job, tmp_path, agreed=str(tmp_path / "agreed.json"))
    with pytest.raises(RunError, match="only its clients can read the model"):
        load(place)
    assert not (place / MODEL).exists()
    rows = make_up_rows(load(models[0]))
    first, *others = [load(folder).predict_proba(rows) for folder in models]
    assert len(others) == 2
    assert first.std(axis=0).max() > 0
    assert max(np.abs(one - first).max() for one in others) <= CLOSE
    codec = {"name": "hashcomb", "x_min": -0.04, "x_max": 0.04, "levels": 10}
    job = small_plan(reviews, codec=codec, server={"rounds": 2})
    check_against_simulation(job, tmp_path / "same noise")


def test_the_folder_at_a_site_is_that_of_a_run(reviews, tmp_path) -> None:
    place, models = deployed(
        small_plan(reviews, codec=CODECS["dp_sum"], server={"rounds": 2}), tmp_path
    )
    server, there = api.Run(place), api.Run(models[0])
    assert there.privacy == server.privacy
    assert there.parameters_sha256 == server.parameters_sha256
    assert server.privacy in there.render_card()
    assert {one.state for one in verify_files(models[0])} == {"intact"}
    assert verify_files(models[0], key="0" * 64)[0].state == "not intact"
    done = there.export("safetensors", tmp_path / "exported")
    assert done.difference <= CLOSE
    modes = {path.stat().st_mode & 0o077 for path in [models[0], *models[0].iterdir()]}
    assert modes == {0}


def test_nobody_receives_it_if_the_plan_says_so(reviews, tmp_path) -> None:
    job = small_plan(reviews, codec={"name": "plain"}, server={"rounds": 1, "deliver_to": "nobody"})
    place, models = deployed(job, tmp_path)
    assert models == []
    assert not (place / DELIVERED).exists()


def test_a_site_that_was_offline_receives_it_later(reviews, tmp_path) -> None:
    job = small_plan(reviews, codec={"name": "plain"}, server={"rounds": 1})
    ready = prepare_rehearsal(job, tmp_path / "rows", 3)
    owners = [
        owner(name, file, tmp_path / name) for name, file in zip("abc", ready.files, strict=True)
    ]
    sites = sites_of(owners, deadline=0.3)
    there = dict.fromkeys("abc", True)

    def leave(site: str, reply: bytes) -> bytes:
        if site == "c" and read(reply).subject.round_no == 1:
            there["c"] = False  # after its last response
        return reply

    sites.transport.spoil = leave
    sites.transport.online = lambda: dict(there)
    sends = sites.transport.send
    sites.transport.send = lambda site, message: (
        sends(site, message) if there[site] or site != "c" else "lost"
    )
    place = deploy(ready.plan, sites, tmp_path / "runs", test=str(ready.test))
    assert read_delivered(place) == {"a": STORED, "b": STORED, "c": OFFLINE}
    assert not (owners[2].folder / "models").exists()
    there["c"] = True
    sites.transport.spoil = lambda site, reply: reply
    sites.transport.sites["c"] = OwnerSite(owners[2])
    resume(place, sites)
    assert read_delivered(place) == dict.fromkeys("abc", STORED)
    check_predictions(place, [path for one in owners for path in (one.folder / "models").glob("*")])


def test_a_server_killed_before_it_signed_delivers_after_a_resume(
    reviews, tmp_path, monkeypatch
) -> None:
    class Killed(BaseException):
        """The process ends here."""

    def die(*_: object) -> None:
        raise Killed

    job = small_plan(reviews, codec={"name": "plain"}, server={"rounds": 1})
    ready = prepare_rehearsal(job, tmp_path / "rows", 3)
    owners = [
        owner(name, file, tmp_path / name) for name, file in zip("abc", ready.files, strict=True)
    ]
    sites = sites_of(owners)
    monkeypatch.setattr(server_job, "prepare_delivery", die)
    with pytest.raises(Killed):
        deploy(ready.plan, sites, tmp_path / "runs", test=str(ready.test))
    monkeypatch.undo()
    (place,) = (tmp_path / "runs").iterdir()
    resume(place, sites)
    assert list_keys(place) == []
    check_predictions(place, [path for one in owners for path in (one.folder / "models").glob("*")])
