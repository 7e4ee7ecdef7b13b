"""A reproduction as a page: our table beside the paper's, with the settings and the command that made it."""

from __future__ import annotations

import json
from pathlib import Path

from tacit.papers.published import Outcome, Paper, Scale, Table

_BEGIN, _END = "<!-- results: written by tacit reproduce, do not edit below -->", "<!-- end of results -->"


def write(paper: Paper, scale: Scale, tables: tuple[Table, ...], outcomes: list[Outcome], docs: Path) -> None:
    """Keep the figures as JSON and put the tables into the paper's page, between its two marks."""
    results = docs / "results" / f"{paper.name}.json"
    results.parent.mkdir(parents=True, exist_ok=True)
    cells = [outcome.as_json() for outcome in outcomes]
    results.write_text(json.dumps({"paper": paper.name, "scale": scale, "cells": cells}, indent=1) + "\n")
    path = docs / f"{paper.name}.md"
    text = path.read_text() if path.exists() else f"# {paper.title}\n\n{paper.first_words}\n\n"
    before, _, rest = text.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    path.write_text(f"{before}{_BEGIN}\n\n{render(paper, scale, tables, outcomes)}\n{_END}{after or chr(10)}")


def render(paper: Paper, scale: Scale, tables: tuple[Table, ...], outcomes: list[Outcome]) -> str:
    """Return the tables as Markdown: each cell shows ours, the paper's in brackets, and a mark where ours is outside."""
    inside = sum(outcome.ok is True for outcome in outcomes)
    run = sum(outcome.ours is not None for outcome in outcomes)
    lines = [
        f"`tacit reproduce {paper.name} --scale {scale}`: {paper.settings_note(scale)}",
        "",
        f"{inside} of {run} cells lie within their tolerance. Each cell is ours (paper's); ✗ marks a cell outside, "
        "– one that was not run at this scale. Seed 1.",
        "",
    ]
    for table in tables:
        lines += _markdown(table, [outcome for outcome in outcomes if outcome.table == table.name])
    return "\n".join(lines)


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
