"""PartFed's cells: what is printed, that every kind runs, and that the kept results say what the page says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tacit import plan as plans
from tacit.draws import Draws
from tacit.engine.simulated_data import prepare
from tacit.papers import reproduce
from tacit.papers.partfed import PAPER, printed, runs
from tacit.papers.partfed.settings import plan
from tacit.papers.published import SCALES
from tests.data.conftest import need

RESULTS = Path(__file__).parents[2] / "docs" / "results" / "partfed.json"


@pytest.mark.parametrize("scale", SCALES)
def test_every_plan_behind_a_count_or_a_time_is_a_plan(scale) -> None:
    for cell in (cell for table in PAPER.tables(scale) for cell in table.cells):
        if "plan" in cell.trial.settings:
            plans.parse(cell.trial.settings["plan"])


def test_the_printed_totals_are_the_sums_the_paper_prints() -> None:
    for server, client, transfer, total, strong, strong_total in printed.TIMES.values():
        assert server + client + transfer == pytest.approx(total, abs=0.011)
        assert strong + client + transfer == pytest.approx(strong_total, abs=0.011)


@pytest.mark.parametrize(("encoding", "inputs"), [("E1", 12), ("E2", 86)])
def test_the_two_encodings(encoding, inputs) -> None:
    need("adult")
    job = plans.parse(plan("full", "k_anonymity", 100, encoding))
    ground = prepare(job, Draws.seeded(1))
    assert ground.train.inputs.width == inputs
    assert job.model.hidden == (inputs,)
    matrix = ground.train.inputs.matrix
    assert (matrix.min(), matrix.max()) == (0, 1)
    assert ground.disclosure.facts.rows / ground.disclosure.facts.of_rows == pytest.approx(0.809, abs=0.01)


def test_counts_and_times() -> None:
    need("adult")
    assert runs.table_facts()["last"] == {"rows": 30_162, "largest": 554, "largest_with_label": 402}
    took = runs.times(plan("smoke", "k_anonymity", 1), 2, seed=0)["last"]
    assert took["total"] == pytest.approx(took["server"] + took["client"] + took["transfer"])
    assert took["server"] > 0 == took["client"], "with k=1 everything is trained at the server"


def test_figure_8_on_a_slice(tmp_path) -> None:
    need("adult")
    tables = tuple(table for table in PAPER.tables("smoke") if table.name == "fig8")
    outcomes = reproduce(PAPER, tables, tmp_path, lambda done, total, run: None)
    by_row = {(outcome.cell.row, outcome.cell.column): outcome.ours.mean for outcome in outcomes if outcome.ours is not None}
    assert [by_row[f"l={few}", "k with as many rows"] for few in (100, 200, 300)] == [168, 304, 460], "counted again"
    for l in (100, 200, 300):  # noqa: E741
        loss, federation, labels = (
            by_row[f"l={l}", column] for column in ("loss against one place", "1: federation", "2: labels on different sides")
        )
        assert loss == pytest.approx(federation + labels)


def test_train_accuracy_is_a_figure_of_every_plan(tmp_path) -> None:
    need("adult")
    tables = tuple(table for table in PAPER.tables("smoke") if table.name == "fig3")
    filled = {outcome.cell.column: outcome.ours for outcome in reproduce(PAPER, tables, tmp_path, lambda done, total, run: None)}
    assert filled["train, at the end"] is not None
    assert 0.5 < filled["train, at the end"].mean <= 1


@pytest.fixture(scope="module")
def kept() -> dict[str, dict[tuple[str, str], float]]:
    if not RESULTS.exists():
        pytest.skip("no results are kept; run: tacit reproduce partfed --page docs")
    found: dict[str, dict[tuple[str, str], float]] = {}
    for cell in json.loads(RESULTS.read_text())["cells"]:
        found.setdefault(cell["table"], {})[cell["row"], cell["column"]] = cell["ours"]
    return found


def test_the_kept_results_reach_the_published_levels(kept) -> None:
    assert 0.815 <= kept["fig5"]["k=1, all at the server", "epoch 100"] <= 0.845
    assert kept["fig5"]["k=555, federated averaging", "epoch 100"] >= 0.78
    assert kept["fig4"]["l=300", "in one-label classes"] == 1
