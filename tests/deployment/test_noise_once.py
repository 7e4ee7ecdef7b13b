"""No two answers share noise: not after a site was set back to an earlier state, cloned or started again."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit import plan as plans
from tacit.client import ClientRandomness
from tacit.codecs.distributions.gaussian_noise import STEPS
from tacit.deployment.deployable_plan import prepare_for_sites
from tacit.deployment.server.job import deploy
from tacit.deployment.site import run_opening
from tacit.deployment.site.owner_site import OwnerSite
from tacit.protocol.exchanges.heads import Heads
from tacit.protocol.exchanges.train import Train
from tacit.protocol.messages import signed_message
from tacit.protocol.site import Client
from tacit.runs import record
from tacit.runs.run_folder import RECORD
from tacit.simulation.rehearsal import prepare_rehearsal
from tests.deployment.hostile import HostileServer, payloads
from tests.deployment.local_post import owner, sites_of
from tests.deployment.test_bound_runs import write_patients
from tests.simulation.small import small_plan, write_csv

GAUSSIAN = {"name": "gaussian", "epsilon": 1.0, "delta": 1e-5, "clip": 1.0}


def job(codec: dict[str, Any]) -> plans.Plan:
    columns = {"client": "patient", "text": ["note"], "label": "readmitted"}
    tree: dict[str, Any] = {
        "name": "readmissions", "data": {"source": "given", "test": 0.0, "columns": columns},
        "features": {"text": "binary", "buckets": 64}, "model": {"name": "logistic"}, "codec": codec, "server": {"rounds": 3},
    }  # fmt: skip
    return prepare_for_sites(plans.parse(tree))


class SetBack:
    """A site whose folder can be put back to where it was before round one, with no witness outside it."""

    def __init__(self, folder: Path, codec: dict[str, Any] = GAUSSIAN) -> None:
        self.folder, self.told = folder, list[str]()
        self.rows = write_patients(folder / "rows.csv")
        self.server = HostileServer(self.started(), job(codec)).start()
        shutil.copytree(folder / "a", folder / "backup")

    def started(self) -> OwnerSite:
        return OwnerSite(owner("a", self.rows, self.folder / "a", tell=self.told.append))

    def set_back(self) -> None:
        shutil.rmtree(self.folder / "a")
        shutil.copytree(self.folder / "backup", self.folder / "a")

    def use_epoch(self, epoch: str) -> None:
        site, run = self.server.site, self.server.run
        plan_hash = hashlib.sha256(self.server.text.encode()).digest()
        site._runs[run] = run_opening.reopen_run(site.owner, run, plan_hash)
        site._runs[run].load_side().site.epoch = epoch

    def numbers(self, model: float) -> np.ndarray:
        answers = self.server.train(model)
        assert answers, (self.server.status, self.told[-1:])
        sent = payloads(answers)
        return np.stack(
            [np.frombuffer(sent[name], "<i4").astype(np.int64) for name in sorted(sent)]
        )


def true_steps(site: SetBack, model: float) -> np.ndarray:
    """What the clients' messages would be without noise."""
    built = site.server.site._runs["job-1"].load_side()
    train, vector = built.exchanges["train"], np.full(built.learner.size, model, np.float32)
    codec, found = built.site.agreement.codec, []
    for name in built.site.names:
        client = Client(built.site, built.site.slot(name), built.worker)
        update = codec.clip_update(train.update(client, vector, 1).copy())
        found.append(update * (STEPS / float(np.sqrt(codec.variance(update)[0]))))
    return np.stack(found)


@pytest.mark.parametrize("clone", [False, True])
def test_another_request_after_a_restore_gets_other_noise(tmp_path, clone) -> None:
    """The attack: two models in one round, with the site's backup put back in between. Before, the difference of both answers was
    the difference of the true updates to 2e-8 of the noise. In a clone of the whole machine even the epoch is the same.
    """
    site = SetBack(tmp_path)
    if clone:
        site.use_epoch("of both")
    first, truth = site.numbers(0.0), true_steps(site, 0.0)
    site.set_back()
    site.server.site = site.started()
    if clone:
        site.use_epoch("of both")
    second, other = site.numbers(40.0), true_steps(site, 40.0)
    left = (first - second) - (truth - other)
    assert (
        np.abs(left).mean() > 0.5 * STEPS
    )  # noise of two independent draws: about 1.13 standard deviations
    assert (np.abs(left) < STEPS / 1e4).mean() < 0.01


