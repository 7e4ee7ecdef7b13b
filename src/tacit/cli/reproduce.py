"""tacit reproduce: a published table beside ours, cell by cell."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli import tables
from tacit.cli.exit_codes import Missed
from tacit.cli.options import AsJson, Quiet
from tacit.cli.sweep import at_once_or_cores
from tacit.errors import PlanError, did_you_mean

if TYPE_CHECKING:
    from tacit.papers import Cell, Outcome, Paper, Run, Scale, Table
    from tacit.papers.claims import Judged

PaperName = Annotated[
    str,
    typer.Argument(
        metavar="PAPER", help="rr-ldp, fedvocab, partfed, hashcomb or lazyinf; `list` shows all their tables.", show_default=False
    ),
]
TableName = Annotated[str | None, typer.Option("--table", metavar="T", help="Only this table, as `reproduce list` names it.")]
RowName = Annotated[
    str | None, typer.Option("--row", metavar="TEXT", help="Only the row of this name, or else rows whose name has this text.")
]
ScaleName = Annotated[
    str, typer.Option("--scale", metavar="SCALE", help="smoke (seconds), quick (minutes) or full (the paper's own).")
]
Cached = Annotated[bool, typer.Option("--cached", help="Run nothing; show what earlier runs have left.")]
AtOnce = Annotated[
    int | None,
    typer.Option("--at-once", metavar="N", help="Runs at the same time, each in a process of its own; by default one per core."),
]
Page = Annotated[
    Path | None,
    typer.Option(
        "--page",
        metavar="DIR",
        help="Also write DIR/PAPER.md and DIR/results/PAPER.json from all that was ever run, each table at its largest scale. "
        "Runs whose figures are in that file are not run again.",
    ),
]
Figures = Annotated[
    bool, typer.Option("--figures", help="Also draw the paper's figures, its points beside ours, as SVG: in figures/, or DIR/img.")
]

LIST = "list"
"""In place of a paper: show all papers and their tables."""


def reproduce(
    paper: PaperName,
    table: TableName = None,
    row: RowName = None,
    scale: ScaleName = "quick",
    as_json: AsJson = False,
    quiet: Quiet = False,
    cached: Cached = False,
    at_once: AtOnce = None,
    page: Page = None,
    figures: Figures = False,
) -> None:
    """Run a paper's experiments, print its numbers beside ours, and say which of its claims hold.

    Each run is kept by itself, so a stopped reproduction goes on where it
    was. Exit code 1 if a claim does not hold here.

    \b
    Examples:
      tacit reproduce list
      tacit reproduce rr-ldp --scale smoke
      tacit reproduce rr-ldp --table 1 --scale full
      tacit reproduce hashcomb --table 3 --row spam
      tacit reproduce rr-ldp --json > cells.json
    """
    from tacit.papers import reproduce as carry_out
    from tacit.papers.former import read
    from tacit.papers.page import at_every_scale, judged, shown_at, write

    if paper == LIST:
        _print_papers(as_json=as_json)
        return
    known = _paper(paper)
    size = _scale(scale)
    chosen = _with_rows(_tables(known, table, size), row)
    began = time.monotonic()
    together = 0 if cached else at_once_or_cores(at_once)
    former = read(known, page) if page else {}
    outcomes = carry_out(known, chosen, cache_folder(), _Bar(quiet), at_once=together, former=former)
    if page:
        every = at_every_scale(known, lambda some: carry_out(known, some, cache_folder(), _Bar(True), at_once=0, former=former))
        write(known, every, page, pictures=figures)
    elif figures:
        _draw(known, outcomes)
    if size == "smoke":  # so few rows and rounds prove that every cell runs, and nothing about its figure or a claim
        return _smoke(known, chosen, outcomes, as_json=as_json, seconds=time.monotonic() - began)
    found = judged(known, shown_at(size, chosen, outcomes))
    verdicts = [one for one in found if table is row is None or one.verdict != "cannot be tested here"]
    if as_json:
        _print_json(known, size, verdicts, outcomes)
    else:
        _print(chosen, outcomes)
        tables.table(("claim", "verdict", "reason"), [(one.claim, one.verdict, one.reason) for one in verdicts], prose=(0, 1, 2))
        _print_open(known, size, verdicts)
    failed = [one for one in verdicts if one.verdict == "does not hold here"]
    if failed:
        raise Missed(f"{len(failed)} of {len(verdicts)} claims do not hold here")


def _print_open(paper: Paper, scale: Scale, verdicts: list[Judged]) -> None:
    """Say where claims that a scale leaves open are decided."""
    undecided = sum(one.verdict == "cannot be tested here" for one in verdicts)
    if undecided and scale != "full":
        tables.say(
            f"{undecided} of {len(verdicts)} claims are left open by the {scale} scale. docs/{paper.name}.md has them by all that "
            f"was ever run; `tacit reproduce {paper.name} --scale full` runs more seeds and the paper's sizes."
        )


def _draw(paper: Paper, outcomes: list[Outcome]) -> None:
    from tacit.papers.page import write_pictures

    drawn = write_pictures(paper, outcomes, Path("figures"))
    tables.line(f"Figures: {', '.join(str(path) for path in drawn) or 'this paper has none'}", stderr=True)


def _print_json(paper: Paper, scale: Scale, verdicts: list[Judged], outcomes: list[Outcome]) -> None:
    claims, cells = [one.as_json() for one in verdicts], [one.as_json() for one in outcomes]
    tables.print_json({"paper": paper.name, "scale": scale, "claims": claims, "cells": cells})


def _smoke(paper: Paper, chosen: tuple[Table, ...], outcomes: list[Outcome], *, as_json: bool, seconds: float) -> None:
    if as_json:
        _print_json(paper, "smoke", [], outcomes)
        return
    _print(chosen, outcomes)
    ran = sum(outcome.ours is not None for outcome in outcomes)
    tables.say(f"Smoke: {ran} of {len(outcomes)} cells ran in {seconds:.0f} s; its figures say nothing.")


def cache_folder() -> Path:
    """Return where runs' figures are kept."""
    from tacit.data.store import cache_folder as root

    return root() / "reproduce"


