"""tacit sweep: every combination of some settings, a few runs at once, and one page with what came
of them.
"""

from __future__ import annotations

import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Self

import typer

from tacit.cli import tables
from tacit.cli.exit_codes import Missed, Stopped
from tacit.cli.options import RUNS, AsJson, Overrides, PlanFile, PolicyFile, Quiet, Runs
from tacit.errors import PlanError
from tacit.printable import printable
from tacit.report import phrasing

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from tacit.plan import Plan
    from tacit.plan.grid import Point
    from tacit.report import Summary
    from tacit.report.sweeps.figures import Sweep
    from tacit.runs.sweep import Outcome

Over = Annotated[
    list[str] | None,
    typer.Option(
        "--over",
        metavar="TABLE.KEY=V,V",
        help="A setting and its values; may be repeated for every combination.",
    ),
]
Seeds = Annotated[
    str | None,
    typer.Option("--seeds", metavar="S,S", help="Run each with these seeds: mean and interval."),
]
AtOnce = Annotated[
    int | None,
    typer.Option(
        "--at-once",
        metavar="N",
        help="Runs at the same time, where memory allows; by default one per core.",
    ),
]
Page = Annotated[Path, typer.Option("--page", metavar="FILE", help="Where to draw the picture.")]


def sweep(
    plan: PlanFile,
    over: Over = None,
    seeds: Seeds = None,
    overrides: Overrides = None,
    runs: Runs = RUNS,
    at_once: AtOnce = None,
    page: Page = Path("sweep.html"),
    as_json: AsJson = False,
    quiet: Quiet = False,
    policy: PolicyFile = None,
) -> None:
    """Run every combination of some settings, and draw accuracy, privacy and bytes.

    All plans are checked first, and a file's rows counted: if one cannot run,
    it is named and nothing starts. Each run is kept like any other, below runs/. A run of the same
    plan that is there is not run again, so a stopped sweep goes on where it
    was: give the same command. Lines of the picture run along the first
    --over. A run that fails is named, the rest goes on, and the exit code is 1.

    \b
    Examples:
      tacit sweep plan.toml --over privacy.epsilon=1,2,4,8
      tacit sweep plan.toml --over privacy.epsilon=1,8 --over data.clients=100,500 --seeds 1,2,3
      tacit sweep plan.toml --over codec.name=rr,plain --page codecs.html --json
    """
    from tacit.cli.federation.policy import check_policy
    from tacit.plan.grid import grid

    chosen = _seeds(seeds)
    points = _marked(grid(plan, over or [], chosen, overrides or []))
    _refuse_without_room(plan, points)
    if policy:
        for point in points:
            check_policy(point.plans[0], policy)
    found = _tried(
        points, _carried_out(points, runs, at_once_or_cores(at_once), quiet), len(chosen) or 1
    )
    _write(found, points[0].plans[0], page)
    _print(found, page, as_json=as_json)
    if found.failed:
        raise Missed(
            "\n".join(
                [
                    _failures(found, _count(points)),
                    *(f"  {where}: {why}" for where, why in found.failed),
                ]
            )
        )


def _failures(found: Sweep, count: int) -> str:
    """How many runs failed, and how many combinations lack a baseline."""
    own = sum(len(one.failed) for one in found.tried)
    beside = sum(any(one.failed_baselines.values()) for one in found.tried)
    said = [f"{own} of {count} runs failed"] if own else []
    return "; ".join(
        [
            *said,
            *(
                [f"baselines of {beside} of {len(found.tried)} combinations failed"]
                if beside
                else []
            ),
        ]
    )


def _refuse_without_room(path: Path, points: list[Point]) -> None:
    """Raise PlanError if some combination has more clients than its file has room for: nothing is
    started then.
    """
    from tacit.simulation.advice.client_count import find_without_room

    plans = {point.title: point.plans[0] for point in points}
    refused: dict[str, list[str]] = {}
    for title, problem in find_without_room(plans).items():
        refused.setdefault(problem, []).append(title)
    if refused:
        head = (
            f"{path}: {sum(map(len, refused.values()))} of {len(points)} combinations cannot run,"
            " so nothing was started"
        )
        raise PlanError(
            "\n".join(
                [
                    head,
                    *(f"  {problem} ({'; '.join(titles)})" for problem, titles in refused.items()),
                ]
            )
        )


_CHOICE = (
    "These runs had the same rows. Choosing settings by their figures costs privacy that no epsilon"
    " here covers, unless the rows are public or made up."
)


def _marked(points: list[Point]) -> list[Point]:
    """Return the same plans, each saying that it is one of several to choose from."""
    count = _count(points)
    if count < 2:
        return points
    keys = ", ".join(points[0].settings) or "seeds"
    said = f"tacit sweep: one of {count:,} runs over {keys} on the same rows, to choose from by their figures"[
        :300
    ]
    return [
        replace(point, plans=tuple(replace(one, selected_by=said) for one in point.plans))
        for point in points
    ]


