"""A reproduction as a page: our table beside the paper's, with the settings and the command that made it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tacit.papers.published import SCALES, Outcome, Paper, Scale, Table

_BEGIN, _END = "<!-- results: written by tacit reproduce, do not edit below -->", "<!-- end of results -->"


class Shown(NamedTuple):
    """One table as the page shows it: at the largest scale whose trials are kept."""

    scale: Scale
    table: Table
    outcomes: list[Outcome]


def largest_kept(paper: Paper, kept: Callable[[tuple[Table, ...]], list[Outcome]]) -> list[Shown]:
    """Return every table at the largest scale at which all its cells were run, else the one with most; `kept` looks up."""
    scales: dict[str, list[Shown]] = {}
    for scale in reversed(SCALES[1:]):
        tables = paper.tables(scale)
        outcomes = kept(tables)
        for table in tables:
            own = [outcome for outcome in outcomes if outcome.table == table.name]
            scales.setdefault(table.name, []).append(Shown(scale, table, own))
    return [max(shown, key=lambda one: (_share_run(one), -shown.index(one))) for shown in scales.values()]


def _share_run(shown: Shown) -> float:
    return sum(outcome.ours is not None for outcome in shown.outcomes) / max(1, len(shown.outcomes))


def write(paper: Paper, shown: list[Shown], docs: Path) -> None:
    """Keep the figures as JSON and put the tables into the paper's page, between its two marks."""
    results = docs / "results" / f"{paper.name}.json"
    results.parent.mkdir(parents=True, exist_ok=True)
    cells = [{**outcome.as_json(), "scale": one.scale} for one in shown for outcome in one.outcomes]
    results.write_text(json.dumps({"paper": paper.name, "cells": cells}, indent=1) + "\n")
    path = docs / f"{paper.name}.md"
    text = path.read_text() if path.exists() else f"# {paper.title}\n\n{paper.first_words}\n\n"
    before, _, rest = text.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    path.write_text(f"{before}{_BEGIN}\n\n{render(paper, shown)}\n{_END}{after or chr(10)}")


def render(paper: Paper, shown: list[Shown]) -> str:
    """Return the tables as Markdown: each cell shows ours, the paper's in brackets, and a mark where ours is outside."""
    outcomes = [outcome for one in shown for outcome in one.outcomes]
    counted = [outcome for outcome in outcomes if outcome.cell.counts and outcome.ours is not None]
    inside = sum(outcome.ok is True for outcome in counted)
    lines = [
        f"{inside} of {len(counted)} cells with a printed number, and bounds ours could miss, lie within them. Each cell is ours "
        f"(paper's); ✗ marks a cell outside its bounds, – one that was not run. {_seeds(outcomes)} "
        "Each table names the scale it was run at:",
        "",
        *(f"- {scale}: {paper.scales[scale]}" for scale in dict.fromkeys(one.scale for one in shown)),
        "",
    ]
    for one in shown:
        lines += _markdown(one.table, one.outcomes)
        lines += [f"`tacit reproduce {paper.name} --table {one.table.name} --scale {one.scale}`", ""]
    return "\n".join(lines)


def _seeds(outcomes: list[Outcome]) -> str:
    most = max((outcome.cell.trial.seeds for outcome in outcomes), key=len, default=())
    if len(most) > 1:
        return f"Means over up to {len(most)} seeds ({most[0]} to {most[-1]})."
    return f"Seed {most[0]}." if most else "No seed matters."


def _markdown(table: Table, outcomes: list[Outcome]) -> list[str]:
    rows = list(dict.fromkeys(outcome.cell.row for outcome in outcomes))
    columns = list(dict.fromkeys(outcome.cell.column for outcome in outcomes))
    at = {(outcome.cell.row, outcome.cell.column): outcome for outcome in outcomes}
    head = f"### Table {table.name}. {table.title}" if table.name.isdigit() else f"### {table.title}"
    lines = [head, "", f"| | {' | '.join(columns)} |", f"|---{'|---' * len(columns)}|"]
    for row in rows:
        lines.append(f"| {row} | {' | '.join(_beside(at.get((row, column))) for column in columns)} |")
    return [*lines, "", *([table.note, ""] if table.note else [])]


def _beside(outcome: Outcome | None) -> str:
    if outcome is None:
        return ""
    paper = f" ({number(outcome.cell.paper)})" if outcome.cell.paper is not None else ""
    mark = " ✗" if outcome.ok is False else ""
    return f"{number(outcome.ours)}{paper}{mark}"


def number(value: float | None) -> str:
    """Return a figure as papers print it."""
    return "–" if value is None else f"{value:.3f}".replace("0.", ".", 1) if 0 <= value < 1 else f"{value:.3f}"


def difference(outcome: Outcome) -> str:
    """Return ours minus the paper's."""
    if outcome.ours is None or outcome.cell.paper is None:
        return ""
    return f"{outcome.ours - outcome.cell.paper:+.3f}"


def verdict(outcome: Outcome) -> str:
    """Return whether a cell lies where it must, in a word."""
    if outcome.ok is None:
        return "not run"
    return "ok" if outcome.ok else f"outside {number(outcome.cell.low)}…{number(outcome.cell.high)}"
