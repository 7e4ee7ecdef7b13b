"""Reproducing tables: every run of every trial once, some at the same time, then the cells filled from what is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Protocol

from tacit import engine
from tacit.engine import children
from tacit.papers import runs
from tacit.papers.figure import figure
from tacit.papers.published import Figures, Outcome, Paper, Run, Table, Trial

_CarryOut = Callable[[Run], Figures]
_Begins = Callable[[Run], None]
_Done = Iterator[tuple[Run, Figures]]


class OnRun(Protocol):
    """Hears how far a reproduction has come."""

    def __call__(self, done: int, total: int, run: Run | None) -> None:
        """`done` of `total` runs are there; `run` is next."""


def reproduce(
    paper: Paper, tables: tuple[Table, ...], cache: Path, on_run: OnRun, observer: engine.Observer | None = None, at_once: int = 1
) -> list[Outcome]:
    """Return every cell of some of a paper's tables with our figure.

    Runs that are not in the cache are carried out, `at_once` of them at the same time, or left out if that is 0. Several at a
    time have a process each, which the observer does not hear. A cell shows the seeds there are.
    """
    wanted = {one.key: one for one in _seed_by_seed([trial for table in tables for trial in _trials(table)])}
    found = {key: figures for key, one in wanted.items() if (figures := runs.kept(one, cache)) is not None}
    missing = [one for key, one in wanted.items() if key not in found] if at_once else []
    carry_out = partial(runs.carry_out, cache=cache, runners=paper.runners, observer=observer)

    def begins(run: Run) -> None:
        on_run(len(found), len(wanted), run)

    together = min(at_once, len(missing))
    carried_out = partial(_side_by_side, at_once=together) if together > 1 else _in_turn
    for run, figures in carried_out(missing, carry_out, begins):
        found[run.key] = figures
    on_run(len(found), len(wanted), None)
    return [Outcome(table=table.name, cell=cell, ours=figure(cell, found)) for table in tables for cell in table.cells]


def _in_turn(missing: list[Run], carry_out: _CarryOut, begins: _Begins) -> _Done:
    for run in missing:
        begins(run)
        yield run, carry_out(run)


def _side_by_side(missing: list[Run], carry_out: _CarryOut, begins: _Begins, at_once: int) -> _Done:
    """Yield runs as they end. A stop or an error ends the other processes; plans that were under way are taken up later."""
    waiting, going = iter(missing), dict[Future[Figures], Run]()
    with children.stoppable(), children.pool(at_once, partial(_hold, carry_out)) as processes:
        while True:
            while len(going) < at_once and (run := next(waiting, None)) is not None:
                begins(run)
                going[processes.submit(_carry_out_held, run)] = run
            if not going:
                return
            for ended in wait(going, return_when=FIRST_COMPLETED).done:
                yield going.pop(ended), ended.result()


_held: list[_CarryOut] = []
"""What a process of its own carries runs out with: handed over by the fork, for runners need not be picklable."""


def _hold(carry_out: _CarryOut) -> None:
    _held[:] = [carry_out]


def _carry_out_held(run: Run) -> Figures:
    return _held[0](run)


def _seed_by_seed(trials: list[Trial]) -> list[Run]:
    """Return the runs in the order in which they are carried out: a stopped reproduction has each cell once, not one cell often."""
    runs_of = [trial.runs for trial in trials]
    return [one for same_seed in zip_longest(*runs_of) for one in same_seed if one is not None]


def _trials(table: Table) -> list[Trial]:
    cells = [one for cell in table.cells for one in (cell.parts or (cell,))]
    return [trial for cell in cells for trial in (cell.trial, cell.minus, cell.of) if trial is not None]
