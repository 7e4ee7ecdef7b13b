"""LazyInf's cells: that every plan is one, that figures say what the record says, and that tables run on a slice."""

from __future__ import annotations

import json
import math

import pytest
from scipy.stats import binom

from tacit import plan as plans
from tacit.reproduction import SCALES
from tacit.runs import record
from tacit_papers.figure import estimate_cell
from tacit_papers.fill import fill_cells
from tacit_papers.lazyinf import PAPER, printed, promise, runs
from tacit_papers.lazyinf.decisions import compute_rejection_probability
from tacit_papers.published import PLAN, PaperCell, PaperTable, PaperTrial
from tacit_papers.runs import _score_votes
from tests.data.conftest import need


@pytest.mark.parametrize("scale", SCALES)
def test_every_plan_behind_a_cell_is_a_plan(scale) -> None:
    cells = [cell for table in PAPER.tables(scale) for cell in table.cells]
    trials = [
        trial for cell in cells for trial in (cell.trial, cell.minus, cell.of) if trial is not None
    ]
    trees = [
        trial.settings if trial.kind == PLAN else trial.settings.get("plan", {}) for trial in trials
    ]
    for tree in {json.dumps(tree, sort_keys=True): tree for tree in trees if tree}.values():
        plans.parse(tree)


def test_the_flip_points_follow_from_the_chance_that_a_vote_is_kept() -> None:
    for epsilon, flip in printed.FLIPPED.items():
        kept = 1 / (1 + math.exp(-epsilon))
        assert flip == pytest.approx((2 * kept - 1) / (2 * kept), abs=1e-4)


@pytest.mark.parametrize(
    ("rejected", "accuracy", "precision", "recall"),
    [
        ([1, 2], 1.0, 1.0, 1.0),
        ([1, 3], 0.6, 0.5, 0.5),
        ([], 0.6, 1.0, 0.0),
        ([3, 4, 5], 0.0, 0.0, 0.0),
    ],
)
def test_who_was_found_is_counted_among_those_who_were_voted_on(
    rejected, accuracy, precision, recall
) -> None:
    voted = record.Voted(
        arm="run",
        round_no=1,
        clients=[1, 2, 3, 4, 5],
        scores=[0.0] * 5,
        errors=[0.0] * 5,
        rejected=rejected,
        threshold=0.0,
    )
    told = _score_votes(voted, {1, 2, 9})
    assert told == pytest.approx(
        {"filter_accuracy": accuracy, "filter_precision": precision, "filter_recall": recall}
    )


def test_a_share_of_a_loss_is_taken_seed_by_seed() -> None:
    mine, least, most = (
        PaperTrial(kind=kind, settings={}, seeds=(1, 2)) for kind in ("mine", "least", "most")
    )
    values = {"mine": (0.7, 0.8), "least": (0.5, 0.5), "most": (0.8, 0.9)}
    kept = {
        run.key: {"last": {"accuracy": value}}
        for trial in (mine, least, most)
        for run, value in zip(trial.runs, values[trial.kind], strict=True)
    }
    cell = PaperCell(
        row="", column="", paper=None, trial=mine, minus=least, of=most, metric="accuracy"
    )
    found = estimate_cell(cell, kept)
    assert found is not None
    assert found.mean == pytest.approx((0.2 / 0.3 + 0.3 / 0.4) / 2)
    assert estimate_cell(cell, {}) is None


@pytest.mark.parametrize(
    ("points", "flip"),
    [
        ([(0.1, 0.0), (0.2, 0.25), (0.3, 0.75)], 0.25),
        ([(0.1, 0.6), (0.2, 0.9)], 0.1),
        ([(0.1, 0.0), (0.2, 0.2)], 0.2),
    ],
)
def test_the_flip_point_lies_where_half_of_the_honest_are_rejected(points, flip) -> None:
    assert runs._crossing(points) == pytest.approx(flip)


@pytest.mark.parametrize(
    ("epsilon", "chances"),
    [(0.5, (0.0065, 0.024, 0.070, 0.164, 0.312)), (1.0, (0.0, 0.0001, 0.0024, 0.031, 0.178))],
)
def test_noise_turns_a_decision_round_as_often_as_binomials_say(epsilon, chances) -> None:
    """Each of 99 testers finds a contributor helpful with a chance of 100 to 60 %: the mean over how many of them do."""
    for share, chance in zip((1.0, 0.9, 0.8, 0.7, 0.6), chances, strict=True):
        mean = sum(
            binom.pmf(count, 99, share) * compute_rejection_probability(count, 99, epsilon)
            for count in range(100)
        )
        assert mean == pytest.approx(chance, abs=6e-4)
    assert compute_rejection_probability(40, 99, epsilon) == pytest.approx(
        1 - compute_rejection_probability(59, 99, epsilon)
    )


def test_what_is_called_one_is_a_half_per_vote_and_99_times_that_per_round() -> None:
    (table,) = (one for one in PAPER.tables("full") if one.name == "promise")
    figures = {one.metric: one.trial for one in table.cells}
    found = promise.losses(**figures["vote"].settings)["last"]
    assert promise.equation_4(**figures["stated"].settings)["last"]["stated"] == pytest.approx(1)
    assert (found["vote"], found["run"]) == pytest.approx((0.5, 49.5), abs=1e-6)
    assert found["run_at"] < found["run"]
    assert found["head"] == pytest.approx(1, abs=1e-3)
    assert found["unbounded"] == 1  # the update that is averaged


def test_votes_put_corrupted_clients_lowest_where_exact_influence_does() -> None:
    found = promise.valued(clients=20, wrong=6, seed=1)["last"]
    assert found["found"] == 1
    assert found["trainings"] == 21
    assert found["signs"] >= found["always"]


def _small(name: str, *words: str) -> tuple[PaperTable, ...]:
    """Return the cells of a table's slice whose row has one of the words in it."""
    (table,) = (one for one in PAPER.tables("smoke") if one.name == name)
    cells = [cell for cell in table.cells if any(word in cell.row for word in words)]
    return (PaperTable(name=name, title="", cells=tuple(cells)),)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("detection", ("MNIST, votes at 0.5, record",)),
        ("collusion", ("votes at 1",)),
        ("decisions", ("MNIST, votes at 1",)),
    ],
)
def test_a_table_on_a_slice(table, words, tmp_path) -> None:
    need("mnist")
    outcomes = fill_cells(PAPER, _small(table, *words), tmp_path, lambda done, total, run: None)
    assert outcomes
    assert all(outcome.ours is not None for outcome in outcomes)