def _paper(name: str) -> Paper:
    from tacit.papers import PAPERS

    if name not in PAPERS:
        known = [*PAPERS, LIST]
        raise PlanError(f"reproduce {name}: needs one of {', '.join(known)}.{did_you_mean(name, known)}")
    return PAPERS[name]


def _scale(name: str) -> Scale:
    from tacit.papers.published import SCALES

    for scale in SCALES:
        if scale == name:
            return scale
    raise PlanError(f"--scale {name}: needs one of {', '.join(SCALES)}.{did_you_mean(name, list(SCALES))}")


def _tables(paper: Paper, name: str | None, scale: Scale) -> tuple[Table, ...]:
    published = paper.tables(scale)
    if name is None:
        return published
    chosen = tuple(table for table in published if table.name == name)
    if not chosen:
        raise PlanError(_unknown_table(paper, name, scale))
    return chosen


def _unknown_table(paper: Paper, name: str, scale: Scale) -> str:
    """Say at which scales there is a table that a scale lacks, or which tables there are."""
    scales = {table.name: scales for table, scales in _tables_with_scales(paper)}
    if name in scales:
        others = " or ".join(f"--scale {one}" for one in scales[name])
        return f"--table {name}: {paper.name} has no such table at --scale {scale}; it has it at {others}"
    return f"--table {name}: {paper.name} has tables {', '.join(scales)}.{did_you_mean(name, list(scales))}"


