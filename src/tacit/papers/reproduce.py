"""Reproducing tables: every run of every trial once, some at the same time, then the cells filled from what is kept."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Protocol

from threadpoolctl import threadpool_limits

from tacit import engine
from tacit.engine import children
from tacit.papers import runs
from tacit.papers.figure import values_of
from tacit.papers.former import Former, outcome
from tacit.papers.published import Cell, Figures, Outcome, Paper, Run, Table, Trial

_CarryOut = Callable[[Run], Figures]
_Begins = Callable[[Run], None]
_Done = Iterator[tuple[Run, Figures]]


class OnRun(Protocol):
    """Hears how far a reproduction has come."""

    def __call__(self, done: int, total: int, run: Run | None) -> None:
        """`done` of `total` runs are there; `run` is next."""


def reproduce(
    paper: Paper, tables: tuple[Table, ...], cache: Path, on_run: OnRun, observer: engine.Observer | None = None,
    at_once: int = 1, former: Mapping[str, Former] | None = None,
) -> list[Outcome]:  # fmt: skip
    """Return every cell of some of a paper's tables with our figure.

    Runs whose figures are neither in the cache nor on a former page are carried out, `at_once` of them at the same time, or
    left out if that is 0. Several at a time have a process each, which the observer does not hear. A cell shows the seeds
    there are.
    """
    former = former or {}
    wanted = {one.key: one for one in _wanted(tables, former)}
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
    cells = [(table.name, cell) for table in tables for cell in table.cells]
    return [outcome(table, cell, values_of(cell, found), former) for table, cell in cells]


def _in_turn(missing: list[Run], carry_out: _CarryOut, begins: _Begins) -> _Done:
    for run in missing:
        begins(run)
        yield run, carry_out(run)


def _side_by_side(missing: list[Run], carry_out: _CarryOut, begins: _Begins, at_once: int) -> _Done:
    """Yield runs as they end. A stop or an error ends the other processes; plans that were under way are taken up later."""
    waiting, going = iter(missing), dict[Future[Figures], Run]()
    with children.stoppable(), children.pool(at_once, partial(_hold, carry_out, at_once)) as processes:
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


def _hold(carry_out: _CarryOut, at_once: int) -> None:
    limits = children.thread_limits(at_once)
    os.environ.update(limits)  # for libraries that are loaded later
    threadpool_limits(int(limits["OMP_NUM_THREADS"]))
    _held[:] = [carry_out]


def _carry_out_held(run: Run) -> Figures:
    return _held[0](run)


def _wanted(tables: tuple[Table, ...], former: Mapping[str, Former]) -> list[Run]:
    """Return the runs that have something to add to a former page, in the order in which they are carried out.

    That is seed by seed: a stopped reproduction has each cell once, not one cell often.
    """
    every = [_to_run(cell, trial, former) for table in tables for cell in table.cells for trial in _trials(cell)]
    return [one for same_seed in zip_longest(*every) for one in same_seed if one is not None]


def _to_run(cell: Cell, trial: Trial, former: Mapping[str, Former]) -> list[Run | None]:
    """Return a trial's runs, None in place of those whose figure in this cell is there."""
    before, seeds = former.get(cell.key), trial.seeds or (None,)
    return [None if before and before.covers(seed, trial) else run for seed, run in zip(seeds, trial.runs, strict=True)]


def _trials(cell: Cell) -> list[Trial]:
    return [trial for one in cell.parts or (cell,) for trial in (one.trial, one.minus, one.of) if trial is not None]
