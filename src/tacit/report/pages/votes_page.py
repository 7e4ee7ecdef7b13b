"""Section of the page about votes: a drawing of all scores, and tables of the lowest and highest."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.report import phrasing
from tacit.report.audits import AuditGrid
from tacit.report.votes import ClientScore, VoteFigures, format_score

_ENDS = 12
"""Clients shown of the lowest and of the highest scores; a folded table has all."""
_WIDTH, _HEIGHT, _LEFT, _TOP = 1000.0, 250.0, 44.0, 16.0


@dataclass(frozen=True, kw_only=True)
class ScoreMark:
    """One client in the drawing: positions of its score and error bar, its style and its title."""

    x: float
    y: float
    low: float
    high: float
    looks: str
    corrupted: bool
    title: str


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """Scores from lowest to highest, as positions in a picture `width` wide and `height` high."""

    width: float
    height: float
    left: float
    lines: list[tuple[float, str]]
    threshold: float
    radius: float
    marks: list[ScoreMark]


@dataclass(frozen=True, kw_only=True)
class VotesSection:
    """Contents of the page's section about votes."""

    sentence: str
    found: str
    drawing: Drawing
    grids: list[AuditGrid]
    corrupted: bool


def build_section(votes: VoteFigures) -> VotesSection:
    """Build the page's section about votes."""
    rows = [_row(one, votes) for one in votes.scores]
    whole = len(rows) <= 2 * _ENDS
    headings = (
        "client",
        "score ± error",
        "voted on",
        "rejected",
        *(("corrupted",) if votes.corrupted else ()),
    )
    titles = ("Every client, lowest score first",) if whole else ("Lowest scores", "Highest scores")
    parts = (rows,) if whole else (rows[:_ENDS], rows[: -_ENDS - 1 : -1])
    grids = [
        AuditGrid(title=title, headings=headings, rows=part)
        for title, part in zip(titles, parts, strict=True)
    ]
    if not whole:
        grids.append(
            AuditGrid(
                title="Every client, lowest score first", headings=headings, rows=rows, aside=True
            )
        )
    return VotesSection(
        sentence=f"{votes.sentence[0].upper()}{votes.sentence[1:]}.",
        found=_describe_detection(votes),
        drawing=_drawing(votes),
        grids=grids,
        corrupted=bool(votes.corrupted),
    )


def _row(one: ClientScore, votes: VoteFigures) -> tuple[str, ...]:
    mark = ("yes" if one.client in votes.corrupted else "",) if votes.corrupted else ()
    times = f"{len(one.rejected_in)} times" if len(one.rejected_in) != 1 else "once"
    voted = f"{one.rounds} rounds" if one.rounds != 1 else "1 round"
    return (f"{one.client}", format_score(one), voted, times if one.rejected_in else "", *mark)


def _describe_detection(votes: VoteFigures) -> str:
    """How well the last round's rejections match an experiment's corrupted clients."""
    if votes.found is None:
        return ""
    shares = {
        "accuracy": votes.found.accuracy,
        "precision": votes.found.precision,
        "recall": votes.found.recall,
    }
    said = ", ".join(
        f"{name} {phrasing.format_metric('accuracy', value)}" for name, value in shares.items()
    )
    return (
        "As a detector of the clients that were corrupted on purpose, the last round's rejections"
        f" have {said}."
    )


def _drawing(votes: VoteFigures) -> Drawing:
    known = [one for one in votes.scores if one.known]
    # Noise can move a score beyond ±1; the picture is high enough for all.
    reach = max([1.0, *(abs(one.score) + one.error for one in known)])
    step = (_WIDTH - _LEFT) / max(1, len(known))

    def place(score: float) -> float:
        return round(_TOP + (reach - score) / (2 * reach) * (_HEIGHT - 2 * _TOP), 1)

    marks = [
        ScoreMark(
            x=round(_LEFT + step * (number + 0.5), 1),
            y=place(one.score),
            low=place(one.score - one.error),
            high=place(one.score + one.error),
            looks="rejected" if one.client in votes.rejected else "accepted",
            corrupted=one.client in votes.corrupted,
            title=f"client {one.client}: {format_score(one)}"
            + (", rejected" if one.client in votes.rejected else "")
            + (", corrupted on purpose" if one.client in votes.corrupted else ""),
        )
        for number, one in enumerate(known)
    ]
    return Drawing(
        width=_WIDTH,
        height=_HEIGHT,
        left=_LEFT,
        lines=[(place(score), text) for score, text in ((1.0, "1"), (0.0, "0"), (-1.0, "−1"))],
        threshold=place(votes.threshold),
        radius=round(max(1.5, min(5.0, 0.35 * step)), 1),
        marks=marks,
    )
