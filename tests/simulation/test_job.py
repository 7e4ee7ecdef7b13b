"""Whole runs: the same to the bit with any number of workers, after any kill, and told truly in the record."""

import json
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from tacit import codecs, plan, simulation
from tacit.cli import execute
from tacit.errors import BudgetError, DataError, RunError
from tacit.features import Fitted
from tacit.privacy import ledger
from tacit.privacy.claim import Unproven
from tacit.protocol.observer import SiteState
from tacit.runs import checkpoint, record
from tacit.runs.run_folder import RECORD
from tacit.simulation.carrier import Simulation
from tests.simulation.small import small_plan, write_csv


@pytest.fixture(scope="module")
def reviews(tmp_path_factory) -> Path:
    return write_csv(tmp_path_factory.mktemp("data") / "reviews.csv")


def epsilon_of(spent: record.Spent, unit: str) -> float:
    return next(
        total["epsilon"] for total in spent.totals if total["unit"] == unit and total["delta"] == 0
    )


def finished(folder: Path, arm: str = "run") -> record.Finished:
    return record.select_entries(list(record.read(folder / RECORD)), record.Finished, arm)[-1]


@pytest.mark.parametrize(
    "codec", [{"name": "rr", "epsilon": 2, "clip": 0.02}, {"name": "plain"}], ids=["rr", "plain"]
)
@pytest.mark.parametrize("weights", ["equal", "rows"])
def test_one_two_and_three_workers_end_with_the_same_bits(
    reviews, tmp_path, codec, weights
) -> None:
    hashes = {
        finished(
            simulation.start(
                small_plan(reviews, codec=codec, server__weights=weights, engine__workers=n),
                tmp_path,
            )
        ).parameters_sha256
        for n in (1, 2, 3, 2)
    }
    assert len(hashes) == 1


def test_bits_of_weights_leave_the_model_within_the_clip_and_bits_of_updates_do_not(
    reviews, tmp_path
) -> None:
    """What is sent is the trained weight itself: the next model is the decoded mean, of which no value exceeds clip / f."""
    sends = {}
    for of in ("weights", "updates"):
        codec_ = {"name": "rr", "epsilon": 20, "clip": 0.01, "of": of}
        folder = simulation.start(small_plan(reviews, codec=codec_, local__lr=0.1), tmp_path / of)
        sends[of] = max(
            float(np.abs(layer).max()) for layer in load_file(folder / "model.safetensors").values()
        )
    assert sends["weights"] <= 0.01 * 1.0001 < sends["updates"]


