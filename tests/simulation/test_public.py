"""Rows at the center: no client has them, the first model is trained on them, and everybody is told."""

from pathlib import Path

import numpy as np
import pytest

from tacit import report, simulation
from tacit.errors import DataError, RunError
from tacit.protocol.loop import Desk
from tacit.randomness import Draws
from tacit.report.pages.cards import list_facts
from tacit.runs import record
from tacit.runs.run_folder import RECORD
from tacit.simulation.arm import Setting, SimulatedArm
from tacit.simulation.baselines.arms import list_arms
from tacit.simulation.fingerprint import data_fingerprint
from tacit.simulation.prepared_rows import prepare
from tests.simulation.small import small_plan, write_csv


@pytest.fixture(scope="module")
def reviews(tmp_path_factory) -> Path:
    return write_csv(tmp_path_factory.mktemp("data") / "reviews.csv")


def entries_of(folder: Path) -> list[record.Entry]:
    return list(record.read(folder / RECORD))


def finished(folder: Path) -> record.Finished:
    return record.select_entries(entries_of(folder), record.Finished, "run")[-1]


def first_models(reviews: Path, folder: Path, **changes: object) -> dict[str, np.ndarray]:
    job = small_plan(reviews, **changes)
    draws = Draws.seeded(job.seed)
    desk = Desk(
        folder=folder, writer=record.Writer(folder / "r.jsonl"), observer=simulation.Silence()
    )
    setting = Setting(desk=desk, draws=draws, data=prepare(job, draws))
    return {
        name: SimulatedArm(setting, name, arm).arm.first() for name, arm in list_arms(job).items()
    }


def test_public_rows_are_nobody_elses(reviews) -> None:
    without, with_some = (
        prepare(small_plan(reviews, **more), Draws.seeded(3))
        for more in ({}, {"public__share": 0.25})
    )
    assert without.public is None
    assert len(with_some.public) == 80
    assert len(with_some.train) + len(with_some.public) == len(without.train)
    assert with_some.clients.sizes().sum() == len(with_some.train)
    assert data_fingerprint(with_some) != data_fingerprint(without)
    again = prepare(small_plan(reviews, public__share=0.25), Draws.seeded(3))
    assert data_fingerprint(with_some) == data_fingerprint(again)


def test_a_last_layer_of_zeros_gives_a_model_without_chance_in_it(reviews, tmp_path) -> None:
    settings = {"share": 0.25, "epochs": 1, "lr": 1e-9, "optimizer": "sgd", "last_layer": "zero"}
    (first,) = first_models(
        reviews, tmp_path, public=settings, model={"name": "logistic"}, baselines=[]
    ).values()
    assert np.abs(first).max() < 1e-6


def test_all_arms_begin_with_the_model_the_center_trained(reviews, tmp_path) -> None:
    baselines = ["central", "fedavg", "local_only"]
    warm = first_models(
        reviews, tmp_path, public={"share": 0.25, "epochs": 4, "lr": 0.05}, baselines=baselines
    )
    cold = first_models(reviews, tmp_path, baselines=baselines)
    assert all(np.array_equal(model, warm["run"]) for model in warm.values())
    assert all(np.array_equal(model, cold["run"]) for model in cold.values())
    assert not np.array_equal(warm["run"], cold["run"])


@pytest.mark.parametrize(
    "model",
    [{"name": "mlp", "hidden": [8]}, {"name": "tests.simulation.modules:Tiny"}],
    ids=["compiled", "module"],
)
def test_a_warm_start_learns_is_recorded_and_said(reviews, tmp_path, model) -> None:
    job = small_plan(
        reviews,
        model=model,
        public={"share": 0.3, "epochs": 6, "lr": 0.05},
        server__rounds=2,
        engine__workers=2,
    )
    folder = simulation.start(job, tmp_path)
    (first,) = record.select_entries(entries_of(folder), record.WarmStarted)
    assert (first.rows, first.held_out, len(first.losses)) == (96, 10, 6)
    assert first.losses[first.epoch - 1] == min(first.losses)
    assert first.metrics["accuracy"] > 0.8
    run = report.summarise(entries_of(folder))
    assert (
        "The initial model was trained on 96 public rows, which have no protection."
        in run.privacy.statement
    )
    assert any("public rows" in sentence for sentence in run.privacy.unprotected)
    assert "96 public rows" in dict(list_facts(run))["First model"]
    assert (
        finished(simulation.start(job, tmp_path)).parameters_sha256
        == finished(folder).parameters_sha256
    )


def test_too_few_public_rows_and_a_rate_too_high_are_refused(reviews, tmp_path) -> None:
    with pytest.raises(
        DataError, match=r"public\.share = 0\.001 gives the server \d+ of \d+ train rows"
    ):
        simulation.start(small_plan(reviews, public__share=0.001), tmp_path)
    with pytest.raises(RunError, match=r"lower public\.lr"):
        simulation.start(
            small_plan(reviews, public={"share": 0.3, "lr": 1e30, "epochs": 9, "optimizer": "sgd"}),
            tmp_path,
        )
