"""A reproduction as a page: what the paper claims with verdicts, its figures, and our tables beside its own."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from tacit.papers import former
from tacit.papers.claims import Claim, Judged, judge
from tacit.papers.estimate import LEAST_SEEDS
from tacit.papers.pictures import draw
from tacit.papers.published import SCALES, At, Outcome, Paper, Scale, Table
from tacit.papers.wording import number, with_interval

_CLAIMS = ("<!-- claims: written by tacit reproduce, do not edit -->", "<!-- end of claims -->")
_RESULTS = ("<!-- results: written by tacit reproduce, do not edit below -->", "<!-- end of results -->")
_LONG_NOTE = 120
_MARKS = {"above": " ▲", "below": " ▼", "same": " =", None: ""}


class Shown(NamedTuple):
    """One table at a scale; on a page, cells that were not run at it show another scale's figure."""

    scale: Scale
    table: Table
    outcomes: list[Outcome]


def shown_at(scale: Scale, tables: tuple[Table, ...], outcomes: list[Outcome]) -> list[Shown]:
    """Return tables at a scale with their outcomes."""
    marked = [replace(one, scale=scale) for one in outcomes]
    return [Shown(scale, table, [one for one in marked if one.table == table.name]) for table in tables]


def at_every_scale(paper: Paper, kept: Callable[[tuple[Table, ...]], list[Outcome]]) -> list[Shown]:
    """Return every table at every scale that proves something, the largest first; `kept` looks up."""
    found = []
    for scale in reversed(SCALES[1:]):
        tables = paper.tables(scale)
        found += shown_at(scale, tables, kept(tables))
    return found


def largest(every: list[Shown]) -> list[Shown]:
    """Return each table at the scale that says most, the larger one of equals; cells it lacks have another scale's figure."""
    by_name: dict[str, list[Shown]] = {}
    for one in every:
        by_name.setdefault(one.table.name, []).append(one)
    return [_filled(max(scales, key=_says), scales) for scales in by_name.values()]


def _filled(shown: Shown, scales: list[Shown]) -> Shown:
    others = {one.at: one for scale in reversed(scales) for one in scale.outcomes if one.ours is not None}
    return shown._replace(outcomes=[others.get(one.at, one) if one.ours is None else one for one in shown.outcomes])


def _says(shown: Shown) -> tuple[int, bool]:
    """Return how many cells are exact or have seeds enough, and whether any was run at all."""
    seeds = [outcome.ours.seeds for outcome in shown.outcomes if outcome.ours is not None]
    return sum(count == 0 or count >= LEAST_SEEDS for count in seeds), bool(seeds)


def judged(paper: Paper, every: list[Shown]) -> list[Judged]:
    """Return every claim with its verdict by the largest scale that decides it; a table half run at one scale spoils no other.

    Next to the largest comes what the page shows, which may be one table at this scale and another at that.
    """
    largest_first = [[one for one in every if one.scale == scale] for scale in reversed(SCALES)]
    return [_by_first(claim, [largest_first[0], largest(every), *largest_first[1:]]) for claim in paper.claims]


def _by_first(claim: Claim, ways: list[list[Shown]]) -> Judged:
    """Return the verdict by the first of some sets of tables that decides the claim; if none does, as the page shows it."""
    verdicts = [_judged(claim, shown) for shown in ways]
    return next((one for one in verdicts if one.verdict != "cannot be tested here"), verdicts[1])


def _judged(claim: Claim, shown: list[Shown]) -> Judged:
    """Return a claim's verdict; the reason says so where a table it rests on was not run at the paper's scale."""
    found = {one.at: (one, table.table) for table in shown for one in table.outcomes if one.ours is not None}
    one = judge(claim, {at: outcome.ours for at, (outcome, _) in found.items() if outcome.ours is not None})
    used = [found[at] for check in claim.checks for at in check.cells if at in found]
    small = sorted({"small runs" if table.small else f"{outcome.scale} scale" for outcome, table in used} - {"full scale"})
    words = f" ({', '.join(small)})" if small and one.verdict != "cannot be tested here" else ""
    return Judged(claim=one.claim, where=one.where, verdict=one.verdict, reason=one.reason + words)


def write(paper: Paper, every: list[Shown], docs: Path, *, pictures: bool) -> None:
    """Keep claims and figures as JSON, and put them into the paper's page between its marks; with pictures, draw these anew.

    The page has each table at its largest scale. The file also has what was run at other scales, seed by seed.
    """
    shown = largest(every)
    verdicts = judged(paper, every)
    results = former.path_of(paper, docs)
    results.parent.mkdir(parents=True, exist_ok=True)
    cells = [_stored(outcome) for one in shown for outcome in one.outcomes]
    claims = [one.as_json() for one in verdicts]
    seeds = former.as_json(outcome for one in every for outcome in one.outcomes)
    results.write_text(json.dumps({"paper": paper.name, "claims": claims, "cells": cells, "seeds": seeds}, indent=1) + "\n")
    if pictures:
        of_one_scale = [outcome for one in shown for outcome in one.outcomes if outcome.scale == one.scale]
        write_pictures(paper, of_one_scale, docs / "img")
    path = docs / f"{paper.name}.md"
    text = path.read_text() if path.exists() else f"# {paper.title}\n\n{paper.first_words}\n\n"
    if _CLAIMS[0] not in text:
        title, _, rest = text.partition("\n")
        text = f"{title}\n\n{_CLAIMS[0]}\n{_CLAIMS[1]}\n{rest}"
    text = _between(text, _CLAIMS, _claims(paper, verdicts))
    path.write_text(_between(text, _RESULTS, render(paper, shown, docs)))


