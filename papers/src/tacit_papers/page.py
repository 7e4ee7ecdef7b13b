"""A reproduction as a page: claims with verdicts, figures, and our tables next to the paper's."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tacit.reproduction import SCALES, JudgedClaim, Scale
from tacit_papers import former
from tacit_papers.claims import PaperClaim, judge
from tacit_papers.estimate import LEAST_SEEDS
from tacit_papers.pictures import draw
from tacit_papers.published import At, CellOutcome, PaperTable
from tacit_papers.wording import format_estimate, format_number

if TYPE_CHECKING:
    from tacit_papers.paper import Paper

_CLAIMS = ("<!-- claims: written by tacit reproduce, do not edit -->", "<!-- end of claims -->")
_RESULTS = (
    "<!-- results: written by tacit reproduce, do not edit below -->",
    "<!-- end of results -->",
)
_LONG_NOTE = 120
_MARKS = {"above": " ▲", "below": " ▼", "same": " =", None: ""}


class TableAtScale(NamedTuple):
    """One table at a scale. On a page, cells that were not run at that scale show another scale's
    value.
    """

    scale: Scale
    table: PaperTable
    outcomes: list[CellOutcome]


def show_at(
    scale: Scale, tables: tuple[PaperTable, ...], outcomes: list[CellOutcome]
) -> list[TableAtScale]:
    """Tables at a scale with their outcomes."""
    marked = [replace(one, scale=scale) for one in outcomes]
    return [
        TableAtScale(scale, table, [one for one in marked if one.table == table.name])
        for table in tables
    ]


def collect_scales(
    paper: Paper, kept: Callable[[tuple[PaperTable, ...]], list[CellOutcome]]
) -> list[TableAtScale]:
    """Every table at every scale that decides claims, the largest first; `kept` reads cached
    outcomes.
    """
    found = []
    for scale in reversed(SCALES[1:]):
        tables = paper.tables(scale)
        found += show_at(scale, tables, kept(tables))
    return found


def choose_scales(every: list[TableAtScale]) -> list[TableAtScale]:
    """Show each table at its most informative scale, the larger of equals; cells it lacks get
    another scale's value.
    """
    by_name: dict[str, list[TableAtScale]] = {}
    for one in every:
        by_name.setdefault(one.table.name, []).append(one)
    return [_fill_gaps(max(scales, key=_rank), scales) for scales in by_name.values()]


def _fill_gaps(shown: TableAtScale, scales: list[TableAtScale]) -> TableAtScale:
    others = {
        one.at: one for scale in reversed(scales) for one in scale.outcomes if one.ours is not None
    }
    return shown._replace(
        outcomes=[others.get(one.at, one) if one.ours is None else one for one in shown.outcomes]
    )


def _rank(shown: TableAtScale) -> tuple[int, bool]:
    """How many cells are exact or have enough seeds, and whether any was run at all."""
    seeds = [outcome.ours.seeds for outcome in shown.outcomes if outcome.ours is not None]
    return sum(count == 0 or count >= LEAST_SEEDS for count in seeds), bool(seeds)


def judge_claims(paper: Paper, every: list[TableAtScale]) -> list[JudgedClaim]:
    """Judge every claim by the largest scale that decides it; a table that is half run at one scale
    spoils no other.

    The second choice is what the page shows, which may mix scales between tables.
    """
    largest_first = [[one for one in every if one.scale == scale] for scale in reversed(SCALES)]
    return [
        _judge_by_first(claim, [largest_first[0], choose_scales(every), *largest_first[1:]])
        for claim in paper.claims
    ]


def _judge_by_first(claim: PaperClaim, ways: list[list[TableAtScale]]) -> JudgedClaim:
    """The verdict by the first set of tables that decides the claim; if none does, by what the page
    shows.
    """
    verdicts = [_judge_at(claim, shown) for shown in ways]
    return next((one for one in verdicts if one.verdict != "cannot be tested here"), verdicts[1])


def _judge_at(claim: PaperClaim, shown: list[TableAtScale]) -> JudgedClaim:
    """Judge a claim; the reason names tables that were not run at the paper's scale."""
    found = {
        one.at: (one, table.table)
        for table in shown
        for one in table.outcomes
        if one.ours is not None
    }
    one = judge(
        claim, {at: outcome.ours for at, (outcome, _) in found.items() if outcome.ours is not None}
    )
    used = [found[at] for check in claim.checks for at in check.cells if at in found]
    small = sorted(
        {"small runs" if table.small else f"{outcome.scale} scale" for outcome, table in used}
        - {"full scale"}
    )
    words = f" ({', '.join(small)})" if small and one.verdict != "cannot be tested here" else ""
    return JudgedClaim(
        claim=one.claim, where=one.where, verdict=one.verdict, reason=one.reason + words
    )


