"""The mechanism of reproduction: each trial once, kept, resumed, judged; and every table of every paper is well formed."""

import json

import pytest

from tacit import papers, plan
from tacit.papers import Cell, Paper, Table, Trial, page, reproduce
from tacit.papers.published import SCALES
from tests.engine.small import small_plan, write_csv


def silent(done: int, total: int, trial: Trial | None) -> None:
    pass


@pytest.fixture
def tables(tmp_path) -> tuple[Table, ...]:
    job = plan.dump(small_plan(write_csv(tmp_path / "r.csv"), server__rounds=3))
    trial = Trial(kind="plan", settings=job)
    cells = (
        Cell(row="R=1", column="N=20", paper=0.5, trial=trial, metric="auc", round_no=1),
        Cell(row="R=3", column="N=20", paper=0.99, trial=trial, metric="auc", low=0.3),
        Cell(row="R=3", column="never", paper=0.99, trial=trial, metric="auc", low=1.1),
    )
    return (Table(name="1", title="small", cells=cells),)


def test_cells_are_filled_judged_and_kept(tables, tmp_path) -> None:
    first = reproduce(tables, tmp_path / "cache", silent)
    assert [outcome.ok for outcome in first] == [True, True, False]
    assert set(first[0].as_json()) == {"table", "row", "column", "paper", "ours", "low", "high", "ok"}
    kept = list((tmp_path / "cache").iterdir())
    assert len(kept) == 1, "one trial serves all its cells, and its run folder is gone"
    again = reproduce(tables, tmp_path / "cache", silent, run=False)
    assert [outcome.ours for outcome in again] == [outcome.ours for outcome in first]


def test_nothing_runs_when_only_the_cache_is_asked(tables, tmp_path) -> None:
    assert {outcome.ok for outcome in reproduce(tables, tmp_path / "cache", silent, run=False)} == {None}


def test_a_stopped_trial_is_taken_up(tables, tmp_path) -> None:
    from tests.engine.test_job import StopsAt

    whole = [outcome.ours for outcome in reproduce(tables, tmp_path / "whole", silent)]
    with pytest.raises(KeyboardInterrupt):
        reproduce(tables, tmp_path / "cut", silent, StopsAt(2))
    assert [outcome.ours for outcome in reproduce(tables, tmp_path / "cut", silent)] == whole


def test_the_page_keeps_what_people_wrote_around_the_results(tables, tmp_path) -> None:
    paper = Paper(
        name="p", title="P", first_words="Epsilon is per bit.", tables=lambda scale: tables, settings_note=lambda scale: "small."
    )
    outcomes = reproduce(tables, tmp_path / "cache", silent)
    shown = page.largest_kept(paper, lambda some: outcomes)
    assert [one.scale for one in shown] == ["full"]
    page.write(paper, shown, tmp_path)
    text = (tmp_path / "p.md").read_text()
    (tmp_path / "p.md").write_text(
        text.replace("Epsilon is per bit.", "Epsilon is per bit.\n\nWritten by hand.") + "\nAfterword.\n"
    )
    page.write(paper, shown, tmp_path)
    text = (tmp_path / "p.md").read_text()
    assert "Written by hand." in text
    assert "Afterword." in text
    assert text.count("| R=3 |") == 1
    assert "✗" in text
    assert len(json.loads((tmp_path / "results" / "p.json").read_text())["cells"]) == 3


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", papers.PAPERS)
def test_every_plan_of_every_paper_passes_the_checker(name, scale) -> None:
    for table in papers.PAPERS[name].tables(scale):
        seen = set()
        for cell in table.cells:
            assert (cell.row, cell.column) not in seen, "a cell stands twice"
            seen.add((cell.row, cell.column))
            assert cell.low <= cell.high
            if cell.trial.kind == "plan":
                plan.parse(cell.trial.settings)
