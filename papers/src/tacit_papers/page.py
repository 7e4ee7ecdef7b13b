"""A reproduction as a page: claims with verdicts, figures, and our tables next to the paper's."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.reproduction import SCALES, VERDICTS, JudgedClaim, Scale
from tacit_papers import former, tables_page
from tacit_papers.claims import PaperClaim, judge
from tacit_papers.estimate import LEAST_SEEDS
from tacit_papers.pictures import draw
from tacit_papers.published import CellOutcome, PaperTable
from tacit_papers.selection import add_seeds
from tacit_papers.tables_page import TableAtScale, name_picture

if TYPE_CHECKING:
    from tacit_papers.paper import Paper

_CLAIMS = ("<!-- claims: written by tacit reproduce, do not edit -->", "<!-- end of claims -->")


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
    paper: Paper,
    kept: Callable[[tuple[PaperTable, ...]], list[CellOutcome]],
    seeds: int | None = None,
) -> list[TableAtScale]:
    """Every table at every scale that decides claims, the largest first, with at least as many
    seeds as asked for; `kept` reads cached outcomes.
    """
    found = []
    for scale in reversed(SCALES[1:]):
        tables = add_seeds(paper.tables(scale), seeds)
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
    """The verdict by the first set of tables that has the claim's runs; if none has, by what the
    page shows. A smaller scale never decides a claim that a larger one leaves open.
    """
    verdicts = [_judge_at(claim, shown) for shown in ways]
    return next((one for one in verdicts if one.verdict != "not tested"), verdicts[1])


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
    words = f" ({', '.join(small)})" if small and one.verdict != "not tested" else ""
    return replace(one, reason=one.reason + words)


def write(paper: Paper, every: list[TableAtScale], docs: Path, *, pictures: bool) -> None:
    """Write claims and values as JSON, the claims into the paper's page between its marks, and all
    tables on a page of their own; with `pictures`, redraw the figures.

    The tables are shown at their most informative scale. The JSON file also has the values of other
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
    tables = docs / "papers" / "tables" / f"{paper.name}.md"
    tables.parent.mkdir(parents=True, exist_ok=True)
    _write_claims(paper, verdicts, docs / "papers" / f"{paper.name}.md")
    tables.write_text(tables_page.render(paper, verdicts, shown, docs))
    _write_index(docs)


def _write_claims(paper: Paper, verdicts: list[JudgedClaim], path: Path) -> None:
    """Insert the claims into the paper's page, after its first paragraph if it has no marks."""
    text = path.read_text() if path.exists() else f"# {paper.title}\n\n{paper.first_words}\n"
    if _CLAIMS[0] not in text:
        text = f"{text}\n{_CLAIMS[0]}\n{_CLAIMS[1]}\n"
    path.write_text(_replace_between(text, _CLAIMS, _render_claims(paper, verdicts)))


def _write_index(docs: Path) -> None:
    """Count the verdicts of all papers on their index page, between its marks."""
    index = docs / "papers" / "index.md"
    if not index.exists() or _CLAIMS[0] not in index.read_text():
        return
    lines = [
        f"| paper | {' | '.join(VERDICTS)} |",
        f"|---{'|---' * len(VERDICTS)}|",
    ]
    for path in sorted((docs / "results").glob("*.json")):
        stored = json.loads(path.read_text())
        if "claims" not in stored:
            continue  # results of something else
        counts = _count_verdicts([one["verdict"] for one in stored["claims"]])
        title = (docs / "papers" / f"{stored['paper']}.md").read_text().partition("\n")[0]
        name = title.removeprefix("# ").partition(":")[0]
        numbers = " | ".join(str(count) for count in counts.values())
        lines.append(f"| [{name}]({stored['paper']}.md) | {numbers} |")
    index.write_text(_replace_between(index.read_text(), _CLAIMS, "\n".join([*lines, ""])))


def _count_verdicts(verdicts: list[str]) -> dict[str, int]:
    return {one: verdicts.count(one) for one in VERDICTS}


def write_pictures(paper: Paper, outcomes: list[CellOutcome], folder: Path) -> list[Path]:
    """Draw the paper's figures from these outcomes; return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    at = {outcome.at: outcome for outcome in outcomes}
    paths = [folder / name_picture(paper, picture.name) for picture in paper.pictures]
    for picture, path in zip(paper.pictures, paths, strict=True):
        path.write_text(draw(picture, at))
    return paths


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
    """The claims with plain verdicts and one reason each, for the readable page."""
    lines = ["| claim | verdict | why |", "|---|---|---|"]
    lines += [f"| {one.claim} | **{one.verdict}** | {one.reason} |" for one in verdicts]
    return "\n".join([*lines, ""])