def test_a_run_without_rows_to_measure_on_is_refused_before_it_trains(reviews, tmp_path) -> None:
    with pytest.raises(DataError, match="leaves no test rows"):
        simulation.start(small_plan(reviews, data__test=0.0), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_another_seed_gives_another_model(reviews, tmp_path) -> None:
    one, other = (
        finished(simulation.start(small_plan(reviews, seed=n), tmp_path)).parameters_sha256
        for n in (1, 2)
    )
    assert one != other


def test_the_job_learns_and_every_arm_is_recorded(reviews, tmp_path) -> None:
    job = small_plan(reviews, baselines=["central", "fedavg", "local_only"], server__rounds=12)
    folder = simulation.start(job, tmp_path)
    entries = list(record.read(folder / RECORD))
    for arm in ("run", "central", "fedavg", "local_only"):
        assert finished(folder, arm).metrics["accuracy"] > 0.8, arm
    spent = record.select_entries(entries, record.Spent, "run")[-1]
    dim = record.select_entries(entries, record.Prepared)[0].parameters
    assert epsilon_of(spent, "update") == pytest.approx(2 * dim, rel=1e-3)
    assert len(record.select_entries(entries, record.Released, "run")) == 12
    ours, theirs = finished(folder), finished(folder, "fedavg")
    assert (dim + 7) // 8 < ours.bytes_up < (dim + 7) // 8 + 200
    assert 4 * dim < theirs.bytes_up < 4 * dim + 200
    tensors = load_file(folder / "model.safetensors")
    assert sum(array.size for array in tensors.values()) == dim
    facts = json.loads((folder / "model.json").read_text())
    assert facts["classes"] == ["down", "up"]
    assert facts["columns"]["text"] == ["opinion"]
    assert Fitted.from_dict(facts["fitted"]).classes == ("down", "up")


@pytest.mark.slow
def test_twenty_kills_change_nothing(reviews, tmp_path) -> None:
    """kill -9 at 24 random moments, resume each time: the same models as an undisturbed run, each round recorded once.

    A life lasts seven rounds at most, so 24 of them end before the 200 rounds of both arms do.
    """
    job = small_plan(
        reviews,
        server__rounds=100,
        baselines=["fedavg"],
        server__optimizer="momentum",
        server__lr=0.5,
    )
    calm = simulation.start(job, tmp_path / "calm")
    path = tmp_path / "plan.toml"
    path.write_text(plan.to_toml(job))
    driver = Path(__file__).with_name("kill_driver.py")
    told = subprocess.run(
        [sys.executable, str(driver), str(path), str(tmp_path / "killed"), "24", "11", "0.8"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stderr
    outcome = json.loads(told.stdout)
    assert outcome["kills"] >= 20
    assert outcome["places"] >= 5, "the kills did not hit different rounds"
    killed = Path(outcome["folder"])
    for arm in ("run", "fedavg"):
        assert finished(killed, arm).parameters_sha256 == finished(calm, arm).parameters_sha256
        rounds = [
            entry.round_no
            for entry in record.select_entries(
                list(record.read(killed / RECORD)), record.Round, arm
            )
        ]
        assert rounds == list(range(1, 101))
    assert (killed / "model.safetensors").read_bytes() == (calm / "model.safetensors").read_bytes()


class StopsAt:
    """An observer that presses Ctrl-C after some round."""

    def __init__(self, round_no: int) -> None:
        self.round_no = round_no

    def opened(self, folder: Path) -> None:
        self.folder = folder

    def entry(self, entry: record.Entry) -> None:
        if isinstance(entry, record.Round) and entry.round_no == self.round_no:
            raise KeyboardInterrupt

    def clients(self, arm: str, round_no: int, done: int, total: int) -> None:
        pass

    def site(self, state: SiteState) -> None:
        pass

    def fetched(self, what: str, done: int, total: int | None) -> None:
        pass

    def encoded(self, what: str, done: int, total: int) -> None:
        pass


def test_ctrl_c_leaves_a_resumable_run(reviews, tmp_path) -> None:
    job = small_plan(reviews)
    whole = finished(simulation.start(job, tmp_path / "whole")).parameters_sha256
    watch = StopsAt(4)
    with pytest.raises(KeyboardInterrupt):
        simulation.start(job, tmp_path / "cut", watch)
    assert checkpoint.read(watch.folder).progress.round_no == 3
    assert finished(simulation.resume(watch.folder)).parameters_sha256 == whole


def test_a_run_that_never_began_leaves_no_folder(reviews, tmp_path) -> None:
    with pytest.raises(DataError):
        simulation.start(
            small_plan(reviews, data__columns={"text": ["opinion"], "label": "no such column"}),
            tmp_path,
        )
    assert list(tmp_path.glob("*-1")) == []


def test_resuming_a_finished_run_changes_nothing(reviews, tmp_path) -> None:
    folder = simulation.start(small_plan(reviews), tmp_path)
    before = (folder / RECORD).read_bytes()
    simulation.resume(folder)
    assert (folder / RECORD).read_bytes() == before


def test_early_stopping_ends_before_the_last_round(reviews, tmp_path) -> None:
    job = small_plan(
        reviews, codec={"name": "plain"}, server__rounds=200, server__patience=3, local__lr=0.05
    )
    end = finished(simulation.start(job, tmp_path))
    assert end.stopped_early
    assert end.rounds < 200


def test_poisson_cohorts_spend_for_the_client_that_took_part_most(reviews, tmp_path) -> None:
    job = small_plan(reviews, server__cohort="poisson", server__cohort_size=5, server__rounds=10)
    folder = simulation.start(job, tmp_path)
    entries = list(record.read(folder / RECORD))
    spent, busiest = (
        record.select_entries(entries, record.Spent)[-1],
        int(checkpoint.read(folder).updates.max()),
    )
    assert busiest < 10
    assert epsilon_of(spent, "run") / epsilon_of(spent, "update") == pytest.approx(busiest)
    released = record.select_entries(entries, record.Released, "run")
    assert released[-1].busiest == busiest
    assert [
        asdict(total)
        for total in ledger.compute_totals(ledger.fold_releases(released), job.ledger.delta)
    ] == spent.totals


def test_a_round_is_charged_on_the_disk_before_any_client_trains(
    reviews, tmp_path, monkeypatch
) -> None:
    seen = []
    whole = Simulation.carry

    def watched(carrier, exchange, request, tick):
        entries = list(record.read(next(tmp_path.glob("*-1")) / RECORD))
        seen.append([entry.round_no for entry in record.select_entries(entries, record.Released)])
        return whole(carrier, exchange, request, tick)

    monkeypatch.setattr(Simulation, "carry", watched)
    simulation.start(small_plan(reviews, server__rounds=3), tmp_path)
    assert seen == [[1], [1, 2], [1, 2, 3]]


def test_an_unproven_codec_is_refused_before_anything_leaves(
    reviews, tmp_path, monkeypatch
) -> None:
    made = codecs.build(small_plan(reviews).codec)
    unproven = tuple(
        replace(claim, mechanism="home-made", event=Unproven()) for claim in made.claims(1, 1)
    )
    monkeypatch.setattr(
        codecs,
        "build",
        lambda settings, extent=None: replace(made, claims=lambda dim, cohort: unproven),
    )
    monkeypatch.setattr(Simulation, "carry", lambda *task: pytest.fail("a client was asked"))
    with pytest.raises(BudgetError, match="home-made"):
        simulation.start(small_plan(reviews), tmp_path)


def test_a_torch_module_runs_in_processes_with_the_same_bits(reviews, tmp_path) -> None:
    pytest.importorskip("torch")
    changes = {"model": {"name": "tests.simulation.modules:Tiny"}, "server__rounds": 2}
    hashes = {
        finished(
            simulation.start(small_plan(reviews, engine__workers=n, **changes), tmp_path)
        ).parameters_sha256
        for n in (1, 2)
    }
    assert len(hashes) == 1


def test_diverged_training_is_named_and_loses_nothing(reviews, tmp_path) -> None:
    job = small_plan(
        reviews, codec={"name": "plain"}, local__optimizer="sgd", local__lr=1e30, server__rounds=5
    )
    with np.errstate(all="ignore"), pytest.raises(RunError, match="diverged"):
        simulation.start(job, tmp_path)


def test_the_central_baseline_keeps_the_pass_validation_rows_choose(reviews, tmp_path) -> None:
    """Rates that overfit at once: a later pass is worse on rows it has not seen, and both figures are in the record."""
    job = small_plan(
        reviews, baselines=["central"], server__rounds=10, local__lr=0.3, codec={"name": "plain"}
    )
    folder = simulation.start(job, tmp_path)
    central = finished(folder, "central").metrics
    course = {
        one.round_no: one.metrics
        for one in record.select_entries(
            list(record.read(folder / RECORD)), record.Round, "central"
        )
    }
    kept = int(central["kept_round"])
    assert {name: central[name] for name in course[kept]} == pytest.approx(course[kept])
    assert {name: central[f"last_{name}"] for name in course[10]} == pytest.approx(course[10])
    counts = record.select_entries(list(record.read(folder / RECORD)), record.ByClass, "run")[0]
    right, rows = sum(counts.right), sum(counts.rows)
    assert right / rows == pytest.approx(finished(folder).metrics["accuracy"])
    assert sum(counts.predicted) == rows


def test_a_central_run_of_its_own_has_all_rows(reviews, tmp_path) -> None:
    folder = simulation.start(
        small_plan(reviews, regime="central", codec={"name": "plain"}, server__rounds=2), tmp_path
    )
    assert "kept_round" not in finished(folder).metrics


def test_the_statement_names_classes_baselines_and_how_settings_were_chosen(
    tmp_path, capsys
) -> None:
    job = small_plan(
        write_csv(tmp_path / "reviews.csv"),
        server__rounds=1,
        baselines=["central", "fedavg"],
        selected_by="by eye, on these rows",
    )
    folder = simulation.start(job, tmp_path / "runs")
    assert execute(["runs", "privacy", str(folder)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert (
        "What was read once in the clear, to build features and classes: names of the 2"
        " classes (down, up)" in said
    )
    assert (
        "The baselines central, fedavg: trained on the same rows for comparison, without any"
        " protection" in said
    )
    assert (
        "Settings were chosen by looking at data (by eye, on these rows); no epsilon here covers"
        " that choice." in said
    )
    assert (
        "What the choice of settings reveals about the rows used to choose them: by eye, on these rows."
        in said
    )


def test_how_settings_were_chosen_changes_no_model(tmp_path) -> None:
    source = write_csv(tmp_path / "reviews.csv")
    plain, chosen = (
        simulation.start(small_plan(source, server__rounds=1, **more), tmp_path / "runs")
        for more in ({}, {"selected_by": "x"})
    )
    models = [(folder / "model.safetensors").read_bytes() for folder in (plain, chosen)]
    assert models[0] == models[1]
