"""tacit reproduce: compare the tables of a paper with ours, cell by cell."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.cli import tables
from tacit.cli.exit_codes import Missed
from tacit.cli.options import AsJson, Jobs, Quiet, count_jobs
from tacit.errors import PlanError, did_you_mean

if TYPE_CHECKING:
    from tacit.reproduction import ComparedTable, JudgedClaim, Reproduction, Scale

PaperName = Annotated[
    str,
    typer.Argument(
        metavar="PAPER",
        help="The name of an installed paper; `list` shows all of them with their tables.",
        show_default=False,
    ),
]
TableName = Annotated[
    str | None,
    typer.Option(
        "--table", metavar="T", help="Only this table, as `tacit reproduce list` names it."
    ),
]
RowName = Annotated[
    str | None,
    typer.Option(
        "--row",
        metavar="TEXT",
        help="Only the row with this name; if there is none, rows whose name contains this text.",
    ),
]
ScaleName = Annotated[
    str,
    typer.Option(
        "--scale",
        metavar="SCALE",
        help="smoke (seconds), quick (minutes) or full (as in the paper).",
    ),
]
SeedCount = Annotated[
    int | None,
    typer.Option(
        "--min-seeds",
        metavar="N",
        min=1,
        help="Minimum number of seeds of each run; by default as many as the scale has.",
    ),
]
Cached = Annotated[
    bool, typer.Option("--cached", help="Show the results of earlier runs; run nothing.")
]

Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="DIR",
        help=(
            "Also write the claims into DIR/papers/PAPER.md, the tables to DIR/papers/tables/PAPER.md"
            " and all values to DIR/results/PAPER.json. Runs whose values are there are not run again."
        ),
    ),
]
Figures = Annotated[
    bool,
    typer.Option(
        "--figures",
        help=(
            "Also draw the paper's figures as SVG, with its points and ours: in figures/, or in"
            " DIR/img with --out."
        ),
    ),
]

LIST = "list"
"""In place of a paper: show all papers and their tables."""


def reproduce(
    paper: PaperName,
    table: TableName = None,
    row: RowName = None,
    scale: ScaleName = "quick",
    min_seeds: SeedCount = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    cached: Cached = False,
    jobs: Jobs = None,
    out: Out = None,
    figures: Figures = False,
) -> None:
    """Run a paper's experiments, and judge its claims.

    Papers come with `pip install tacit-papers`. Each run is stored, so
    repeating the command continues a stopped reproduction. The exit code is
    1 if a claim does not hold here.

    \b
    Examples:
      tacit reproduce list
      tacit reproduce rr-ldp --scale smoke
      tacit reproduce rr-ldp --table 1 --scale full
      tacit reproduce hashcomb --table 3 --row spam --min-seeds 10
      tacit reproduce rr-ldp --json > cells.json
    """
    from tacit.reproduction import ReproductionOptions, find_paper

    if paper == LIST:
        _print_papers(as_json=as_json)
        return
    known = find_paper(paper, [LIST])
    options = ReproductionOptions(
        scale=_scale(scale),
        cache=cache_folder(),
        jobs=0 if cached else count_jobs(jobs),
        table=table,
        row=row,
        min_seeds=min_seeds,
        page=out,
        figures=(out / "img" if out else Path("figures")) if figures else None,
    )
    began = time.monotonic()
    found = known.reproduce(options, _RunProgress(quiet))
    if as_json:
        _print_json(paper, options.scale, found)
    else:
        _print(found.tables)
        _print_end(paper, options.scale, found, seconds=time.monotonic() - began)
    if figures and not out:
        drawn = ", ".join(str(path) for path in found.drawn)
        tables.line(f"Figures: {drawn or 'this paper has none'}", stderr=True)
    failed = sum(one.verdict == "does not hold here" for one in found.claims)
    if failed:
        raise Missed(f"{failed} of {len(found.claims)} claims do not hold here")


def _print_end(paper: str, scale: Scale, found: Reproduction, *, seconds: float) -> None:
    """Print the verdicts; at smoke scale, which decides no claim, only how many cells ran."""
    if scale == "smoke":
        ran = sum(cell["ours"] is not None for cell in found.cells)
        tables.say(
            f"Smoke scale: {ran} of {len(found.cells)} cells ran in {seconds:.0f} s; the figures"
            " are not meaningful."
        )
        return
    rows = [(one.claim, one.verdict, one.reason) for one in found.claims]
    tables.table(("claim", "verdict", "reason"), rows, prose=(0, 1, 2))
    _print_open(paper, scale, found.claims)


def _print_open(paper: str, scale: Scale, claims: Sequence[JudgedClaim]) -> None:
    """Say which scale decides the claims that this one leaves open."""
    from tacit.reproduction import UNDECIDED

    undecided = sum(one.verdict in UNDECIDED for one in claims)
    if undecided and scale != "full":
        tables.say(
            f"{scale.capitalize()} scale does not decide {undecided} of {len(claims)} claims."
            f" docs/papers/{paper}.md judges them by all results so far; `tacit reproduce {paper}"
            " --scale full` runs more seeds at the paper's sizes."
        )


def _print_json(paper: str, scale: Scale, found: Reproduction) -> None:
    claims = [asdict(one) for one in found.claims]
    tables.print_json(
        "reproduction/1", {"paper": paper, "scale": scale, "claims": claims, "cells": found.cells}
    )


def cache_folder() -> Path:
    """The folder of stored figures of runs."""
    from tacit.files import get_cache_folder as root

    return root() / "reproduce"


def _scale(name: str) -> Scale:
    from tacit.reproduction import SCALES

    for scale in SCALES:
        if scale == name:
            return scale
    raise PlanError(
        f"--scale must be one of {', '.join(SCALES)}, got {name}.{did_you_mean(name, list(SCALES))}"
    )


def _print_papers(*, as_json: bool) -> None:
    """Print every installed paper with its tables and the scales that have them."""
    from tacit.reproduction import list_papers

    listed = [(paper, paper.list_tables()) for paper in list_papers()]
    if as_json:
        papers = [
            {
                "paper": paper.name,
                "title": paper.title,
                "tables": [
                    {"table": one.name, "title": one.title, "scales": list(one.scales)}
                    for one in found
                ],
            }
            for paper, found in listed
        ]
        tables.print_json("papers/1", {"papers": papers})
        return
    for paper, found in listed:
        tables.say(f"{paper.name}: {paper.title}")
        rows = [(one.name, ", ".join(one.scales), one.title) for one in found]
        tables.table(("table", "scales", "what it shows"), rows, prose=range(3))


class _RunProgress:
    """A progress bar over runs on stderr, with an estimate of the time left."""

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet
        self.began = time.monotonic()

    def __call__(self, done: int, total: int, next_run: str | None) -> None:
        if self.quiet:
            return
        spent = time.monotonic() - self.began
        left = (
            f", about {spent / done * (total - done) / 60:.0f} min left"
            if done and next_run is not None and spent > 1
            else ""
        )
        filled = int(30 * done / max(1, total))
        words = f"done in {spent / 60:.1f} min" if next_run is None else next_run
        tables.line(
            f"{'━' * filled}{'╌' * (30 - filled)} {done}/{total} runs{left}: {words}", stderr=True
        )


def _print(compared: Sequence[ComparedTable]) -> None:
    for table in compared:
        tables.say(f"Table {table.name}. {table.title}")
        tables.table(("", "", "paper", "ours", "seeds", "ours is"), table.rows, prose=(0, 1, 5))
        if table.note:
            tables.say(f"{table.note}\n")
