"""Every paper is well formed: each folder is listed, every kind has a runner, every plan passes the checker."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

import tacit_papers
from tacit import plan
from tacit.reproduction import SCALES, Scale, list_papers
from tacit_papers.paper import Paper
from tacit_papers.published import PLAN, At, PaperCell, PaperTrial

PAPERS = {paper.name: paper for paper in list_papers()}
ALL = pytest.mark.parametrize("paper", PAPERS.values(), ids=PAPERS)


def cells_of(paper: Paper, scale: Scale) -> list[tuple[str, PaperCell]]:
    return [(table.name, cell) for table in paper.tables(scale) for cell in table.cells]


def shown_of(paper: Paper) -> set[At]:
    """Return every cell that a page may show: tables of ours may be too small to have the paper's scale."""
    return {
        At(table, cell.row, cell.column)
        for scale in SCALES[1:]
        for table, cell in cells_of(paper, scale)
    }


def trials_of(paper: Paper, scale: Scale) -> list[PaperTrial]:
    return [
        trial
        for _, cell in cells_of(paper, scale)
        for trial in (cell.trial, cell.minus)
        if trial is not None
    ]


def test_every_folder_exports_a_paper_and_is_listed() -> None:
    folders = [
        path.parent.name for path in Path(tacit_papers.__file__).parent.glob("*/__init__.py")
    ]
    papers = set(folders) - {"codecs", "data_sets"}
    exported = {import_module(f"tacit_papers.{folder}").PAPER.name for folder in papers}
    assert exported == set(PAPERS)


@pytest.mark.parametrize("scale", SCALES)
@ALL
def test_every_plan_passes_the_checker_and_has_seeds(paper, scale) -> None:
    for trial in trials_of(paper, scale):
        if trial.kind == PLAN:
            assert trial.seeds
            for run in trial.runs:
                plan.parse(run.settings)


@pytest.mark.parametrize("scale", SCALES)
@ALL
def test_no_cell_stands_twice_and_differences_are_of_the_same_seeds(paper, scale) -> None:
    cells = cells_of(paper, scale)
    assert len({(table, cell.row, cell.column) for table, cell in cells}) == len(cells)
    for _, cell in cells:
        assert cell.minus is None or cell.minus.seeds == cell.trial.seeds


@pytest.mark.parametrize("scale", SCALES)
@ALL
def test_every_kind_has_a_runner_of_the_paper(paper, scale) -> None:
    assert PLAN not in paper.runners
    assert {trial.kind for trial in trials_of(paper, scale)} <= {PLAN, *paper.runners}


def test_two_papers_mean_the_same_by_a_kind() -> None:
    """Figures are kept by kind and settings: one kind with two meanings would mix them up."""
    known: dict[str, object] = {}
    for paper in PAPERS.values():
        for kind, runner in paper.runners.items():
            assert known.setdefault(kind, runner) is runner


@ALL
def test_claims_rest_on_cells_of_the_paper_and_have_a_verdict_or_a_reason(paper) -> None:
    known = shown_of(paper)
    for claim in paper.claims:
        named = {at for check in claim.checks for at in check.cells}
        assert named <= known, f"{claim.claim}: {sorted(named - known)}"
        assert bool(claim.checks) != bool(claim.untestable), (
            f"{claim.claim}: needs checks, or why there are none"
        )


@ALL
def test_pictures_show_cells_of_the_paper(paper) -> None:
    known = shown_of(paper)
    shown = {
        at
        for picture in paper.pictures
        for panel in picture.panels
        for line in panel.lines
        for _, at in line.points
    }
    assert shown <= known, sorted(shown - known)