def _carried_out(points: list[Point], runs: Path, at_once: int, quiet: bool) -> dict[str, Outcome]:
    """Return what became of each plan and each of its baselines, by fingerprint; equal ones run
    once.
    """
    from tacit.runs.fingerprint import plan_fingerprint
    from tacit.runs.sweep import carry_out
    from tacit.simulation.baselines.arms import arms_of

    wanted: dict[str, tuple[str, Plan]] = {}
    for point in points:
        for plan in point.plans:
            for arm, own in arms_of(plan).items():
                title = point.title if arm == "run" else phrasing.name_arm(arm)
                wanted.setdefault(plan_fingerprint(own), (f"{title}, seed {plan.seed}", own))
    watch = Bar(
        [title for title, _ in wanted.values()],
        [own.server.rounds for _, own in wanted.values()],
        quiet,
    )
    try:
        with watch:
            outcomes = carry_out([own for _, own in wanted.values()], runs, at_once, watch)
    except KeyboardInterrupt:
        raise Stopped(
            f"stopped with {watch.done} of {len(wanted)} runs there; the same command goes on with"
            " the rest"
        ) from None
    return dict(zip(wanted, outcomes, strict=True))


def _tried(points: list[Point], outcomes: dict[str, Outcome], seeds: int) -> Sweep:
    """Return the figures of all combinations."""
    from tacit.cli.folders import figures
    from tacit.report.sweeps.figures import Combination, Sweep
    from tacit.runs.fingerprint import plan_fingerprint
    from tacit.simulation.baselines.arms import arms_of

    tried, read = [], dict[Path, "Summary"]()

    def of(plans: list[Plan]) -> list[Summary]:
        folders = [
            folder
            for plan in plans
            if (folder := outcomes[plan_fingerprint(plan)].folder) is not None
        ]
        for folder in folders:
            read.setdefault(folder, figures(folder))
        return [read[folder] for folder in folders]

    def errors(plans: list[Plan]) -> list[str]:
        return [error for plan in plans if (error := outcomes[plan_fingerprint(plan)].error)]

    for point in points:
        arms = [arms_of(plan) for plan in point.plans]
        names = [name for name in arms[0] if name != "run"]
        beside = {name: of([one[name] for one in arms]) for name in names}
        without = {name: why for name in names if (why := errors([one[name] for one in arms]))}
        own = list(point.plans)
        tried.append(
            Combination(
                settings=point.settings,
                runs=of(own),
                failed=errors(own),
                baselines=beside,
                failed_baselines=without,
            )
        )
    return Sweep(
        name=points[0].plans[0].name, keys=list(points[0].settings), seeds=seeds, tried=tried
    )


def _write(found: Sweep, first: Plan, page: Path) -> None:
    from tacit.plan import to_toml
    from tacit.report.sweeps.page import write

    write(found, to_toml(first), page)


def _print(found: Sweep, page: Path, *, as_json: bool) -> None:
    from tacit.report.sweeps.figures import list_headings, list_rows, sweep_to_json

    if as_json:
        tables.print_json({**sweep_to_json(found), "choice": _CHOICE, "page": str(page)})
        return
    tables.table(
        [heading.replace(" / ", "/") for heading in list_headings(found)],
        list_rows(found),
        prose=range(len(found.keys) or 1),
    )
    tables.say(_CHOICE)
    tables.line(f"page:   {page}")


def _seeds(text: str | None) -> list[int]:
    if text is None:
        return []
    try:
        return [int(one) for one in text.split(",")]
    except ValueError:
        raise PlanError(
            f"--seeds {text[:100]}: needs whole numbers with commas between, for example --seeds"
            " 1,2,3"
        ) from None


def at_once_or_cores(wanted: int | None) -> int:
    """Return how many runs go on at the same time."""
    if wanted is not None and wanted < 1:
        raise PlanError(f"--at-once {wanted}: needs at least 1; leave it out for one run per core")
    return wanted or len(os.sched_getaffinity(0))


def _count(points: list[Point]) -> int:
    return sum(len(point.plans) for point in points)


class Bar:
    """Progress on stderr: a bar for all and one for each run under way, or a line for each run that
    ends.
    """

    def __init__(self, titles: list[str], rounds: list[int], quiet: bool) -> None:
        self.titles, self.rounds, self.quiet = titles, rounds, quiet
        self.done, self.began, self.tasks = 0, time.monotonic(), dict[int, "TaskID"]()
        self.live: Progress | None = None

    def __enter__(self) -> Self:
        if not self.quiet and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.completed}/{task.total}"),
            )
            self.live = Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True))
            self.live.start()
            self.all = self.live.add_task("runs", total=len(self.titles))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.live:
            self.live.stop()

    def begun(self, number: int) -> None:
        """Show a run's own bar."""
        if self.live:
            self.tasks[number] = self.live.add_task(
                f"  {printable(self.titles[number])}", total=self.rounds[number]
            )

    def round(self, number: int, round_no: int, rounds: int) -> None:
        """Move a run's own bar."""
        if self.live:
            self.live.update(self.tasks[number], completed=round_no, total=rounds)

    def ended(self, number: int, outcome: Outcome) -> None:
        """Move the bar of all, or write a line."""
        self.done += not outcome.error
        if self.live:
            self.live.advance(self.all)
            if number in self.tasks:
                self.live.remove_task(self.tasks.pop(number))
        elif not self.quiet and not outcome.was_there:
            spent = phrasing.format_duration(time.monotonic() - self.began)
            state = f"failed: {outcome.error}" if outcome.error else "done"
            tables.line(
                f"{self.done}/{len(self.titles)} runs after {spent}: {self.titles[number]} {state}",
                stderr=True,
            )
