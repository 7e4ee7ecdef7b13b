"""The same run split into sites, each in a process with only its own rows, ends in the simulator's exact model."""

from __future__ import annotations

import hashlib
import multiprocessing
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tacit import data, engine, features, local, plan, record, server
from tacit.aggregate import Intake
from tacit.data.disclose import written_out
from tacit.draws import Draws
from tacit.engine import loop
from tacit.engine.exchanges import SecureTrain, Train, exchanges_of
from tacit.engine.exchanges.disclose_rows import DiscloseRows
from tacit.engine.exchanges.sharing import sharing_for
from tacit.engine.exchanges.train import Member, nobody
from tacit.engine.fingerprint import fingerprints_of
from tacit.engine.loop import Arm, Desk
from tacit.engine.round import gather
from tacit.engine.run_folder import RECORD
from tacit.engine.simulated_arm import Setting, SimulatedArm
from tacit.engine.simulated_data import _divided, _loaded, prepare
from tacit.engine.simulated_helpers import helper_keys, simulated_helpers
from tacit.rows import Clients, Vector
from tacit.seat import Own, Seat
from tests.engine import site_process
from tests.engine.fake_carrier import FakeCarrier, _each
from tests.engine.no_figures import NoFigures
from tests.engine.small import small_plan, write_csv
from tests.engine.test_disclosure import job as disclosing_plan
from tests.engine.test_disclosure import people  # noqa: F401 (a fixture)
from tests.engine.worded import worded_plan


@pytest.fixture(scope="module")
def pipes() -> Iterator[list[Any]]:
    """Three processes, started fresh, so that nothing of this one is in their memory."""
    context = multiprocessing.get_context("spawn")
    ends = [context.Pipe() for _ in range(3)]
    processes = [context.Process(target=site_process.serve, args=(there,), daemon=True) for _, there in ends]
    for process in processes:
        process.start()
    for _, there in ends:
        there.close()
    yield [here for here, _ in ends]
    for (here, _), process in zip(ends, processes, strict=True):
        here.close()
        process.join(10)


def simulated(job: plan.Plan, root: Path) -> str:
    folder = engine.start(job, root)
    return record.of_kind(list(record.read(folder / RECORD)), record.Finished, "run")[-1].model_sha256


def over_sites(job: plan.Plan, pipes: list[Any], folder: Path, alone: bool = False) -> str:
    """Return the model's hash after a run whose rows never meet in one process but here, where they are divided."""
    draws = Draws.seeded(job.seed)
    table, _ = _loaded(job, draws, None, None)
    _, kept, _ = _divided(job, draws, table)
    whole = prepare(job, draws)
    (folder / "server").mkdir(parents=True)
    writer = record.Writer(folder / "server" / RECORD, None)
    desk = Desk(folder=folder / "server", writer=writer, observer=engine.Silence(), fingerprints=fingerprints_of(job, whole))
    arm = SimulatedArm(Setting(desk=desk, draws=draws, data=replace(whole, disclosure=None)), "run", job)
    agreement = arm.site.agreement
    sum_at_site = job.server.sum_at == "site"
    terms = {
        "run": agreement.run, "identity": agreement.identity, "dim": agreement.dim, "public": agreement.public.key,
        "largest_weight": agreement.largest_weight, "sum_at_site": sum_at_site, "fitted": whole.fitted.to_dict(),
        "columns": asdict(table.columns), "clients": len(kept),
    }  # fmt: skip
    owners = [[name] for name in range(3)] if alone else np.array_split(np.arange(len(kept)), 3)
    for number, (pipe, names) in enumerate(zip(pipes, owners, strict=True)):
        rows = np.concatenate([kept.order[kept.starts[name] : kept.starts[name + 1]] for name in names])
        own = folder / f"rows-{number}.parquet"
        table.train[rows].write_parquet(own)
        given = {
            "number": number, "rows": str(own), "sizes": kept.sizes()[names].tolist(), "names": [int(name) for name in names],
            "job": plan.dump(job), "terms": terms, "folder": str(folder / f"site-{number}"),
        }  # fmt: skip
        pipe.send(("open", given))
        pipe.recv()
    member = received_rows(job, pipes, table, whole.fitted, draws) if job.data.share else nobody
    with_rows = {name for names in _each(pipes, "begin", {}) for name in names}
    train = Train(agreement, draws, member)
    if job.secure_sum:
        train = SecureTrain(
            agreement,
            draws,
            sharing_for(job.secure_sum, agreement, helper_keys(job.secure_sum, draws), Train.name, agreement.codec, agreement.dim),
            member,
        )
    exchanges = exchanges_of(job, train)
    helpers = simulated_helpers(job, arm.site, exchanges, draws, folder / "helpers")
    carrier = FakeCarrier(pipes, agreement, len(kept), with_rows, helpers)
    ready = Arm(
        name="run", plan=job, exchanges=exchanges, first=lambda: arm.learner.initial(draws.at("initial")), evaluator=NoFigures(),
        draws=draws,
    )  # fmt: skip
    now = loop.run_rounds(ready, desk, carrier, loop.begun(ready, desk, len(kept)))
    told = {entry.promise.mechanism for entry in record.of_kind(list(record.read(folder / "server" / RECORD)), record.Released)}
    assert all(("added up at the client's site" in mechanism) == sum_at_site for mechanism in told)
    return hashlib.sha256(now.model.tobytes()).hexdigest()


