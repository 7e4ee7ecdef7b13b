"""A coordinator on another machine: the model of a run that is cut off and killed is that of an undisturbed one."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("flwr", reason="needs tacit[flower]")

from tacit import simulation
from tacit.deployment.access import messages as m
from tacit.deployment.access.remote_run import read_run_name, resume_remotely, save_record
from tacit.deployment.server import job
from tacit.deployment.server.messenger import RequestSettings
from tacit.errors import AccessError, PlanError, RunError
from tacit.protocol.observer import Silence
from tacit.runs.verify import verify_files
from tacit.simulation.rehearsal import Rehearsal, prepare_rehearsal
from tests.deployment.access.people_of_a_server import Server, running_server
from tests.deployment.local_post import model_of
from tests.deployment.transport.proxies import CountingProxy, running_proxy
from tests.deployment.transport.sites import until
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


def resume_by_command(place: Path, folder: Path) -> subprocess.Popen[str]:
    words = ["deploy", "run", "--resume", str(place), "--folder", str(folder), "--retry-after", "2"]
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "tacit", *words, "--quiet", "--no-report"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.mark.slow
def test_a_killed_coordinator_on_a_link_that_breaks(
    server: Server, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Behind a proxy that cuts connections; killed after a round, resumed from the same folder: the same model to the bit."""
    plan = small_plan(write_csv(tmp_path / "rows.csv"), server__rounds=12)
    rehearsal = prepare_rehearsal(plan, tmp_path / "rows", 2)
    model = model_of(simulation.start(plan, tmp_path / "simulated"))
    folder, place = server.admit("kai", "coordinator"), prepare(rehearsal, tmp_path / "runs")
    run = read_run_name(place)
    with (
        running_proxy(CountingProxy(server.place.port, cut_after=60_000, cuts=4)) as proxy,
        server.joined(rehearsal.files, tmp_path_factory.mktemp("again")),
    ):
        settings = (folder / "access.toml").read_text()
        settings = settings.replace("127.0.0.1", "server.example")
        (folder / "access.toml").write_text(f'{settings}proxy = "127.0.0.1:{proxy.port}"\n')
        first = resume_by_command(place, folder)
        until(lambda: (place / "checkpoint.safetensors").exists() or first.poll() is not None)
        first.send_signal(signal.SIGKILL)
        first.communicate()
        assert first.returncode == -signal.SIGKILL
        second = resume_by_command(place, folder)
        output, _ = second.communicate(timeout=120)
        assert second.returncode == 0, output
        assert proxy.cuts < 4, "the link broke"
        assert len(set(proxy.tunnels)) == 1
    assert model_of(place) == model
    with server.access("udo", "auditor") as udo:
        copy = save_record(udo, run, tmp_path / "copy")
        assert (copy / "record.jsonl").read_bytes() == (place / "record.jsonl").read_bytes()


def test_two_coordinators_at_once(
    server: Server,
    ready: tuple[Rehearsal, str],
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Plans of the same name: two runs side by side at the same sites, each with its own model and record."""
    rehearsal, model = ready
    done: dict[str, Path] = {}

    def deploy(name: str, place: Path) -> None:
        with server.access(name, "coordinator") as access:
            done[name] = resume_remotely(access, place, SETTINGS, Silence())

    for name in ("ana", "ben"):
        server.admit(name, "coordinator")
    places = {name: prepare(rehearsal, tmp_path / name) for name in ("ana", "ben")}
    assert {place.name for place in places.values()} == {"small-1"}
    with server.joined(rehearsal.files, tmp_path_factory.mktemp("both")):
        threads = [threading.Thread(target=deploy, args=one) for one in places.items()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert done == places
    assert {model_of(place) for place in places.values()} == {model}
    with server.access("ben", "coordinator") as ben:
        with pytest.raises(AccessError):
            ben.read_record(read_run_name(places["ana"]))
        assert ben.read_record(read_run_name(places["ben"]))[0]


def test_an_older_copy_of_a_runs_folder_is_refused(
    server: Server, ready: tuple[Rehearsal, str], tmp_path: Path
) -> None:
    place = prepare(ready[0], tmp_path)
    with server.access("ana", "coordinator") as ana:
        run = read_run_name(place)
        ana.call("open-run", m.OpenRun(run=run, title="t", plan=""), m.OpenedRun)
        body = m.SendRecord(run=run, offset=0, lines=b"an entry that the folder lacks\n")
        ana.call("send-record", body, m.RecordLength)
        with pytest.raises(RunError, match="is an older copy or was changed"):
            resume_remotely(ana, place, SETTINGS, Silence())
