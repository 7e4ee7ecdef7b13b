"""Votes on clients: the same scores on the page, in JSON, in Python and on the terminal."""

from __future__ import annotations

import pytest

from tacit import report
from tacit.api import Run
from tacit.report.as_json import run_to_json
from tacit.report.pages.votes_page import build_section
from tacit.report.votes import summarise_votes
from tacit.runs.record import Corrupted, Entry, Voted
from tests.report import made_up

VOTED = [
    Voted(arm="run", round_no=1, clients=[0, 1, 2, 3], scores=[0.5, -0.9, 0.1, 0.0], errors=[0.1, 0.1, 0.2, 9.0],
          rejected=[1], threshold=0.0),
    Voted(arm="run", round_no=2, clients=[0, 1, 3], scores=[0.75, -0.82, 0.0], errors=[0.1, 0.1, 9.0], rejected=[0, 1],
          threshold=0.0),
]  # fmt: skip
CORRUPTED = Corrupted(corruption="random_labels", clients=[1, 2], of_clients=4)


def test_the_last_score_of_each_client_and_every_rejection() -> None:
    found = summarise_votes(VOTED)
    assert found is not None
    assert [(one.client, one.score, one.rounds, one.rejected_in) for one in found.scores] == [
        (1, -0.82, 2, (1, 2)),
        (2, 0.1, 1, ()),
        (0, 0.75, 2, (2,)),
        (3, 0.0, 2, ()),  # nobody voted on it: last, whatever its score says
    ]
    assert (
        found.sentence
        == "votes rejected 2 of 3 clients in round 2, the last that voted; lowest score: client 1,"
        " -0.82 ± 0.10"
    )
    assert found.found is None
    assert summarise_votes([]) is None


def test_an_experiment_says_how_right_the_last_round_was() -> None:
    found = summarise_votes(VOTED, CORRUPTED)
    assert found is not None
    assert found.found is not None
    # Client 2 was not voted on in the last round: it is neither found nor missed.
    assert (found.found.accuracy, found.found.precision, found.found.recall) == (
        pytest.approx(2 / 3),
        0.5,
        1.0,
    )
    assert "precision 50.0 %, recall 100.0 %" in build_section(found).found


def test_marks_lie_within_the_drawing_and_the_ends_are_shown_of_many_clients() -> None:
    many = Voted(
        arm="run", round_no=1, clients=list(range(200)), scores=[2 - k / 40 for k in range(200)], errors=[0.5] * 200,
        rejected=[199], threshold=-2.5,
    )  # fmt: skip
    found = summarise_votes([many])
    assert found is not None
    shown = build_section(found)
    assert all(
        0 < mark.high < mark.y < mark.low < shown.drawing.height for mark in shown.drawing.marks
    )
    assert [grid.rows[0][0] for grid in shown.grids] == ["199", "0", "199"]
    assert [len(grid.rows) for grid in shown.grids] == [12, 12, 200]


@pytest.fixture
def entries() -> list[Entry]:
    first, second, *rest = made_up.record(rounds=2)
    return [first, second, CORRUPTED, *VOTED, *rest]


def test_page_json_and_python_tell_the_same(entries, tmp_path) -> None:
    folder = made_up.folder(tmp_path, entries)
    page = report.write(folder).read_text(encoding="utf-8")
    assert "Votes on clients" in page
    assert "client 1: -0.82 ± 0.10, rejected, corrupted on purpose" in page
    told = run_to_json(report.summarise(entries), folder)["votes"]
    assert told["rejected"] == [0, 1]
    assert told["clients"][0] == {
        "client": 1,
        "score": -0.82,
        "error": 0.1,
        "rounds": 2,
        "rejected_in": [1, 2],
    }
    assert told["clients"][-1]["score"] is None
    assert Run(folder).votes.to_dicts() == told["clients"]


def test_a_run_without_votes_says_nothing_of_them(tmp_path) -> None:
    folder = made_up.folder(tmp_path, made_up.record(rounds=1))
    assert "votes" not in run_to_json(report.summarise(made_up.record(rounds=1)), folder)
    assert Run(folder).votes.is_empty()