def write_pictures(paper: Paper, outcomes: list[Outcome], folder: Path) -> list[Path]:
    """Draw the paper's figures from these outcomes; return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    at = {outcome.at: outcome for outcome in outcomes}
    paths = [folder / _file(paper, picture.name) for picture in paper.pictures]
    for picture, path in zip(paper.pictures, paths, strict=True):
        path.write_text(draw(picture, at))
    return paths


def _file(paper: Paper, name: str) -> str:
    return f"{paper.name}-{name}.svg"


def _stored(outcome: Outcome) -> dict[str, Any]:
    deviation = None if outcome.ours is None else outcome.ours.deviation
    return {**outcome.as_json(), "deviation": deviation, "scale": outcome.scale, "key": outcome.cell.key}


def _between(text: str, marks: tuple[str, str], content: str) -> str:
    before, _, rest = text.partition(marks[0])
    _, _, after = rest.partition(marks[1])
    return f"{before}{marks[0]}\n\n{content}\n{marks[1]}{after or chr(10)}"


def _claims(paper: Paper, verdicts: list[Judged]) -> str:
    lines = ["## What the paper claims, and what we find", "", "| claim | where | verdict | reason |", "|---|---|---|---|"]
    lines += [f"| {one.claim} | {one.where} | **{one.verdict}** | {one.reason} |" for one in verdicts]
    return "\n".join([*lines, "", f"`tacit reproduce {paper.name} --page docs` writes this table from the figures below.", ""])


def render(paper: Paper, shown: list[Shown], docs: Path) -> str:
    """Return figures and tables as Markdown: each cell shows ours with its interval and the paper's in brackets."""
    outcomes = [outcome for one in shown for outcome in one.outcomes]
    places = [outcome.place for outcome in outcomes if outcome.place is not None]
    lines = [
        f"Each cell is ours (the paper's); ± is a 95 % interval over seeds, – a cell that was not run. Of {len(places)} printed "
        f"numbers with three seeds of ours or more beside them, {places.count('same')} could be one more seed of ours (=), ours "
        f"lie above {places.count('above')} (▲) and below {places.count('below')} (▼). Each table names the scale it was run at; "
        "cells that were run at another only have its first letter:",
        "",
        *(f"- {scale}: {paper.scales[scale]}" for scale in dict.fromkeys(outcome.scale for outcome in outcomes)),
        "",
    ]
    drawn = [picture for picture in paper.pictures if (docs / "img" / _file(paper, picture.name)).exists()]
    for picture in drawn:
        lines += [f"![{picture.title}](img/{_file(paper, picture.name)})", "", f"{picture.title}. Circles are printed.", ""]
    said: dict[str, str] = {}
    for one in shown:
        lines += _markdown(one, said)
        lines += [f"`tacit reproduce {paper.name} --table {one.table.name} --scale {one.scale}`{_seeds(one.outcomes)}", ""]
        lines += _still_to_run(paper, one)
    return "\n".join(lines)


def _still_to_run(paper: Paper, shown: Shown) -> list[str]:
    """Return why a table is not all there at the paper's scale, and what runs the rest; nothing if it is."""
    if all(outcome.scale == "full" and outcome.ours is not None for outcome in shown.outcomes):
        return []
    cost = f": {shown.table.cost}" if shown.table.cost else ""
    command = f"`tacit reproduce {paper.name} --table {shown.table.name} --scale full --page docs`"
    return [f"Not all run at the full scale{cost}. The rest, in parts if you like: {command}.", ""]


def _seeds(outcomes: list[Outcome]) -> str:
    """Return how many seeds a table's figures are of."""
    counts = sorted({outcome.ours.seeds for outcome in outcomes if outcome.ours is not None} - {0})
    if not counts:
        return ""
    return f" ({counts[0]}{f' to {counts[-1]}' if len(counts) > 1 else ''} seed{'s' if counts[-1] > 1 else ''})"


def _markdown(shown: Shown, said: dict[str, str]) -> list[str]:
    """Return a table with its note; in place of a long one that stands under another table, where it stands.

    `said` has the notes so far and the tables they stand under; this one is added.
    """
    table, outcomes = shown.table, shown.outcomes
    rows = list(dict.fromkeys(outcome.cell.row for outcome in outcomes))
    columns = list(dict.fromkeys(outcome.cell.column for outcome in outcomes))
    at = {outcome.at: outcome for outcome in outcomes}
    head = f"### Table {table.name}. {table.title}" if table.name.isdigit() else f"### {table.title}"
    lines = [head, "", f"| | {' | '.join(columns)} |", f"|---{'|---' * len(columns)}|"]
    for row in rows:
        lines.append(f"| {row} | {' | '.join(_beside(at.get(At(table.name, row, column)), shown.scale) for column in columns)} |")
    first = said.setdefault(table.note, table.title)
    again = first != table.title and len(table.note) > _LONG_NOTE
    note = f"The note under “{first}” holds here too." if again else table.note
    return [*lines, "", *([note, ""] if note else [])]


def _beside(outcome: Outcome | None, scale: Scale) -> str:
    if outcome is None:
        return ""
    paper = f" ({number(outcome.cell.paper)})" if outcome.cell.paper is not None else ""
    other = "" if outcome.scale == scale else f" <sup>{outcome.scale[0]}</sup>"
    return f"{'–' if outcome.ours is None else with_interval(outcome.ours)}{paper}{_MARKS[outcome.place]}{other}"
