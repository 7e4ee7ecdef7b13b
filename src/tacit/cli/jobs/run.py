"""tacit run and tacit resume: train, show how it goes, and say what came of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from tacit.cli import tables
from tacit.cli.exit_codes import Stopped
from tacit.cli.options import (
    RUNS,
    AllowCode,
    AsJson,
    NoReport,
    Overrides,
    PlanFile,
    PolicyFile,
    Quiet,
    RunName,
    Runs,
)
from tacit.cli.progress import progress_observer
from tacit.errors import DiskError
from tacit.progress import ProgressObserver


def run(
    plan: PlanFile,
    overrides: Overrides = None,
    runs: Runs = RUNS,
    as_json: AsJson = False,
    quiet: Quiet = False,
    no_report: NoReport = False,
    policy: PolicyFile = None,
) -> None:
    """Run a plan to its end.

    PLAN is a TOML file; `tacit init` writes one to start from.
    Progress goes to stderr, the result to stdout. All of it is kept in a
    folder of its own below runs/: the plan with every setting, the record,
    the model, and a report page that opens in any browser.

    \b
    Examples:
      tacit run plan.toml
      tacit run plan.toml -o codec.epsilon=1 -o server.rounds=40
      tacit run plan.toml --json > result.json
      tacit run plan.toml --policy mine.toml
    """
    from tacit import simulation
    from tacit.cli.federation.policy import check_policy
    from tacit.plan import load

    loaded = load(plan, overrides)
    check_policy(loaded, policy)
    carry_out(
        lambda observer: simulation.start(loaded, root=runs, observer=observer),
        as_json=as_json,
        quiet=quiet,
        page=not no_report,
    )


def resume(
    run: RunName,
    runs: Runs = RUNS,
    as_json: AsJson = False,
    quiet: Quiet = False,
    no_report: NoReport = False,
    policy: PolicyFile = None,
    allow_code: AllowCode = False,
    abandon: Annotated[
        bool, typer.Option("--abandon", help="Give the run up instead, and delete its keys.")
    ] = False,
) -> None:
    """Go on with a run that was stopped or killed, from its last finished round.

    RUN is a name that `tacit runs` lists, or a folder.
    The model comes out bit for bit as if nothing had happened.
    If its plan names a Python class, add --allow-code. With --abandon the
    run can never go on: its keys are deleted, its record stays.
    `tacit deploy --resume RUN` then tells its sites.

    \b
    Examples:
      tacit resume newsgroups-3
      tacit resume runs/newsgroups-3 --json
      tacit resume newsgroups-3 --abandon
    """
    from tacit import simulation
    from tacit.cli.federation.policy import check_policy
    from tacit.cli.folders import folder_of
    from tacit.runs.run_folder import plan_of

    folder = folder_of(run, runs)
    if abandon:
        from tacit.runs.recovery import abandon as give_up

        gone = give_up(folder)
        told = {"run": folder.name, "abandoned": True, "deleted": gone}
        (
            tables.print_json(told)
            if as_json
            else tables.line(f"{folder}: abandoned; deleted {', '.join(gone) or 'nothing'}")
        )
        return
    if policy:
        check_policy(plan_of(folder), policy)
    carry_out(
        lambda observer: simulation.resume(folder, observer, allow_code=allow_code),
        as_json=as_json,
        quiet=quiet,
        page=not no_report,
    )


def carry_out(
    work: Callable[[ProgressObserver], Path], *, as_json: bool, quiet: bool, page: bool
) -> None:
    """Do some work with progress on stderr, then write the report and print what came of it."""
    observer = progress_observer(quiet=quiet)
    try:
        with observer:
            folder = work(observer)
    except KeyboardInterrupt:
        raise Stopped(_stopped(observer.folder)) from None
    _result(folder, as_json=as_json, page=page)


def _stopped(folder: Path | None) -> str:
    from tacit.cli.folders import figures

    if folder is None:
        return "stopped before the first round; nothing was written"
    run = figures(folder)
    return f"{run.state}; nothing is lost: tacit resume {_as_typed(folder)}"


def _as_typed(folder: Path) -> str:
    return folder.name if folder.parent == RUNS else str(folder)


def _result(folder: Path, *, as_json: bool, page: bool) -> None:
    """Print the result, and write the report. A report that cannot be written takes nothing away
    from the result.
    """
    from tacit.cli.folders import figures
    from tacit.report.as_json import run_to_json

    run = figures(folder)
    if not as_json:
        tables.results(run)
    failed = _report_failed(folder) if page else None
    if as_json:
        tables.print_json(run_to_json(run, folder))
    else:
        tables.files(folder)
    if failed:
        raise failed


def _report_failed(folder: Path) -> DiskError | None:
    """Write the report; return why it could not be written, if so."""
    from tacit import report

    try:
        report.write(folder)
    except OSError as error:
        return DiskError(
            f"{folder}: the run is finished, but its report cannot be written ({error.strerror})"
        )
    return None