def _tables_with_scales(paper: Paper) -> list[tuple[Table, list[Scale]]]:
    """Every table of a paper, as its largest scale has it, with the scales that have it."""
    from tacit.papers.published import SCALES

    found: dict[str, tuple[Table, list[Scale]]] = {}
    for scale in SCALES:
        for table in paper.tables(scale):
            found[table.name] = table, [*found.get(table.name, (table, []))[1], scale]
    return list(found.values())


def _print_papers(*, as_json: bool) -> None:
    """Print every paper with its tables and the scales that have them."""
    from tacit.papers import PAPERS

    listed = [(paper, _tables_with_scales(paper)) for paper in PAPERS.values()]
    if as_json:
        papers = [
            {
                "paper": paper.name,
                "title": paper.title,
                "tables": [{"table": one.name, "title": one.title, "scales": scales} for one, scales in found],
            }
            for paper, found in listed
        ]
        tables.print_json({"papers": papers})
        return
    for paper, found in listed:
        tables.say(f"{paper.name}: {paper.title}")
        rows = [(one.name, ", ".join(scales), one.title) for one, scales in found]
        tables.table(("table", "scales", "what it shows"), rows, prose=range(3))


def _with_rows(chosen: tuple[Table, ...], text: str | None) -> tuple[Table, ...]:
    """Return the tables with only the rows a text names; without a text, as they are."""
    if text is None:
        return chosen
    cut = (replace(table, cells=_named(table, text.lower())) for table in chosen)
    found = tuple(table for table in cut if table.cells)
    if not found:
        rows = list(dict.fromkeys(cell.row for table in chosen for cell in table.cells))
        raise PlanError(f"--row {text}: no row has this text; rows are {', '.join(rows[:20])}{', …' if len(rows) > 20 else ''}")
    return found


def _named(table: Table, text: str) -> tuple[Cell, ...]:
    """Return the cells of the row of that name, upper or lower case; if there is none, of all rows whose name has it inside."""
    exact = tuple(cell for cell in table.cells if cell.row.lower() == text)
    return exact or tuple(cell for cell in table.cells if text in cell.row.lower())


class _Bar:
    """A progress bar over runs on stderr, with the time left by the runs so far."""

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet
        self.began = time.monotonic()

    def __call__(self, done: int, total: int, run: Run | None) -> None:
        if self.quiet:
            return
        spent = time.monotonic() - self.began
        left = f", about {spent / done * (total - done) / 60:.0f} min left" if done and run and spent > 1 else ""
        filled = int(30 * done / max(1, total))
        words = _describe(run) if run else f"done in {spent / 60:.1f} min"
        tables.line(f"{'━' * filled}{'╌' * (30 - filled)} {done}/{total} runs{left}: {words}", stderr=True)


def _describe(run: Run) -> str:
    settings: dict[str, Any] = run.settings
    if run.kind != "plan":
        return f"{run.kind} {' '.join(str(value) for value in settings.values() if isinstance(value, str))}"
    data, codec, server = settings["data"], settings["codec"], settings["server"]
    unit = f", epsilon {codec['epsilon']:g} per bit, q={codec['clip']:g}" if codec["name"] == "rr" else ""
    return f"{data['source']}, {data.get('clients', 1)} clients, {server['rounds']} rounds, seed {settings['seed']}{unit}"


def _print(chosen: tuple[Table, ...], outcomes: list[Outcome]) -> None:
    from tacit.papers.wording import number, with_interval

    for table in chosen:
        own = [outcome for outcome in outcomes if outcome.table == table.name]
        rows = [
            (
                one.cell.row, one.cell.column, number(one.cell.paper), "–" if one.ours is None else with_interval(one.ours),
                "" if one.ours is None or not one.ours.seeds else str(one.ours.seeds), one.place or "",
            )
            for one in own
        ]  # fmt: skip
        tables.say(f"Table {table.name}. {table.title}")
        tables.table(("", "", "paper", "ours", "seeds", "ours is"), rows, prose=(0, 1, 5))
        if table.note:
            tables.say(f"{table.note}\n")