def received_rows(job: plan.Plan, pipes: list[Any], table: data.Table, fitted: features.Fitted, draws: Draws) -> Member:
    """Return the server as one more member, from rows that the sites decided on and sent."""
    messages = [(head, memoryview(body)) for answers in _each(pipes, "disclose", {"kinds": {}}) for head, body in answers]
    empty = table.train.clear().select([*table.columns.numeric, *table.columns.categorical, table.columns.label])
    exchange = DiscloseRows(job.name, empty.schema)
    total = gather(exchange, Intake(range(len(messages)), 0, 10_000, least_weight=0), messages).total
    rows = pl.concat([written_out(empty), *total.arrived], how="diagonal_relaxed")
    own = features.encode(rows, table.columns, job.features, fitted)
    held = Clients(order=np.arange(len(own)), starts=np.array([0, len(own)]))
    worker, seat = local.build(job.model, job.local, own, held).worker(), Seat(-1, 0, Own(draws, "server"))

    def member(model: Vector, round_no: int) -> server.Own:
        return server.Own(
            update=worker.train(model, seat, seat.own.train(round_no)).row, rows=len(own), clients_weight=total.weight
        )

    return member


RR = {"name": "rr", "epsilon": 2, "clip": 0.02}
CODECS = {
    "plain": {"name": "plain"},
    "rr": RR,
    "rr_sampled": {"name": "rr_sampled", "epsilon": 60, "clip": 0.02},
    "rqm": {"name": "rqm", "clip": 0.02, "margin": 0.02, "levels": 6, "coordinates": 50},
    "gaussian": {"name": "gaussian", "epsilon": 20.0, "delta": 1e-3, "clip": 0.5},
    "dp_sum": {"name": "dp_sum", "epsilon": 20.0, "delta": 1e-3, "clip": 0.5},
}


@pytest.fixture(scope="module")
def reviews(tmp_path_factory) -> Path:
    return write_csv(tmp_path_factory.mktemp("data") / "reviews.csv")


@pytest.mark.parametrize("sum_at", ["server", "site"])
@pytest.mark.parametrize("codec", CODECS)
def test_three_sites_of_many_clients(reviews, pipes, tmp_path, codec, sum_at) -> None:
    weights = "equal" if codec == "dp_sum" else "rows"
    server = {"rounds": 4, "weights": weights, "cohort": "count", "cohort_size": 11, "sum_at": sum_at}
    job = small_plan(reviews, codec=CODECS[codec], server=server)
    assert over_sites(job, pipes, tmp_path / "sites") == simulated(job, tmp_path / "one")


@pytest.mark.parametrize("codec", CODECS)
def test_one_client_per_site(reviews, pipes, tmp_path, codec) -> None:
    job = small_plan(reviews, codec=CODECS[codec], data__clients=3, server__rounds=3)
    assert over_sites(job, pipes, tmp_path / "sites", alone=True) == simulated(job, tmp_path / "one")


@pytest.mark.parametrize("codec", ["rr", "dp_sum"])
def test_secure_sum(reviews, pipes, tmp_path, codec) -> None:
    job = small_plan(
        reviews, codec=CODECS[codec], secure_sum={"helpers": 2}, server={"rounds": 3, "cohort": "count", "cohort_size": 11}
    )
    assert over_sites(job, pipes, tmp_path / "sites") == simulated(job, tmp_path / "one")


def test_disclosed_rows(people, pipes, tmp_path) -> None:  # noqa: F811
    job = disclosing_plan(people, server__rounds=3)
    assert over_sites(job, pipes, tmp_path / "sites") == simulated(job, tmp_path / "one")


def test_private_tables_on_the_sites_own_disks(reviews, pipes, tmp_path) -> None:
    pytest.importorskip("torch")
    job = worded_plan(reviews, server={"rounds": 3, "cohort": "count", "cohort_size": 4})
    assert over_sites(job, pipes, tmp_path / "sites") == simulated(job, tmp_path / "one")
    assert len(list((tmp_path / "sites").glob("site-*/*/*.safetensors"))) > 0
