"""After a run every site has its model, and it predicts what the server's does, whatever the method."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from tacit import api, training
from tacit.deployment.server import job as server_job
from tacit.deployment.server.delivery import DELIVERED, OFFLINE, STORED, read_delivered
from tacit.deployment.server.job import deploy, resume
from tacit.deployment.site.owner_site import OwnerSite
from tacit.deployment.site.site_side import SiteSide
from tacit.errors import RunError
from tacit.models.exporting import make_up_rows
from tacit.models.predict import load
from tacit.negotiation import NegotiationTerms, save
from tacit.negotiation.result import bind_result
from tacit.protocol.messages.signed_message import read
from tacit.rows import Inputs
from tacit.runs.run_folder import MODEL, MODEL_FACTS, hash_file
from tacit.runs.run_keys import list_keys
from tacit.runs.verify import verify_files
from tacit.simulation.rehearsal import prepare_rehearsal
from tests.deployment.local_post import owner, sites_of
from tests.deployment.test_same_model import CODECS, FILTER, VOTING
from tests.simulation.small import small_plan, write_csv
from tests.simulation.test_disclosure import job as disclosing_plan
from tests.simulation.test_disclosure import people  # noqa: F401 (a fixture)
from tests.simulation.worded import worded_plan

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


def deployed(job, folder: Path, **settings) -> tuple[Path, list[Path]]:
    """The run's folder, and the folder of the model at each site; noise comes from the system."""
    ready = prepare_rehearsal(job, folder / "rows", 3)
    owners = [
        owner(name, file, folder / name, tell=print, **settings)
        for name, file in zip("abc", ready.files, strict=True)
    ]
    sites = sites_of(owners)
    place = deploy(ready.plan, sites, folder / "runs", test=str(ready.test))
    return place, [one for own in owners for one in sorted((own.folder / "models").glob("*"))]


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
    place, models = deployed(small_plan(reviews, server={"rounds": 2}, **changes), tmp_path)
    check_predictions(place, models)
    assert read_delivered(place) == dict.fromkeys("abc", STORED)


def test_partfed(people, tmp_path) -> None:  # noqa: F811
    check_predictions(*deployed(disclosing_plan(people, server__rounds=2), tmp_path))


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


def predict_for_clients(built: SiteSide, shared: Path, inputs: Inputs) -> np.ndarray:
    """Logits of each client of a site: the shared part in a file, with the client's own part."""
    learner, worker = built.learner, built.learner.worker()
    model, found = training.flatten_parameters(learner, load_file(shared)), []
    for name in built.site.names:
        slot = built.site.slot(name)
        words = learner.vocabulary(slot, inputs)
        worker.assemble(model, learner.load_private(slot, words, built.plan.server.rounds + 1))
        found.append(worker.logits(inputs, words))
    return np.stack(found)


@pytest.mark.slow
def test_fedvocab_delivers_the_shared_part(reviews, tmp_path) -> None:
    """With its own part, each client predicts from the delivered shared part as from the server's."""
    pytest.importorskip("torch")
    job = worded_plan(reviews, server={"rounds": 2, "cohort": "count", "cohort_size": 6})
    ready = prepare_rehearsal(job, tmp_path / "rows", 3)
    owners = [
        owner(name, file, tmp_path / name) for name, file in zip("abc", ready.files, strict=True)
    ]
    sites, sides = sites_of(owners), dict[str, SiteSide]()

    def keep(site: str, reply: bytes) -> bytes:
        for run in sites.transport.sites[site]._runs.values():
            sides[site] = run.built or sides.get(site)
        return reply

    sites.transport.spoil = keep
    place = deploy(ready.plan, sites, tmp_path / "runs", test=str(ready.test))
    for one in owners:
        (folder,) = (one.folder / "models").glob("*")
        inputs = sides[one.name].encoded.train.inputs
        ours, theirs = (
            predict_for_clients(sides[one.name], file / MODEL, inputs) for file in (place, folder)
        )
        assert np.abs(ours - theirs).max() <= CLOSE
        with pytest.raises(RunError, match="stays with each client"):
            load(folder)
        assert "shared part of the model" in api.Run(folder).render_card()


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