def write(paper: Paper, every: list[TableAtScale], docs: Path, *, pictures: bool) -> None:
    """Write claims and values as JSON and insert them into the paper's page between its marks; with
    `pictures`, redraw the figures.

    The page shows each table at its most informative scale. The file also has the values of other
    scales, seed by seed.
    """
    shown = choose_scales(every)
    verdicts = judge_claims(paper, every)
    results = former.results_path(paper, docs)
    results.parent.mkdir(parents=True, exist_ok=True)
    cells = [_cell_as_json(outcome) for one in shown for outcome in one.outcomes]
    claims = [asdict(one) for one in verdicts]
    seeds = former.as_json(outcome for one in every for outcome in one.outcomes)
    results.write_text(
        json.dumps(
            {"paper": paper.name, "claims": claims, "cells": cells, "seeds": seeds}, indent=1
        )
        + "\n"
    )
    if pictures:
        of_one_scale = [
            outcome for one in shown for outcome in one.outcomes if outcome.scale == one.scale
        ]
        write_pictures(paper, of_one_scale, docs / "img")
    path = docs / "papers" / f"{paper.name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    text = path.read_text() if path.exists() else f"# {paper.title}\n\n{paper.first_words}\n\n"
    if _CLAIMS[0] not in text:
        title, _, rest = text.partition("\n")
        text = f"{title}\n\n{_CLAIMS[0]}\n{_CLAIMS[1]}\n{rest}"
    text = _replace_between(text, _CLAIMS, _render_claims(paper, verdicts))
    path.write_text(_replace_between(text, _RESULTS, render(paper, shown, docs)))


