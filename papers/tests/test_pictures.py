"""Pictures: the same figures give the same bytes, ours and the printed points are both there."""

from __future__ import annotations

from tacit_papers.estimate import Estimate
from tacit_papers.pictures import Line, Panel, Picture, draw
from tacit_papers.published import At, CellOutcome, PaperCell, PaperTrial

TRIAL = PaperTrial(kind="k", settings={}, seeds=(1, 2, 3))


def outcome(row: str, paper: float | None, ours: Estimate | None) -> CellOutcome:
    return CellOutcome(
        table="1",
        cell=PaperCell(row=row, column="", paper=paper, trial=TRIAL, metric="auc"),
        ours=ours,
    )


def test_a_picture_has_both_kinds_of_points_and_is_repeatable() -> None:
    outcomes = [
        outcome("1", 0.5, Estimate(0.6, 0.01, 3)),
        outcome("2", 0.7, None),
        outcome("3", None, Estimate(0.9, None, 1)),
    ]
    points = tuple((float(one.cell.row), one.at) for one in outcomes)
    panel = Panel(
        title="IMDB & co",
        across="rounds",
        up="AUC",
        lines=(Line(label="N=10", points=points), Line(label="empty", points=())),
    )
    picture = Picture(name="fig1", title="Figure 1", panels=(panel, panel))
    first, second = (draw(picture, {one.at: one for one in outcomes}) for _ in range(2))
    assert first == second
    assert first.count("N=10") == 2
    assert "empty" not in first
    assert "IMDB &amp; co" in first


def test_a_point_of_a_table_that_is_not_there_is_left_out() -> None:
    line = Line(label="gone", points=((1.0, At("9", "r", "c")),))
    assert "gone" not in draw(
        Picture(name="f", title="F", panels=(Panel(title="t", across="x", up="y", lines=(line,)),)),
        {},
    )
