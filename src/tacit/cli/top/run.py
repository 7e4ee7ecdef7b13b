"""tacit run and tacit resume: train a model, show progress, print the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.cli import tables
from tacit.cli.exit_codes import Stopped
from tacit.cli.options import (
    RUNS,
    AllowCode,
    AsJson,
    Cluster,
    ClusterOrNone,
    Log,
    LogOrPlan,
    NoReport,
    Overrides,
    PlanFile,
    PolicyFile,
    Quiet,
    RunName,
    Runs,
)
from tacit.cli.progress import build_observer
from tacit.errors import DiskError

if TYPE_CHECKING:
    from tacit.plan import Plan
    from tacit.protocol.observer import Observer


_AS_IN_PLAN = "plan"
"""Value of `--log` that asks for the trackers of a resumed run's plan."""


def run(
    plan: PlanFile,
    overrides: Overrides = None,
    runs: Runs = RUNS,
    as_json: AsJson = False,
    quiet: Quiet = False,
    no_report: NoReport = False,
    policy: PolicyFile = None,
    log: Log = None,
    cluster: Cluster = None,
) -> None:
    """Train a model as a plan says, in a simulation on this machine or on a cluster.

    PLAN is a TOML file; `tacit init` writes one to start from.
    Progress goes to stderr, the result to stdout. The run gets its own
    folder below runs/ with the plan (all settings written out), the
    record, the model, and a report page that opens in any browser.

    \b
    Examples:
      tacit run plan.toml
      tacit run plan.toml -o codec.epsilon=1 -o server.rounds=40
      tacit run plan.toml --json > result.json
      tacit run plan.toml --policy mine.toml
      tacit run plan.toml --log tensorboard:logs
      tacit run plan.toml --cluster local:4
    """
    from tacit import simulation
    from tacit.cli.site.policy import check_policy
    from tacit.plan import load

    given = [] if cluster is None else [f"engine.cluster={cluster}"]
    loaded = load(plan, [*(overrides or ()), *given])
    if policy:
        check_policy(loaded, policy)
    carry_out(
        lambda observer: simulation.start(loaded, root=runs, observer=observer),
        as_json=as_json,
        quiet=quiet,
        page=not no_report,
        log=list_targets(loaded, log),
    )


def resume(
    run: RunName,
    runs: Runs = RUNS,
    as_json: AsJson = False,
    quiet: Quiet = False,
    no_report: NoReport = False,
    policy: PolicyFile = None,
    allow_code: AllowCode = False,
    log: LogOrPlan = None,
    cluster: ClusterOrNone = None,
    abandon: Annotated[
        bool, typer.Option("--abandon", help="Abandon the run instead, and delete its keys.")
    ] = False,
) -> None:
    """Resume a stopped or killed run from its last finished round.

    RUN is a name that `tacit runs` lists, or a folder.
    The model is identical to the bit to that of an uninterrupted run.
    If the plan names a Python class, add --allow-code. With --abandon the
    run can never be resumed: its keys are deleted, its record stays.
    `tacit deploy run --resume RUN` then informs the run's sites.

    \b
    Examples:
      tacit resume newsgroups-3
      tacit resume runs/newsgroups-3 --json
      tacit resume newsgroups-3 --cluster local:2
      tacit resume newsgroups-3 --abandon
    """
    from tacit import simulation
    from tacit.cli.folders import locate_run
    from tacit.cli.site.policy import check_policy
    from tacit.runs.run_folder import read_plan

    folder = locate_run(run, runs)
    if abandon:
        _abandon(folder, as_json=as_json)
        return
    if policy:
        check_policy(read_plan(folder), policy)
    carry_out(
        lambda observer: simulation.resume(
            folder, observer, allow_code=allow_code, cluster=cluster
        ),
        as_json=as_json,
        quiet=quiet,
        page=not no_report,
        log=list_targets_again(folder, log),
    )


def list_targets(plan: Plan, log: list[str] | None) -> list[str]:
    """The trackers of a plan and of `--log`."""
    return [*(plan.track.list_targets() if plan.track else ()), *(log or ())]


def list_targets_again(folder: Path, log: list[str] | None) -> list[str]:
    """The trackers of a resumed run. A run's folder may come from anybody, so those of its plan are
    used only if `--log plan` asks for them.
    """
    from tacit.runs.run_folder import read_plan

    given = [one for one in log or () if one != _AS_IN_PLAN]
    named = list_targets(read_plan(folder), None)
    if log and _AS_IN_PLAN in log:
        return [*named, *given]
    if named:
        tables.line(
            f"the plan logs to {', '.join(named)}; to continue that, add --log {_AS_IN_PLAN}",
            stderr=True,
        )
    return given


def _abandon(folder: Path, *, as_json: bool) -> None:
    from tacit.runs.recovery import abandon

    deleted = abandon(folder)
    if as_json:
        tables.print_json(
            "abandonment/1", {"run": folder.name, "abandoned": True, "deleted": deleted}
        )
    else:
        tables.line(f"{folder}: abandoned; deleted {', '.join(deleted) or 'nothing'}")


def explain_resume(folder: Path) -> str:
    """How to continue a simulation that was stopped."""
    name = folder.name if folder.parent == RUNS else str(folder)
    return f"nothing is lost, continue with: tacit resume {name}"


def carry_out(
    work: Callable[[Observer], Path],
    *,
    as_json: bool,
    quiet: bool,
    page: bool,
    log: Sequence[str] = (),
    explain_stop: Callable[[Path], str] = explain_resume,
) -> None:
    """Run `work` with progress on stderr, then write the report and print the result.

    `log` lists trackers; one that fails is named on stderr, and the run continues. `explain_stop`
    says how to continue the run in a folder, after Ctrl-C.
    """
    from tacit.tracking import track

    observer = build_observer(quiet=quiet)
    try:
        with track(log, observer, _warn if quiet else observer.warn) as watching, observer:
            folder = work(watching)
    except KeyboardInterrupt:
        raise Stopped(_explain_stop(observer.folder, explain_stop)) from None
    _print_result(folder, as_json=as_json, page=page)


def _warn(text: str) -> None:
    tables.line(text, stderr=True)


def _explain_stop(folder: Path | None, explain: Callable[[Path], str]) -> str:
    from tacit.cli.folders import figures

    if folder is None or not folder.exists():
        return "stopped before the first round; nothing was written"
    return f"{figures(folder).state}; {explain(folder)}"


def _print_result(folder: Path, *, as_json: bool, page: bool) -> None:
    """Print the result and write the report; the result is printed even if the report fails."""
    from tacit.cli.folders import figures
    from tacit.report.as_json import run_to_json

    run = figures(folder)
    if not as_json:
        tables.results(run)
    failed = _write_report(folder) if page else None
    if as_json:
        tables.print_json("run/1", run_to_json(run, folder))
    else:
        tables.files(folder)
    if failed:
        raise failed


def _write_report(folder: Path) -> DiskError | None:
    """Write the report; the error if it cannot be written."""
    from tacit import report

    try:
        report.write(folder)
    except OSError as error:
        return DiskError(
            f"{folder}: the run finished, but its report cannot be written ({error.strerror})"
        )
    return None
