"""Reproducing tables: every run of every trial once, then the cells filled from what is kept."""

from __future__ import annotations

from itertools import zip_longest
from pathlib import Path
from typing import Protocol

from tacit import engine
from tacit.papers import runs
from tacit.papers.figure import figure
from tacit.papers.published import Figures, Outcome, Paper, Run, Table, Trial


class OnRun(Protocol):
    """Hears how far a reproduction has come."""

    def __call__(self, done: int, total: int, run: Run | None) -> None:
        """`done` of `total` runs are there; `run` is next."""


def reproduce(
    paper: Paper, tables: tuple[Table, ...], cache: Path, on_run: OnRun, observer: engine.Observer | None = None, run: bool = True
) -> list[Outcome]:
    """Return every cell of some of a paper's tables with our figure.

    Runs that are not in the cache are carried out, or left out if `run` is false; a cell shows the seeds there are.
    """
    wanted = {one.key: one for one in _seed_by_seed([trial for table in tables for trial in _trials(table)])}
    found: dict[str, Figures] = {}
    for number, (key, one) in enumerate(wanted.items()):
        on_run(number, len(wanted), one)
        figures = runs.kept(one, cache) or (runs.carry_out(one, cache, paper.runners, observer) if run else None)
        if figures is not None:
            found[key] = figures
    on_run(len(wanted), len(wanted), None)
    return [Outcome(table=table.name, cell=cell, ours=figure(cell, found)) for table in tables for cell in table.cells]


def _seed_by_seed(trials: list[Trial]) -> list[Run]:
    """Return the runs in the order in which they are carried out: a stopped reproduction has each cell once, not one cell often."""
    runs_of = [trial.runs for trial in trials]
    return [one for same_seed in zip_longest(*runs_of) for one in same_seed if one is not None]


def _trials(table: Table) -> list[Trial]:
    cells = [one for cell in table.cells for one in (cell.parts or (cell,))]
    return [trial for cell in cells for trial in (cell.trial, cell.minus, cell.of) if trial is not None]
