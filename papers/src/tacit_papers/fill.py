"""Fill the cells of tables: carry out every run of every trial once, some in parallel, then read
the cached results.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import replace
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from threadpoolctl import threadpool_limits

from tacit import simulation
from tacit.reproduction import OnRun
from tacit.simulation.workers import children
from tacit_papers import runs
from tacit_papers.figure import compute_values
from tacit_papers.former import Former, merge_outcome
from tacit_papers.published import (
    PLAN,
    CellOutcome,
    Figures,
    PaperCell,
    PaperTable,
    PaperTrial,
    TrialRun,
)

if TYPE_CHECKING:
    from tacit_papers.paper import Paper

_CarryOut = Callable[[TrialRun], Figures]
_Begins = Callable[[TrialRun], None]
_Done = Iterator[tuple[TrialRun, Figures]]


def fill_cells(
    paper: Paper, tables: tuple[PaperTable, ...], cache: Path, on_run: OnRun, observer: simulation.Observer | None = None,
    jobs: int = 1, former: Mapping[str, Former] | None = None,
) -> list[CellOutcome]:  # fmt: skip
    """Fill every cell of some of a paper's tables with our estimate.

    Runs whose results are neither in the cache nor on a former page are carried out, `jobs` of them
    in parallel; if `jobs` is 0 they are left out. Parallel runs have a process each, which the
    observer does not see. A cell uses the seeds that exist; cached single seeds replace an estimate
    of a former page that lacks them.
    """
    former = former or {}
    wanted = {one.key: one for one in _list_runs(tables, former)}
    known = {one.key: one for one in _list_runs(tables, {})}
    found = {
        key: figures
        for key, one in known.items()
        if (figures := runs.read_cached(one, cache)) is not None
    }
    missing = [one for key, one in wanted.items() if key not in found] if jobs else []
    carry_out = partial(runs.carry_out, cache=cache, runners=paper.runners, observer=observer)

    def begins(run: TrialRun) -> None:
        on_run(len(found.keys() & wanted.keys()), len(wanted), _describe(run))

    together = min(jobs, len(missing))
    carried_out = partial(_run_in_parallel, jobs=together) if together > 1 else _run_in_turn
    for run, figures in carried_out(missing, carry_out, begins):
        found[run.key] = figures
    on_run(len(found.keys() & wanted.keys()), len(wanted), None)
    return [
        replace(
            merge_outcome(table.name, cell, compute_values(cell, found), former),
            effect=effect,
        )
        for table, effect in ((one, one.effect) for one in tables)
        for cell in table.cells
    ]


def _describe(run: TrialRun) -> str:
    settings: dict[str, Any] = run.settings
    if run.kind != PLAN:
        return " ".join([run.kind, *(one for one in settings.values() if isinstance(one, str))])
    data, codec, server = settings["data"], settings["codec"], settings["server"]
    unit = (
        f", epsilon {codec['epsilon']:g} per bit, q={codec['clip']:g}"
        if codec["name"] == "rr"
        else ""
    )
    return (
        f"{data['source']}, {data.get('clients', 1)} clients, {server['rounds']} rounds, seed"
        f" {settings['seed']}{unit}"
    )


def _run_in_turn(missing: list[TrialRun], carry_out: _CarryOut, begins: _Begins) -> _Done:
    for run in missing:
        begins(run)
        yield run, carry_out(run)


def _run_in_parallel(
    missing: list[TrialRun], carry_out: _CarryOut, begins: _Begins, jobs: int
) -> _Done:
    """Yield runs as they end. A stop or an error ends the other processes; interrupted plans are
    resumed later.
    """
    waiting, going = iter(missing), dict[Future[Figures], TrialRun]()
    with (
        children.stoppable(),
        children.pool(jobs, partial(_hold, carry_out, jobs)) as processes,
    ):
        while True:
            while len(going) < jobs and (run := next(waiting, None)) is not None:
                begins(run)
                going[processes.submit(_carry_out_held, run)] = run
            if not going:
                return
            for ended in wait(going, return_when=FIRST_COMPLETED).done:
                yield going.pop(ended), ended.result()


_held: list[_CarryOut] = []
"""What a worker process needs to carry out runs; inherited by the fork, because runners need not be
picklable.
"""


def _hold(carry_out: _CarryOut, jobs: int) -> None:
    limits = children.thread_limits(jobs)
    os.environ.update(limits)  # for libraries that are loaded later
    threadpool_limits(int(limits["OMP_NUM_THREADS"]))
    _held[:] = [carry_out]


def _carry_out_held(run: TrialRun) -> Figures:
    return _held[0](run)


def _list_runs(tables: tuple[PaperTable, ...], former: Mapping[str, Former]) -> list[TrialRun]:
    """List the runs that add something to a former page, in the order in which they are carried
    out.

    The order is seed by seed: a reproduction that is stopped has one seed of each cell, not all
    seeds of one cell.
    """
    every = [
        _list_missing(cell, trial, former)
        for table in tables
        for cell in table.cells
        for trial in _list_trials(cell)
    ]
    return [one for same_seed in zip_longest(*every) for one in same_seed if one is not None]


def _list_missing(
    cell: PaperCell, trial: PaperTrial, former: Mapping[str, Former]
) -> list[TrialRun | None]:
    """List a trial's runs, with None for those whose value in this cell is known."""
    before, seeds = former.get(cell.key), trial.seeds or (None,)
    return [
        None if before and before.covers(seed, trial) else run
        for seed, run in zip(seeds, trial.runs, strict=True)
    ]


def _list_trials(cell: PaperCell) -> list[PaperTrial]:
    return [
        trial
        for one in cell.parts or (cell,)
        for trial in (one.trial, one.minus, one.of)
        if trial is not None
    ]
