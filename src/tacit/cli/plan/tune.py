"""tacit plan tune: search for better settings on validation rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.cli import tables
from tacit.cli.exit_codes import Missed, Stopped
from tacit.cli.options import (
    RUNS,
    AsJson,
    Cluster,
    Jobs,
    Overrides,
    Page,
    PlanFile,
    Quiet,
    Runs,
    count_jobs,
)
from tacit.cli.plan.sweep import SweepProgress

if TYPE_CHECKING:
    from tacit.plan import Plan
    from tacit.runs.sweep import Outcome
    from tacit.runs.tune import Trial, TuneResult

Out = Annotated[
    Path | None,
    typer.Option(
        "--out", metavar="FILE", help="Where to write the best plan; PLAN-tuned.toml by default."
    ),
]


def tune(
    plan: PlanFile,
    overrides: Overrides = None,
    out: Out = None,
    page: Page = Path("tune.html"),
    runs: Runs = RUNS,
    jobs: Jobs = None,
    cluster: Cluster = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Search for better learning rates, clip, buckets and rounds on validation rows.

    The search makes many short runs, then fewer longer ones: in total less
    than ten times the rounds of one run. It does not use test rows. The new
    plan is never worse on validation rows than PLAN. If too few rows are
    left for all clients, the runs have fewer clients, and a message says so.
    If a run fails, it is named, and the exit code is 1. To continue a
    stopped search, repeat the command. Use public or simulated rows: a
    search on real clients' validation rows is a release of its own.

    \b
    Examples:
      tacit plan tune plan.toml
      tacit plan tune plan.toml --out better.toml --page search.html --json
    """
    from tacit.runs.sweep import carry_out
    from tacit.runs.tune import tune as search

    def run(plans: list[Plan], titles: list[str]) -> list[Outcome]:
        watch = SweepProgress(titles, [one.server.rounds for one in plans], quiet)
        with watch:
            return carry_out(plans, runs, count_jobs(jobs), watch, cluster)

    try:
        found = search(plan, overrides or [], run)
    except KeyboardInterrupt:
        raise Stopped("stopped; repeat the command to continue") from None
    target = out or plan.with_name(f"{plan.stem}-tuned.toml")
    target.write_text(found.text, encoding="utf-8")
    _page(found, plan.stem, page)
    if as_json:
        tables.print_json(
            "tuning/1",
            {
                "planned": _to_json(found.planned),
                "best": _to_json(found.best),
                "clients_of_trials": found.clients,
                "failed": [{"settings": one.settings, "error": one.error} for one in found.failed],
                "plan": str(target),
                "page": str(page),
            },
        )
    else:
        _print(found, target, page)
    if found.failed:
        head = f"{len(found.failed)} of {len(found.trials)} runs failed; the others were compared"
        raise Missed("\n".join([head, *(f"  {_title(one)}: {one.error}" for one in found.failed)]))


def _page(found: TuneResult, name: str, page: Path) -> None:
    from tacit.report.sweeps.tune_page import SearchRun, TuneSearch, write

    def shown(trial: Trial) -> SearchRun:
        return SearchRun(settings=trial.settings, accuracy=trial.accuracy, error=trial.error)

    search = TuneSearch(
        name=name,
        tried=list(map(shown, found.trials)),
        planned=shown(found.planned),
        best=shown(found.best),
        clients=found.clients,
    )
    write(search, found.text, page)


def _to_json(trial: Trial) -> dict[str, object]:
    return {"settings": trial.settings, "validation_accuracy": trial.accuracy}


def _print(found: TuneResult, target: Path, page: Path) -> None:
    keys = list(found.planned.settings)
    rows = [(*(one.settings[key] for key in keys), _percent(one)) for one in found.trials]
    tables.table((*keys, "accuracy"), rows)
    error = f"{100 * found.planned.standard_error:.1f} points"
    ahead = (
        f"the best {_percent(found.best)}"
        if found.best is not found.planned
        else "no other plan is better by more than that"
    )
    if found.clients is not None:
        tables.say(
            f"The runs had {found.clients:,} clients: without the held-out validation rows there"
            " are not enough rows for more. The written plan has all its clients."
        )
    tables.say(
        f"On validation rows: the plan {_percent(found.planned)}, with a standard error of {error};"
        f" {ahead}."
    )
    tables.say(
        "The choice used validation rows. Unless they are public or synthetic, this is a privacy"
        " loss that no epsilon covers; the plan (selected_by) and the privacy statement of its runs"
        " say so."
    )
    tables.line(f"plan:   {target}")
    tables.line(f"page:   {page}")


def _title(trial: Trial) -> str:
    return ", ".join(f"{key}={value}" for key, value in trial.settings.items())


def _percent(trial: Trial) -> str:
    return "failed" if trial.accuracy is None else f"{100 * trial.accuracy:.1f} %"
