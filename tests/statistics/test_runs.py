"""The same queries in a simulation, between sites, and under secure aggregation have the same answers;
commands and Python show them.
"""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import tacit
from tacit import plan as plans
from tacit import report, simulation
from tacit.deployment.server.job import deploy
from tacit.runs import record, run_folder
from tacit.simulation.rehearsal import prepare_rehearsal
from tests.cli.made_up import tacit as command
from tests.deployment.local_post import owner, sites_of
from tests.statistics.made_up import make_table

QUERIES = {
    "people": "count people",
    "age": "mean of age from 0 to 100",
    "town": "frequent values of town at most 8",
    "change": "median of change",
}


@pytest.fixture(scope="module")
def visits(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("data") / "visits.csv"
    make_table(1, 120, 2).write_csv(path)
    return path


def plan_of(visits: Path, **tables: object) -> plans.Plan:
    tree = {
        "name": "asked",
        "privacy": {"epsilon": 20.0, "clients": 120},
        "data": {"source": str(visits), "partition": "client", "columns": {"client": "person"}},
        "statistics": {"queries": QUERIES},
    }
    return plans.parse({**tree, **tables})


def answers_of(place: Path) -> list[dict]:
    return record.select_entries(list(run_folder.entries(place)), record.Answered)[-1].answers


@pytest.mark.parametrize("more", [{}, {"secure_aggregation": {"helpers": 2, "min_clients": 100}}])
def test_sites_give_the_answers_of_a_simulation(visits, tmp_path, more) -> None:
    job = plan_of(visits, **more)
    one = simulation.start(job, tmp_path / "simulated")
    ready = prepare_rehearsal(job, tmp_path / "rows", 3)
    owners = [
        owner(name, file, tmp_path / name) for name, file in zip("abc", ready.files, strict=True)
    ]
    place = deploy(
        ready.plan,
        sites_of(owners),
        tmp_path / "runs",
        simulated_noise=True,
        identity=ready.identity,
    )
    assert answers_of(place) == answers_of(one)
    stated = report.summarise(list(run_folder.entries(place))).privacy
    assert stated.total("run").epsilon <= 20.0
    assert not any("classes" in sentence for sentence in stated.unprotected)
    assert not (place / run_folder.MODEL).exists()
    assert ("helpers" in stated.rests_on) == bool(more)


def test_a_run_can_be_resumed_and_noise_is_that_of_the_claim(visits, tmp_path) -> None:
    job = plan_of(visits)
    one, again = (simulation.start(job, tmp_path / name) for name in "ab")
    assert answers_of(one) == answers_of(again)
    assert simulation.resume(one) == one
    weaker = answers_of(simulation.start(job.with_settings("privacy.epsilon=2"), tmp_path / "c"))
    noises = [one["noise"] for one in answers_of(one)], [one["noise"] for one in weaker]
    assert all(less < more for less, more in zip(*noises, strict=True))


def test_python(visits, tmp_path) -> None:
    run = tacit.ask(
        ["count people", "mean of age from 0 to 100"],
        pl.read_csv(visits),
        client="person",
        epsilon=20.0,
        folder=tmp_path,
        observer=tacit.Silence(),
    )
    assert run.answers["answer"].to_list() == ["q1", "q2", "q2"]
    people = run.answers.row(0, named=True)
    assert people["low"] < people["value"] < people["high"]
    assert (run.folder / "report.html").exists()


def test_commands(visits, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    given = ["--from", str(visits), "--client", "person", "-q"]
    done = command(capsys, "ask", "count people", "count by town", *given, "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert [one["kind"] for one in found["answers"]] == ["count", "frequent"]
    shown = command(capsys, "ask", "mean of age from 0 to 100", *given).out
    assert "probability of 95 %" in shown
    assert "epsilon 8 per run" in shown
    assert command(capsys, "ask", "mean of ages", *given).code == 2
    assert command(capsys, "ask", "guess", *given).code == 2
    assert "requires --from" in command(capsys, "ask", "plan.toml", "--epsilon", "1").err


def test_check_states_the_noise_of_each_query(visits, tmp_path, capsys) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(plans.to_toml(plan_of(visits)))
    said = command(capsys, "check", str(path))
    assert said.code == 0, said.err
    assert "noise on a count" in said.out
