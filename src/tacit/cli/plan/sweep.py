"""tacit plan sweep: run every combination of some settings, several at a time, and write one page."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Self

import typer

from tacit.cli import tables
from tacit.cli.exit_codes import Missed, Stopped
from tacit.cli.options import (
    RUNS,
    AsJson,
    Cluster,
    Jobs,
    Log,
    Overrides,
    Page,
    PlanFile,
    PolicyFile,
    Quiet,
    Runs,
    Seeds,
    count_jobs,
)
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
        help="A setting and its values; repeat it to combine several settings.",
    ),
]


_MAX_NOTE = 260
"""Letters of `selected_by`, of which a plan takes 300; a baseline's note is longer by its name."""


def sweep(
    plan: PlanFile,
    over: Over = None,
    seeds: Seeds = None,
    overrides: Overrides = None,
    runs: Runs = RUNS,
    jobs: Jobs = None,
    page: Page = Path("sweep.html"),
    as_json: AsJson = False,
    quiet: Quiet = False,
    policy: PolicyFile = None,
    log: Log = None,
    cluster: Cluster = None,
) -> None:
    """Run every combination of some settings and plot accuracy, privacy and bytes.

    All plans are checked first: if one cannot run, it is named and nothing
    starts. Each run gets its own folder below runs/. A plan that has a
    finished run there is not run again, so repeating the command continues
    a stopped sweep. The first --over is the horizontal axis of the plot. If
    a run fails, it is named, the others continue, and the exit code is 1.

    \b
    Examples:
      tacit plan sweep plan.toml --over privacy.epsilon=1,2,4,8
      tacit plan sweep plan.toml --over privacy.epsilon=1,8 --over data.clients=100,500 --seeds 1,2,3
      tacit plan sweep plan.toml --over codec.name=rr,plain --page codecs.html --json
      tacit plan sweep plan.toml --over privacy.epsilon=1,8 --log tensorboard:logs
      tacit plan sweep plan.toml --over privacy.epsilon=1,8 --cluster auto
    """
    from tacit.cli.site.policy import check_policy
    from tacit.plan.grid import grid

    chosen = _parse_seeds(seeds)
    points = _mark_selection(grid(plan, over or [], chosen, overrides or []))
    points = _add_trackers(points, log or [])
    _refuse_too_many_clients(plan, points)
    if policy:
        for point in points:
            check_policy(point.plans[0], policy)
    outcomes = _run_all(points, runs, count_jobs(jobs), cluster, quiet=quiet)
    found = _collect_figures(points, outcomes, len(chosen) or 1)
    _write(found, points[0].plans[0], page)
    _print(found, page, as_json=as_json)
    if found.failed:
        raise Missed(
            "\n".join(
                [
                    _count_failures(found, _count(points)),
                    *(f"  {where}: {why}" for where, why in found.failed),
                ]
            )
        )


def _count_failures(found: Sweep, count: int) -> str:
    """How many runs failed, and how many combinations lack a baseline."""
    runs = sum(len(one.failed) for one in found.tried)
    baselines = sum(any(one.failed_baselines.values()) for one in found.tried)
    parts = [f"{runs} of {count} runs failed"] if runs else []
    if baselines:
        parts.append(f"baselines of {baselines} of {len(found.tried)} combinations failed")
    return "; ".join(parts)


def _refuse_too_many_clients(path: Path, points: list[Point]) -> None:
    """Raise PlanError, before any run, if a combination has more clients than its rows allow."""
    from tacit.simulation.advice.client_count import find_without_room

    plans = {point.title: point.plans[0] for point in points}
    refused: dict[str, list[str]] = {}
    for title, problem in find_without_room(plans).items():
        refused.setdefault(problem, []).append(title)
    if refused:
        head = (
            f"{path}: {sum(map(len, refused.values()))} of {len(points)} combinations cannot run,"
            " so no run was started"
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
    "These runs used the same rows. Unless the rows are public or synthetic, choosing settings by"
    " their results is a privacy loss that no epsilon here covers."
)


def _mark_selection(points: list[Point]) -> list[Point]:
    """The same plans, each with a note (`selected_by`) that it is one of several candidates."""
    count = _count(points)
    if count < 2:
        return points
    keys = ", ".join(points[0].settings) or "seeds"
    note = f"tacit plan sweep: one of {count:,} runs over {keys} on the same rows, to choose from by their figures"
    return [
        replace(
            point, plans=tuple(replace(one, selected_by=note[:_MAX_NOTE]) for one in point.plans)
        )
        for point in points
    ]


