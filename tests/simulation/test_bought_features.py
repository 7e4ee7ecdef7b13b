"""Features that are bought: nothing is read in the clear, and the run's total stays what was stated."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tacit import plan as plans
from tacit import report, simulation
from tacit.assembly.queries.bought_features import fill_in_features, split_for_sites
from tacit.deployment.server.job import deploy
from tacit.errors import DataError, RunError
from tacit.models import predict
from tacit.plan.presets.privacy import split_loss
from tacit.privacy.accounting.gaussian_loss import calibrate_multiplier
from tacit.runs import record, run_folder
from tests.deployment.local_post import owner, sites_of
from tests.plan.test_bad_plans import BAD


@pytest.fixture(scope="module")
def visits(tmp_path_factory) -> Path:
    random = np.random.default_rng(1)
    age, ward = random.integers(20, 90, 3000), random.choice(["north", "south", "west"], 3000)
    pulse = [
        None if random.random() < 0.2 else float(value) for value in random.normal(80, 9, 3000)
    ]
    risk = np.where(age + 9 * (ward == "north") + random.normal(0, 8, 3000) > 58, "high", "low")
    path = tmp_path_factory.mktemp("data") / "visits.csv"
    columns = {
        "client": np.arange(3000) // 5,
        "age": age,
        "pulse": pulse,
        "ward": ward,
        "risk": risk,
    }
    pl.DataFrame(columns).write_csv(path)
    return path


def plan_of(visits: Path, *settings: str, **tables: object) -> plans.Plan:
    tree = {
        "name": "visits",
        "privacy": {"epsilon": 20.0, "clients": 600},
        "data": {
            "source": str(visits),
            "partition": "client",
            "columns": {
                "client": "client",
                "numeric": ["age", "pulse"],
                "categorical": ["ward"],
                "label": "risk",
            },
        },
        "features": {"fit": "private", "fit_share": 0.3},
        "server": {"rounds": 20, "evaluate_every": 20},
    }
    made = plans.parse({**tree, **tables})
    return made.with_settings(*settings) if settings else made


def test_nothing_is_read_in_the_clear(visits, tmp_path) -> None:
    place = simulation.start(plan_of(visits), tmp_path)
    found = report.summarise(list(run_folder.entries(place)))
    assert not any("in the clear" in sentence for sentence in found.privacy.unprotected)
    assert 19.9 < found.privacy.total("run").epsilon <= 20.0
    assert found.arm("run").metrics["accuracy"] > 0.7
    released = record.select_entries(list(run_folder.entries(place)), record.Released)
    assert {one.arm for one in released} == {"features", "run"}
    assert all(one.round_no > 0 for one in released)
    fitted = predict.load(place).classes
    assert [*fitted] == ["high", "low"]
    clear = simulation.start(plan_of(visits, "features.fit=clear"), tmp_path)
    stated = report.summarise(list(run_folder.entries(clear))).privacy.unprotected
    assert any("in the clear" in sentence for sentence in stated)


def test_a_run_resumes_after_features_were_bought(visits, tmp_path, monkeypatch) -> None:
    job = plan_of(visits)
    whole = simulation.start(job, tmp_path / "whole")
    from tacit.simulation.job import Job

    class StopError(Exception):
        pass

    def stop(self: Job, *arguments: object) -> None:
        raise StopError

    with monkeypatch.context() as patched:
        patched.setattr(Job, "_run_arm", stop)
        with pytest.raises(StopError):
            simulation.start(job, tmp_path / "cut")
    (cut,) = [path for path in (tmp_path / "cut").iterdir() if path.is_dir()]
    again = simulation.resume(cut)
    ends = [
        record.select_entries(list(run_folder.entries(one)), record.Finished, "run")[-1]
        for one in (whole, again)
    ]
    assert ends[0].parameters_sha256 == ends[1].parameters_sha256
    total = report.summarise(list(run_folder.entries(again))).privacy.total("run")
    assert total.epsilon <= 20.0


def test_values_that_the_plan_states_are_not_bought(visits, tmp_path) -> None:
    stated = {
        "fit": "private",
        "ranges": {"age": [0, 120], "pulse": [40, 120]},
        "missing": ["pulse"],
        "classes": ["low", "high"],
        "categories": {"ward": ["north", "south"]},
    }
    place = simulation.start(plan_of(visits, features=stated), tmp_path)
    entries = list(run_folder.entries(place))
    assert record.select_entries(entries, record.Answered) == []
    assert not any("in the clear" in one for one in report.summarise(entries).privacy.unprotected)


def test_classes_that_noise_hides_are_refused(visits, tmp_path) -> None:
    with pytest.raises((DataError, RunError), match=r"features\.classes"):
        simulation.start(plan_of(visits, "privacy.epsilon=0.2"), tmp_path)


@pytest.mark.parametrize("share", [0.05, 0.5])
def test_both_parts_of_the_loss_compose_to_the_stated_one(share) -> None:
    parts = [
        calibrate_multiplier(one["epsilon"], one["delta"]) for one in split_loss(8, 1e-5, share)
    ]
    together = sum(part**-2 for part in parts) ** -0.5
    assert together == pytest.approx(calibrate_multiplier(8, 1e-5), rel=1e-5)
    assert together >= calibrate_multiplier(8, 1e-5) * (1 - 1e-9)


def test_sites_answer_in_two_runs_and_tell_nothing_in_the_clear(visits, tmp_path) -> None:
    """Each run has its part of the loss; the policy of the owner allows no class, range or category."""
    job = plan_of(visits)
    table = pl.read_csv(visits)
    files = []
    for number in range(3):
        files.append(tmp_path / f"{number}.parquet")
        part = table.filter(pl.col("client") % 3 == number).with_columns(
            pl.col("client").cast(pl.String)
        )
        part.write_parquet(files[-1])
    policy = """
        [allow]
        models = ["logistic", "statistics"]
        codecs = ["dp_sum"]
        disclosures = ["clients"]
        trust_server = true
        simulation_noise = true
        [columns]
        label = ["*"]
        numeric = ["*"]
        categorical = ["*"]
        [limits]
        min_cohort = 10
        max_epsilon_per_update = 20
        max_epsilon_per_run = 20
        max_epsilon_lifetime = 60
        max_rounds_per_day = 1000
        max_test_share = 0.5
    """
    owners = [
        owner(name, file, tmp_path / name, policy) for name, file in zip("abc", files, strict=True)
    ]
    sites, columns = sites_of(owners), job.data.columns
    asked, rest = split_for_sites(job, columns)
    assert asked is not None
    first = deploy(asked, sites, tmp_path / "runs", simulated_noise=True)
    answers = record.select_entries(list(run_folder.entries(first)), record.Answered)[-1].answers
    filled = fill_in_features(rest, columns, answers)
    assert set(filled.features.classes) == {"high", "low"}
    assert filled.features.missing == ("pulse",)
    second = deploy(filled, sites_of(owners), tmp_path / "runs", simulated_noise=True)
    for place in (first, second):
        stated = report.summarise(list(run_folder.entries(place))).privacy.unprotected
        clear = [one for one in stated if "in the clear" in one]
        assert clear == ["What sites sent in the clear: how many clients and rows each site has."]


def test_the_refusals_have_plans() -> None:
    assert {"fit_without_privacy", "fit_classes_of_schema", "one_class"} <= {
        one.stem for one in BAD
    }