def test_the_same_request_gets_new_noise_after_a_restore_and_the_stored_answer_otherwise(
    tmp_path,
) -> None:
    """Between both the rows may have changed, and then the same noise would show by what."""
    site = SetBack(tmp_path)
    first = site.numbers(0.0)
    assert (site.numbers(0.0) == first).all()
    site.server.site = site.started()
    assert (site.numbers(0.0) == first).all()
    site.set_back()
    site.server.site = site.started()
    assert (site.numbers(0.0) != first).mean() > 0.99


@pytest.mark.parametrize(
    "codec",
    [
        {"name": "rr", "epsilon": 1.0, "clip": 0.1},
        {"name": "projunit", "epsilon": 1.0, "clip": 1.0},
    ],
)
def test_other_codecs(tmp_path, codec) -> None:
    site = SetBack(tmp_path, codec)
    first = site.server.train(0.0)
    site.set_back()
    site.server.site = site.started()
    second = site.server.train(0.0)
    assert first
    assert second
    one, other = payloads(first), payloads(second)
    assert len(one) == 40
    assert all(one[name] != other[name] for name in one)


def test_every_exchange_with_noise_draws_it_by_the_request(tmp_path, monkeypatch) -> None:
    """Heads and updates of a voting round: each answer's noise has the digest of the request, and both of one model the same."""
    drawn: list[tuple[str, str]] = []
    noise = ClientRandomness.noise

    def noted(
        self: ClientRandomness, identity: str, round_no: int, exchange: str, request: str
    ) -> Any:
        drawn.append((exchange, request))
        return noise(self, identity, round_no, exchange, request)

    monkeypatch.setattr(ClientRandomness, "noise", noted)
    deploy_voting(tmp_path)
    assert {exchange for exchange, _ in drawn} == {Heads.name, Train.name}
    assert all(len(request) == 64 for _, request in drawn)
    by_exchange = {
        name: {request for exchange, request in drawn if exchange == name}
        for name in (Heads.name, Train.name)
    }
    assert by_exchange[Heads.name] == by_exchange[Train.name]
    assert len(by_exchange[Train.name]) == 2  # rounds


def deploy_voting(folder: Path, restart: bool = False) -> Path:
    """Run a plan whose clients commit to their updates before others vote; with `restart` site b starts again in between."""
    data = {"clients": 9, "local_test": 0.3, "columns": {"text": ["opinion"], "label": "stars"}}
    data["source"] = str(write_csv(folder / "reviews.csv"))
    votes = {
        "lr": 0.5,
        "vote_epsilon": 4.0,
        "protect": "client",
        "epsilon": 15.0,
        "delta": 1e-3,
        "clip": 1.0,
    }
    voting = small_plan(
        folder / "reviews.csv", data=data, filter=votes,
        model={"name": "logistic"}, codec={"name": "rr", "epsilon": 4.0, "clip": 0.02}, server={"rounds": 2},
    )  # fmt: skip
    ready = prepare_rehearsal(voting, folder / "rows", 3)
    owners = [
        owner(name, file, folder / name) for name, file in zip("abc", ready.files, strict=True)
    ]
    sites = sites_of(owners)

    def spoil(site: str, reply: bytes) -> bytes:
        if restart and site == "b" and signed_message.read(reply).subject.exchange == "heads":
            sites.transport.sites["b"] = OwnerSite(owners[1])  # type: ignore[attr-defined]
        return reply

    sites.transport.spoil = spoil  # type: ignore[attr-defined]
    return deploy(ready.plan, sites, folder / "runs")


def test_a_restarted_site_keeps_what_its_clients_committed_to(tmp_path) -> None:
    run = deploy_voting(tmp_path, restart=True)
    assert record.select_entries(list(record.read(run / RECORD)), record.Refused) == []
    assert not list(tmp_path.glob("b/runs/*/promised"))  # removed when the run ended


def test_simulated_noise_can_be_repeated() -> None:
    from tacit.randomness import Draws

    one, same = (
        ClientRandomness(Draws.seeded(3), 5).noise("run", 1, "train", "0" * 64).words(4).tolist()
        for _ in range(2)
    )
    assert one == same
