"""A coordinator on another machine: the model of a run that is cut off and killed is that of an undisturbed one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("flwr", reason="needs tacit[flower]")

from tacit import simulation
from tacit.deployment.access import messages as m
from tacit.deployment.access.remote_run import read_run_name, resume_remotely, save_record
from tacit.deployment.server import job
from tacit.deployment.server.messenger import RequestSettings
from tacit.errors import PlanError
from tacit.protocol.observer import Silence
from tacit.runs.verify import verify_files
from tacit.simulation.rehearsal import Rehearsal, prepare_rehearsal
from tests.deployment.access.people_of_a_server import Server, running_server
from tests.deployment.local_post import model_of
from tests.simulation.small import small_plan, write_csv

SETTINGS = RequestSettings(min_sites=2, deadline=60, poll_interval=0.02, retry_after=2)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("remote")) as made:
        yield made


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> tuple[Rehearsal, str]:
    """Rows of two sites, and the model that a simulation makes of them."""
    base = tmp_path_factory.mktemp("rows")
    plan = small_plan(write_csv(base / "rows.csv"), server__rounds=3)
    return prepare_rehearsal(plan, base, 2), model_of(simulation.start(plan, base / "runs"))


def prepare(ready: Rehearsal, runs: Path) -> Path:
    return job.prepare(
        ready.plan,
        runs,
        test=str(ready.test),
        simulated_noise=True,
        identity=ready.identity,
        sites=("a", "b"),
    )


def test_a_run_from_another_machine(
    server: Server, ready: tuple[Rehearsal, str], tmp_path: Path
) -> None:
    rehearsal, model = ready
    with (
        server.joined(rehearsal.files, server.base / "sites"),
        server.access("ana", "coordinator") as ana,
        server.access("udo", "auditor") as udo,
    ):
        place = prepare(rehearsal, tmp_path)
        assert resume_remotely(ana, place, SETTINGS, Silence()) == place
        assert model_of(place) == model
        run = read_run_name(place)
        (listed,) = udo.call("list-runs", m.Nothing(), m.ListedRuns).runs
        assert (listed.run, listed.coordinator, listed.state) == (run, "ana", "finished")
        copy = save_record(udo, run, tmp_path / "records")
        assert (copy / "record.jsonl").read_bytes() == (place / "record.jsonl").read_bytes()
        states = {one.file: one.state for one in verify_files(copy)}
        assert states.pop("model.safetensors") == states.pop("model.json") == "not checked"
        assert set(states.values()) == {"intact"}
        with pytest.raises(PlanError, match="is not the name of a run"):
            save_record(udo, "../up", tmp_path)
        log = server.read_log()
        assert (
            f"run={run} round=0 access: ana (coordinator) from 127.0.0.1: open-run allowed" in log
        )
        assert "udo (auditor) from 127.0.0.1: read-record allowed" in log