def write_pictures(paper: Paper, outcomes: list[CellOutcome], folder: Path) -> list[Path]:
    """Draw the paper's figures from these outcomes; return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    at = {outcome.at: outcome for outcome in outcomes}
    paths = [folder / _name_picture(paper, picture.name) for picture in paper.pictures]
    for picture, path in zip(paper.pictures, paths, strict=True):
        path.write_text(draw(picture, at))
    return paths


def _name_picture(paper: Paper, name: str) -> str:
    return f"{paper.name}-{name}.svg"


def _cell_as_json(outcome: CellOutcome) -> dict[str, Any]:
    deviation = None if outcome.ours is None else outcome.ours.deviation
    return {
        **outcome.as_json(),
        "deviation": deviation,
        "scale": outcome.scale,
        "key": outcome.cell.key,
    }


def _replace_between(text: str, marks: tuple[str, str], content: str) -> str:
    before, _, rest = text.partition(marks[0])
    _, _, after = rest.partition(marks[1])
    return f"{before}{marks[0]}\n\n{content}\n{marks[1]}{after or chr(10)}"


def _render_claims(paper: Paper, verdicts: list[JudgedClaim]) -> str:
    lines = [
        "## What the paper claims, and what we find",
        "",
        "| claim | where | verdict | reason |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {one.claim} | {one.where} | **{one.verdict}** | {one.reason} |" for one in verdicts
    ]
    return "\n".join(
        [
            *lines,
            "",
            f"`tacit reproduce {paper.name} --out docs` writes this table from the figures below.",
            "",
        ]
    )


def render(paper: Paper, shown: list[TableAtScale], docs: Path) -> str:
    """Render figures and tables as Markdown: each cell shows our estimate with its interval and the
    printed number in brackets.
    """
    outcomes = [outcome for one in shown for outcome in one.outcomes]
    places = [outcome.place for outcome in outcomes if outcome.place is not None]
    lines = [
        (
            "Each cell is ours (the paper's); ± is a 95 % interval over seeds, – a cell that was"
            f" not run. Of {len(places)} printed numbers for which we have three seeds or"
            f" more, {places.count('same')} could be one more seed of ours (=), ours lie above"
            f" {places.count('above')} (▲) and below {places.count('below')} (▼). Each table names"
            " the scale it was run at; cells that were run at another only have its first letter:"
        ),
        "",
        *(
            f"- {scale}: {paper.scales[scale]}"
            for scale in dict.fromkeys(outcome.scale for outcome in outcomes)
        ),
        "",
    ]
    drawn = [
        picture
        for picture in paper.pictures
        if (docs / "img" / _name_picture(paper, picture.name)).exists()
    ]
    for picture in drawn:
        lines += [
            f"![{picture.title}](../img/{_name_picture(paper, picture.name)})",
            "",
            f"{picture.title}. Circles are printed.",
            "",
        ]
    said: dict[str, str] = {}
    for one in shown:
        lines += _render_table(one, said)
        lines += [
            (
                f"`tacit reproduce {paper.name} --table {one.table.name} --scale"
                f" {one.scale}`{_count_seeds(one.outcomes)}"
            ),
            "",
        ]
        lines += _explain_missing(paper, one)
    return "\n".join(lines)


def _explain_missing(paper: Paper, shown: TableAtScale) -> list[str]:
    """Say why a table is incomplete at the paper's scale and which command runs the rest; empty if
    it is complete.
    """
    if all(outcome.scale == "full" and outcome.ours is not None for outcome in shown.outcomes):
        return []
    cost = f": {shown.table.cost}" if shown.table.cost else ""
    command = f"`tacit reproduce {paper.name} --table {shown.table.name} --scale full --out docs`"
    return [
        f"Not all run at the full scale{cost}. The rest, table by table if you prefer: {command}.",
        "",
    ]


def _count_seeds(outcomes: list[CellOutcome]) -> str:
    """The number of seeds behind a table, as text."""
    counts = sorted({outcome.ours.seeds for outcome in outcomes if outcome.ours is not None} - {0})
    if not counts:
        return ""
    return (
        f" ({counts[0]}{f' to {counts[-1]}' if len(counts) > 1 else ''}"
        f" seed{'s' if counts[-1] > 1 else ''})"
    )


def _render_table(shown: TableAtScale, said: dict[str, str]) -> list[str]:
    """Render a table with its note; a long note that an earlier table already has is replaced by a
    reference. `said` maps notes to their first tables; this table's note is added.
    """
    table, outcomes = shown.table, shown.outcomes
    rows = list(dict.fromkeys(outcome.cell.row for outcome in outcomes))
    columns = list(dict.fromkeys(outcome.cell.column for outcome in outcomes))
    at = {outcome.at: outcome for outcome in outcomes}
    head = (
        f"### Table {table.name}. {table.title}" if table.name.isdigit() else f"### {table.title}"
    )
    lines = [head, "", f"| | {' | '.join(columns)} |", f"|---{'|---' * len(columns)}|"]
    for row in rows:
        lines.append(
            f"| {row} |"
            f" {' | '.join(_render_cell(at.get(At(table.name, row, column)), shown.scale) for column in columns)} |"
        )
    first = said.setdefault(table.note, table.title)
    again = first != table.title and len(table.note) > _LONG_NOTE
    note = f"The note under “{first}” applies here too." if again else table.note
    return [*lines, "", *([note, ""] if note else [])]


def _render_cell(outcome: CellOutcome | None, scale: Scale) -> str:
    if outcome is None:
        return ""
    paper = f" ({format_number(outcome.cell.paper)})" if outcome.cell.paper is not None else ""
    other = "" if outcome.scale == scale else f" <sup>{outcome.scale[0]}</sup>"
    return f"{'–' if outcome.ours is None else format_estimate(outcome.ours)}{paper}{_MARKS[outcome.place]}{other}"
