"""A run on a cluster ends in the model of a run on one machine, whatever is lost on the way."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bench.carriers import build_plan, write_rows
from tacit import plan as plans
from tacit import simulation
from tacit.errors import DataError, PlanError, RunError
from tacit.simulation import Silence
from tacit.simulation.cluster import driver, party
from tests.simulation.cluster.local_crew import use_local_crews
from tests.simulation.small import small_plan, write_csv

CODECS: dict[str, plans.Codec] = {
    "gaussian": plans.Gaussian(epsilon=50.0, delta=0.4, clip=0.01),
    "onebit": plans.OneBit(epsilon=0.2, delta=1e-3, clip=1.0),
    "projunit": plans.ProjUnit(epsilon=4.0, clip=1.0, coordinates=40),
    "qsgd": plans.QSGD(bits=2),
    "skellam": plans.Skellam(epsilon=2.0, delta=1e-3, clip=1.0, bits=28),
}
"""Codecs that no plan of the benchmark has."""
PLANS = (
    "plain",
    "rr",
    "rr_sampled",
    "hashcomb",
    "rqm",
    "shared rows",
    "votes",
    "dp_sum, secure sum",
    "rr, secure sum, drop-outs",
)


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_rows(tmp_path_factory.mktemp("data") / "rows.csv", 200)


def hash_of(folder: Path) -> str:
    return hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()


def on_cluster(plan: plans.Plan) -> plans.Plan:
    return replace(plan, engine=plans.Engine(cluster="local:3"))


def load(name: str, rows: Path) -> plans.Plan:
    if name in PLANS:
        return build_plan(name, rows)
    plain = build_plan("plain", rows)
    return replace(plain, codec=CODECS[name], server=replace(plain.server, rounds=2))


@pytest.mark.parametrize("name", [*PLANS, *CODECS])
def test_every_codec_and_system_ends_in_the_model_of_one_machine(
    name: str, rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = load(name, rows)
    alone = simulation.start(plan, tmp_path / "alone")
    crews, _ = use_local_crews(monkeypatch, 3, loss=0.25)
    there = simulation.start(on_cluster(plan), tmp_path / "cluster")
    assert hash_of(there) == hash_of(alone)
    assert sum(crew.lost for crew in crews) > 0, "some answers were lost and repeated"


class Stops(Silence):
    """Stops the run in the middle of a round."""

    def __init__(self, round_no: int) -> None:
        self.round_no = round_no

    def clients(self, arm: str, round_no: int, done: int, total: int) -> None:
        if round_no == self.round_no:
            raise KeyboardInterrupt


@pytest.mark.slow
def test_memory_of_clients_survives_lost_actors_and_another_cluster(
    rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    plan = build_plan("private tables", rows)
    alone = simulation.start(plan, tmp_path / "alone")
    use_local_crews(monkeypatch, 3, loss=0.2)
    with pytest.raises(KeyboardInterrupt):
        simulation.start(on_cluster(plan), tmp_path / "cluster", Stops(2))
    (folder,) = (tmp_path / "cluster").iterdir()
    use_local_crews(monkeypatch, 2)
    there = simulation.resume(folder, cluster="local:2")
    assert hash_of(there) == hash_of(alone)

    def read(place: Path) -> dict[str, bytes]:
        kept = place / "private"
        return {
            str(path.relative_to(kept)): path.read_bytes()
            for path in kept.rglob("*")
            if path.is_file()
        }

    assert read(there) == read(alone)


def test_resume_on_one_machine_and_back(
    rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = build_plan("hashcomb", rows)
    alone = simulation.start(plan, tmp_path / "alone")
    use_local_crews(monkeypatch, 2)
    with pytest.raises(KeyboardInterrupt):
        simulation.start(on_cluster(plan), tmp_path / "cluster", Stops(2))
    (folder,) = (tmp_path / "cluster").iterdir()
    with pytest.raises(KeyboardInterrupt):
        simulation.resume(folder, Stops(3), cluster="none")
    use_local_crews(monkeypatch, 3)
    assert hash_of(simulation.resume(folder)) == hash_of(alone)


def test_a_run_s_folder_does_not_choose_the_cluster_to_attach_to(
    rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = replace(build_plan("plain", rows), engine=plans.Engine(cluster="head:6379"))
    use_local_crews(monkeypatch, 2)
    with pytest.raises(KeyboardInterrupt):
        simulation.start(plan, tmp_path, Stops(1))
    (folder,) = tmp_path.iterdir()
    with pytest.raises(RunError, match="--cluster head:6379"):
        simulation.resume(folder)
    simulation.resume(folder, cluster="head:6379")


def test_rows_from_python_travel_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = [{"x": float(n % 7), "label": "up" if n % 7 > 3 else "down"} for n in range(200)]
    tree = {
        "name": "given",
        "data": {
            "source": "given",
            "clients": 10,
            "columns": {"numeric": ["x"], "label": "label"},
        },
        "codec": {"name": "plain"},
        "server": {"rounds": 2},
    }
    plan = plans.parse(tree)
    alone = simulation.start(plan, tmp_path / "alone", None, table)
    use_local_crews(monkeypatch, 2)
    assert hash_of(simulation.start(on_cluster(plan), tmp_path / "there", None, table)) == hash_of(
        alone
    )


def test_a_module_from_python_is_refused(rows: Path, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    plan = on_cluster(build_plan("plain", rows))
    with pytest.raises(PlanError, match="name its class in the plan"):
        simulation.start(plan, tmp_path, None, None, torch.nn.Linear(300, 2))


def test_a_node_with_other_rows_or_another_version_stops_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write_csv(tmp_path / "reviews.csv")
    plan = on_cluster(small_plan(source))
    use_local_crews(monkeypatch, 2)
    with monkeypatch.context() as patched:
        patched.setattr(driver, "version", lambda package: "0.0.7")
        with pytest.raises(RunError, match=r"the driver 0\.0\.7; install the same version"):
            simulation.start(plan, tmp_path / "a")
    prepare = party.prepare

    def other(plan: plans.Plan, *rest: object) -> object:
        write_csv(source, rows=300)
        return prepare(plan, *rest)

    monkeypatch.setattr(party, "prepare", other)
    with pytest.raises(RunError, match="a node of the cluster has other rows"):
        simulation.start(plan, tmp_path / "b")


def test_an_error_of_an_actor_is_the_run_s(
    rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object) -> object:
        raise DataError("rows.csv: is missing at this node")

    use_local_crews(monkeypatch, 2)
    monkeypatch.setattr(party, "prepare", fail)
    with pytest.raises(DataError, match="missing at this node"):
        simulation.start(on_cluster(build_plan("plain", rows)), tmp_path)


def test_blocks_are_few_but_enough_for_all_actors() -> None:
    for chunks, actors in ((1, 1), (16, 1), (16, 2), (15, 4), (256, 64), (256, 3), (16, 64)):
        level = driver.choose_level(chunks, actors)
        blocks = -(-chunks // (1 << level))
        assert blocks >= min(chunks, 2 * actors)
        assert level == 0 or blocks <= 4 * actors + 1
    assert np.log2(256) >= driver.choose_level(256, 1)
