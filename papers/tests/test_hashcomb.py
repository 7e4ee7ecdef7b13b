"""HashComb's cells: what is printed, that every kind runs, and that the kept results say what the page says."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import f1_score

from tacit import plan as plans
from tacit.quantisation.levels import find_head_probability
from tacit.reproduction import SCALES
from tacit_papers.figure import estimate_cell
from tacit_papers.fill import fill_cells
from tacit_papers.hashcomb import PAPER, printed, proofs, runs
from tacit_papers.hashcomb.halves import HALF, halves, inputs_of
from tacit_papers.published import PaperCell, PaperTrial
from tests.data.conftest import need

RESULTS = Path(__file__).parents[2] / "docs" / "results" / "hashcomb.json"


@pytest.mark.parametrize("scale", SCALES)
def test_every_plan_behind_a_cell_is_a_plan(scale) -> None:
    cells = [
        one
        for table in PAPER.tables(scale)
        for cell in table.cells
        for one in cell.parts or (cell,)
    ]
    found = [
        trial.settings["plan"]
        for cell in cells
        for trial in (cell.trial, cell.minus)
        if trial and "plan" in trial.settings
    ]
    distinct = {json.dumps(tree, sort_keys=True): tree for tree in found}
    for tree in distinct.values():
        codec = (
            {"clip": 1.0, **tree["codec"]}
            if tree["codec"]["name"] in ("gaussian", "dp_sum")
            else tree["codec"]
        )
        plans.parse({**tree, "codec": codec, "data": {**tree["data"], "source": plans.GIVEN}})


def test_the_claimed_gain_is_a_mean_of_relative_differences_of_the_printed_numbers() -> None:
    for other, claimed in printed.GAIN_OVER.items():
        gains = [row["HC8"] / row[other] - 1 for row in printed.MANY_ROUNDS.values()]
        assert float(np.mean(gains)) == pytest.approx(claimed, abs=5e-4)


@pytest.mark.parametrize("wrong", [0.0, 0.2, 1.0])
def test_the_f1_of_both_classes_follows_from_accuracy_and_one_f1(wrong) -> None:
    random = np.random.default_rng(1)
    labels = (random.random(500) < 0.6).astype(int)
    guesses = np.where(random.random(500) < wrong, 1 - labels, labels)
    found = runs.combine_f1(
        float((guesses == labels).mean()), float(f1_score(labels, guesses)), float(labels.mean())
    )
    assert found["f1_macro"] == pytest.approx(f1_score(labels, guesses, average="macro"), abs=1e-9)
    assert found["f1_weighted"] == pytest.approx(
        f1_score(labels, guesses, average="weighted"), abs=1e-9
    )


def test_a_relative_difference_and_the_mean_of_cells() -> None:
    mine, other = (PaperTrial(kind=kind, settings={}, seeds=(1, 2)) for kind in ("mine", "other"))
    values = {"mine": (0.66, 0.88), "other": (0.6, 0.8)}
    kept = {
        run.key: {"last": {"f1": value}}
        for trial in (mine, other)
        for run, value in zip(trial.runs, values[trial.kind], strict=True)
    }
    gain = PaperCell(
        row="", column="", paper=None, trial=mine, minus=other, metric="f1", relative=True
    )
    level = PaperCell(row="", column="", paper=None, trial=other, metric="f1")
    both = PaperCell(row="", column="", paper=None, trial=mine, metric="f1", parts=(gain, level))
    assert [estimate_cell(cell, kept).mean for cell in (gain, both)] == pytest.approx([0.1, 0.4])
    assert estimate_cell(both, {}) is None


def test_equation_11_promises_less_than_nothing() -> None:
    for share in (1.0, 0.5, 1 / 256):
        assert proofs.equation_11(share)["last"]["epsilon"] <= 0


def test_the_printed_noise_is_counted_over_all_rounds() -> None:
    stated, printed_one = (
        proofs.equation_16(logarithm, 40)["last"] for logarithm in ("natural", "ten")
    )
    assert (stated["variance"], printed_one["variance"]) == pytest.approx((0.184, 0.08), abs=5e-4)
    assert printed_one["run"] == pytest.approx(66.8, abs=0.1)
    assert printed_one["update"] < printed_one["run"]


def test_coins_do_not_keep_two_values_from_being_told_apart() -> None:
    """All coins are tails with a chance of 1.8 %: only then two values look the same. 100,000 draws, so within .002."""
    assert proofs.distinguish_values("finest", 8, seed=1)["last"]["delta"] == 1
    nothing = (1 - find_head_probability("last_head", 10, 8.0)) ** 10
    assert proofs.distinguish_values("last_head", 10, seed=1)["last"]["delta"] == pytest.approx(
        1 - nothing, abs=2e-3
    )


@pytest.mark.parametrize("name", printed.SETS)
def test_honest_halves_share_no_row(name) -> None:
    need({"spam": "spambase", "cardio": "cardio"}.get(name, "iot23"))
    table = halves("honest", name)
    facts = runs.facts("honest", name)["last"]
    assert facts["seen"] == 0
    assert set(table[HALF].unique()) == {"train", "test"}
    numbers = table.select(inputs_of(table)).to_numpy()
    assert (numbers.min(), numbers.max()) == (0, 1)


TABLES = [
    "2",
    "2-baselines",
    "3-differences",
    "fig4-gap",
    "range",
    "clients",
    "gains",
    "gains-many",
    "5",
    "budget",
]


@pytest.mark.parametrize("table", TABLES)
def test_a_table_on_a_slice(table, tmp_path) -> None:
    need("hashcomb_okiru")
    tables = [one for one in PAPER.tables("smoke") if one.name == table]
    cells = [
        cell
        for cell in tables[0].cells
        if "okiru" in json.dumps((cell.parts or (cell,))[-1].trial.settings)
    ]
    small = [type(tables[0])(name=table, title="", cells=tuple(cells))]
    outcomes = fill_cells(PAPER, tuple(small), tmp_path, lambda done, total, run: None)
    assert outcomes
    assert all(outcome.ours is not None for outcome in outcomes)
