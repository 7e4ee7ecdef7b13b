"""PartFed's cells: what is printed, that every kind runs, and that the kept results say what the page says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tacit import plan as plans
from tacit.randomness import Draws
from tacit.reproduction import SCALES
from tacit.simulation.prepared_rows import prepare
from tacit_papers.figure import estimate_cell
from tacit_papers.fill import fill_cells
from tacit_papers.partfed import PAPER, measured, printed, runs
from tacit_papers.partfed.measured import AVERAGING, ONE_PLACE
from tacit_papers.partfed.settings import plan
from tacit_papers.published import PaperCell, PaperTrial
from tests.data.conftest import need

RESULTS = Path(__file__).parents[2] / "docs" / "results" / "partfed.json"


@pytest.mark.parametrize("scale", SCALES)
def test_every_plan_behind_a_count_or_a_time_is_a_plan(scale) -> None:
    for cell in (cell for table in PAPER.tables(scale) for cell in table.cells):
        settings = cell.trial.settings
        for tree in (
            *([settings["plan"]] if "plan" in settings else ()),
            *settings.get("trees", {}).values(),
        ):
            plans.parse(tree)


def test_the_printed_totals_are_the_sums_the_paper_prints() -> None:
    for key, (server, client, transfer) in printed.TIMES.items():
        total, strong = printed.TOTALS[key]
        assert server + client + transfer == pytest.approx(total, abs=0.011)
        assert server / 10 + client + transfer == pytest.approx(strong, abs=0.011)


@pytest.mark.parametrize(("encoding", "inputs"), [("E1", 12), ("E2", 86)])
def test_the_two_encodings(encoding, inputs) -> None:
    need("adult")
    job = plans.parse(plan("full", "k_anonymity", 100, encoding))
    ground = prepare(job, Draws.seeded(1))
    assert ground.train.inputs.width == inputs
    assert job.model.hidden == (inputs,)
    matrix = ground.train.inputs.matrix
    assert (matrix.min(), matrix.max()) == (0, 1)
    assert ground.disclosure.facts.rows / ground.disclosure.facts.of_rows == pytest.approx(
        0.809, abs=0.01
    )


def test_counts() -> None:
    need("adult")
    assert runs.table_facts()["last"] == {"rows": 30_162, "largest": 554, "largest_with_label": 402}
    ends = {
        (k, k_of): runs.sharing(plan("full", "k_anonymity", k, k_of=k_of))["last"]["rows"]
        for k in (1, 554)
        for k_of in ("rows", "other_rows")
    }
    assert (ends[1, "rows"], ends[554, "rows"], ends[554, "other_rows"]) == (30_162, 554, 0)
    assert ends[1, "other_rows"] < 30_162, "by the second unique rows stay"


def test_times_are_shares_of_the_two_ends() -> None:
    need("adult")
    trees = {
        name: plan("smoke", "k_anonymity", k)
        for name, k in ((ONE_PLACE, 1), ("k=100", 100), (AVERAGING, 555))
    }
    took = measured.times(trees, 2, seed=1)["last"]
    for one in ("server", "transfer", "total", "overlapped", "strong_total"):
        assert took[f"{ONE_PLACE}: {one}"] == 1
    assert took[f"{AVERAGING}: client"] == 1
    assert (
        took[f"{ONE_PLACE}: client"]
        == took[f"{AVERAGING}: server"]
        == took[f"{AVERAGING}: transfer"]
        == 0
    )
    assert took[f"{ONE_PLACE}: transfer_share"] < took[f"{ONE_PLACE}: strong_transfer_share"] < 1
    assert took["k=100: overlapped"] <= took["k=100: total"]


def test_more_releases_leave_more_people_alone_unless_newcomers_wait() -> None:
    need("adult")
    once, weekly, daily = (
        runs.growing(releases, 100, "whole_class", seed=1)["last"] for releases in (1, 52, 365)
    )
    assert once["few_share"] == once["alone"] == 0 < weekly["alone"] < daily["alone"]
    assert once["share"] == weekly["share"] == daily["share"], "in the end the same rows are shared"
    waited = runs.growing(52, 100, "newcomers", seed=1)["last"]
    assert waited["few_share"] == waited["alone"] == waited["few_one_label"] == 0 < waited["share"]


def test_figure_8_on_a_slice(tmp_path) -> None:
    need("adult")
    tables = tuple(table for table in PAPER.tables("smoke") if table.name == "fig8")
    outcomes = fill_cells(PAPER, tables, tmp_path, lambda done, total, run: None)
    by_row = {
        (outcome.cell.row, outcome.cell.column): outcome.ours.mean
        for outcome in outcomes
        if outcome.ours is not None
    }
    assert [by_row[f"l={few}", "k with as many rows"] for few in (100, 200, 300)] == [
        168,
        304,
        460,
    ], "counted again"
    for l in (100, 200, 300):  # noqa: E741
        loss, federation, labels = (
            by_row[f"l={l}", column]
            for column in (
                "loss against one place",
                "1: federation",
                "2: labels on different sides",
            )
        )
        assert loss == pytest.approx(federation + labels)


def test_train_accuracy_is_a_figure_of_every_plan(tmp_path) -> None:
    need("adult")
    tables = tuple(table for table in PAPER.tables("smoke") if table.name == "fig3")
    filled = {
        outcome.cell.column: outcome.ours
        for outcome in fill_cells(PAPER, tables, tmp_path, lambda done, total, run: None)
    }
    assert filled["train, at the end"] is not None
    assert 0.5 < filled["train, at the end"].mean <= 1


def test_what_later_epochs_add_is_taken_seed_by_seed_within_a_trial() -> None:
    trial = PaperTrial(kind="some", settings={}, seeds=(1, 2))
    kept = {
        run.key: {
            "1": {"accuracy": low},
            "2": {"accuracy": high},
            "last": {"accuracy": high, "train_accuracy": 0.9},
        }
        for run, low, high in zip(trial.runs, (0.5, 0.7), (0.6, 0.8), strict=True)
    }
    gained = PaperCell(
        row="",
        column="",
        paper=None,
        trial=trial,
        minus=trial,
        metric="accuracy",
        round_no=2,
        minus_round_no=1,
    )
    over = PaperCell(
        row="",
        column="",
        paper=None,
        trial=trial,
        minus=trial,
        metric="train_accuracy",
        minus_metric="accuracy",
    )
    found = estimate_cell(gained, kept)
    assert found is not None
    assert (found.mean, found.deviation) == pytest.approx((0.1, 0))
    between = estimate_cell(over, kept)
    assert between is not None
    assert between.mean == pytest.approx(0.2)
    plain = PaperCell(
        row="", column="", paper=None, trial=trial, minus=trial, metric="accuracy", round_no=2
    )
    assert len({plain.key, gained.key, over.key}) == 3


@pytest.fixture(scope="module")
def kept() -> dict[str, dict[tuple[str, str], float]]:
    if not RESULTS.exists():
        pytest.skip("no results are kept; run: tacit reproduce partfed --out docs")
    found: dict[str, dict[tuple[str, str], float]] = {}
    for cell in json.loads(RESULTS.read_text())["cells"]:
        found.setdefault(cell["table"], {})[cell["row"], cell["column"]] = cell["ours"]
    return found


def test_the_kept_results_reach_the_published_levels(kept) -> None:
    assert 0.815 <= kept["fig5"]["k=1 (one place)", "epoch 100"] <= 0.855
    assert kept["fig5"]["k=555 (averaging)", "epoch 100"] >= 0.78
    assert kept["fig4"]["l=300", "in one-label classes"] == 1
    assert kept["rules"]["whole_row, k=100, coarser values", "unique"] == 0