def _add_trackers(points: list[Point], log: list[str]) -> list[Point]:
    """The same plans, each with the trackers of `--log`; PlanError if one cannot write."""
    from tacit.plan import Track, check
    from tacit.simulation import Silence
    from tacit.tracking import parse_target, track

    given = {target.kind: target.place for target in map(parse_target, log)}
    if len(given) < len(log):
        raise PlanError("--log: a sweep takes one place per kind; name each kind once")

    def add(plan: Plan) -> Plan:
        changed = replace(plan, track=replace(plan.track or Track(), **given)) if given else plan
        check(changed)
        return changed

    points = [replace(point, plans=tuple(map(add, point.plans))) for point in points]
    first = points[0].plans[0].track
    with track(first.list_targets() if first else (), Silence()):
        return points


def _run_all(
    points: list[Point], runs: Path, jobs: int, cluster: str | None, *, quiet: bool
) -> dict[str, Outcome]:
    """Run each plan and each of its baselines; outcomes by fingerprint. Equal plans run once."""
    from tacit.plan.grid import BASELINE_NOTE
    from tacit.runs.fingerprint import fingerprint_plan
    from tacit.runs.sweep import carry_out
    from tacit.simulation.baselines.arms import list_arms

    wanted: dict[str, tuple[str, Plan]] = {}
    for point in points:
        for plan in point.plans:
            for arm, own in list_arms(plan).items():
                if arm != "run" and own.selected_by:
                    own = replace(own, selected_by=f"{own.selected_by}{BASELINE_NOTE}{arm}")
                title = point.title if arm == "run" else phrasing.name_arm(arm)
                wanted.setdefault(fingerprint_plan(own), (f"{title}, seed {plan.seed}", own))
    watch = SweepProgress(
        [title for title, _ in wanted.values()],
        [own.server.rounds for _, own in wanted.values()],
        quiet,
    )
    try:
        with watch:
            outcomes = carry_out([own for _, own in wanted.values()], runs, jobs, watch, cluster)
    except KeyboardInterrupt:
        raise Stopped(
            f"stopped with {watch.done} of {len(wanted)} runs finished; repeat the command to"
            " continue"
        ) from None
    return dict(zip(wanted, outcomes, strict=True))


def _collect_figures(points: list[Point], outcomes: dict[str, Outcome], seeds: int) -> Sweep:
    from tacit.cli.folders import figures
    from tacit.report.sweeps.figures import Combination, Sweep
    from tacit.runs.fingerprint import fingerprint_plan
    from tacit.simulation.baselines.arms import list_arms

    tried, read = [], dict[Path, "Summary"]()

    def read_runs(plans: list[Plan]) -> list[Summary]:
        folders = [
            folder
            for plan in plans
            if (folder := outcomes[fingerprint_plan(plan)].folder) is not None
        ]
        for folder in folders:
            read.setdefault(folder, figures(folder))
        return [read[folder] for folder in folders]

    def errors(plans: list[Plan]) -> list[str]:
        return [error for plan in plans if (error := outcomes[fingerprint_plan(plan)].error)]

    for point in points:
        arms = [list_arms(plan) for plan in point.plans]
        names = [name for name in arms[0] if name != "run"]
        baselines = {name: read_runs([one[name] for one in arms]) for name in names}
        failed = {name: why for name in names if (why := errors([one[name] for one in arms]))}
        own = list(point.plans)
        tried.append(
            Combination(
                settings=point.settings,
                runs=read_runs(own),
                failed=errors(own),
                baselines=baselines,
                failed_baselines=failed,
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
        tables.print_json("sweep/1", {**sweep_to_json(found), "choice": _CHOICE, "page": str(page)})
        return
    tables.table(
        [heading.replace(" / ", "/") for heading in list_headings(found)],
        list_rows(found),
        prose=range(len(found.keys) or 1),
    )
    tables.say(_CHOICE)
    tables.line(f"page:   {page}")


def _parse_seeds(text: str | None) -> list[int]:
    if text is None:
        return []
    try:
        return [int(one) for one in text.split(",")]
    except ValueError:
        raise PlanError(
            f"--seeds must be integers separated by commas, such as 1,2,3, got {text[:100]}"
        ) from None


def _count(points: list[Point]) -> int:
    return sum(len(point.plans) for point in points)


class SweepProgress:
    """Progress on stderr: one bar for all runs and one per active run, or a line per finished run."""

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

    def report_start(self, number: int) -> None:
        """Show the bar of a run."""
        if self.live:
            self.tasks[number] = self.live.add_task(
                f"  {printable(self.titles[number])}", total=self.rounds[number]
            )

    def report_round(self, number: int, round_no: int, rounds: int) -> None:
        """Advance the bar of a run."""
        if self.live:
            self.live.update(self.tasks[number], completed=round_no, total=rounds)

    def report_warning(self, number: int, text: str) -> None:
        """Write a line."""
        said = f"{self.titles[number]}: {text}"
        if self.live:
            self.live.console.print(printable(said), markup=False, emoji=False)
        else:
            tables.line(said, stderr=True)

    def report_end(self, number: int, outcome: Outcome) -> None:
        """Advance the bar of all runs, or write a line."""
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
