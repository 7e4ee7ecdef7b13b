"""tacit tune: a short search for better settings on validation rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.cli import tables
from tacit.cli.exit_codes import Missed, Stopped
from tacit.cli.jobs.sweep import AtOnce, Bar, at_once_or_cores
from tacit.cli.options import RUNS, AsJson, Overrides, PlanFile, Quiet, Runs

if TYPE_CHECKING:
    from tacit.plan import Plan
    from tacit.runs.sweep import Outcome
    from tacit.runs.tune import Trial, Tuned

To = Annotated[
    Path | None,
    typer.Option(
        "--to", metavar="FILE", help="Where to write the better plan; PLAN-tuned.toml if left out."
    ),
]
Page = Annotated[Path, typer.Option("--page", metavar="FILE", help="Where to draw the picture.")]


def tune(
    plan: PlanFile,
    overrides: Overrides = None,
    to: To = None,
    page: Page = Path("tune.html"),
    runs: Runs = RUNS,
    at_once: AtOnce = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Search for better rates, clip, buckets and rounds, on validation rows.

    Many short runs, then fewer longer ones: together less than ten times the
    rounds of one. Test rows are not looked at. The plan that is written is
    never worse on validation rows than the plan itself. Where the rows that
    are left have no room for all clients, the runs have fewer, and it is said.
    A run that fails is named, and the exit code is 1. A stopped search goes
    on where it was: give the same command. Use public or simulated rows:
    looking at real clients' validation rows is a release of its own.

    \b
    Examples:
      tacit tune plan.toml
      tacit tune plan.toml --to better.toml --page search.html --json
    """
    from tacit.runs.sweep import carry_out
    from tacit.runs.tune import tune as search

    def run(plans: list[Plan], titles: list[str]) -> list[Outcome]:
        watch = Bar(titles, [one.server.rounds for one in plans], quiet)
        with watch:
            return carry_out(plans, runs, at_once_or_cores(at_once), watch)

    try:
        found = search(plan, overrides or [], run)
    except KeyboardInterrupt:
        raise Stopped("stopped; the same command goes on with what is missing") from None
    target = to or plan.with_name(f"{plan.stem}-tuned.toml")
    target.write_text(found.text, encoding="utf-8")
    _page(found, plan.stem, page)
    if as_json:
        tables.print_json(
            {
                "planned": _as_json(found.planned),
                "best": _as_json(found.best),
                "clients_of_trials": found.clients,
                "failed": [{"settings": one.settings, "error": one.error} for one in found.failed],
                "plan": str(target),
                "page": str(page),
            }
        )
    else:
        _print(found, target, page)
    if found.failed:
        head = f"{len(found.failed)} of {len(found.trials)} runs failed; the others were compared"
        raise Missed("\n".join([head, *(f"  {_title(one)}: {one.error}" for one in found.failed)]))


def _page(found: Tuned, name: str, page: Path) -> None:
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


def _as_json(trial: Trial) -> dict[str, object]:
    return {"settings": trial.settings, "validation_accuracy": trial.accuracy}


def _print(found: Tuned, target: Path, page: Path) -> None:
    keys = list(found.planned.settings)
    rows = [(*(one.settings[key] for key in keys), _percent(one)) for one in found.trials]
    tables.table((*keys, "accuracy"), rows)
    error = f"{100 * found.planned.standard_error:.1f} points"
    ahead = (
        f"the best {_percent(found.best)}"
        if found.best is not found.planned
        else "nothing is ahead of it by more"
    )
    if found.clients is not None:
        tables.say(
            f"The runs had {found.clients:,} clients: the rows that are left when validation rows"
            " are held out have no room for more. The plan that was written has all its clients."
        )
    tables.say(
        f"On validation rows: the plan {_percent(found.planned)}, with a standard error of {error};"
        f" {ahead}."
    )
    tables.say(
        "The choice looked at validation rows, which costs privacy that no epsilon covers, unless"
        " they are public or made up; the plan says so (selected_by), and so does the statement of"
        " its runs."
    )
    tables.line(f"plan:   {target}")
    tables.line(f"page:   {page}")


def _title(trial: Trial) -> str:
    return ", ".join(f"{key}={value}" for key, value in trial.settings.items())


def _percent(trial: Trial) -> str:
    return "failed" if trial.accuracy is None else f"{100 * trial.accuracy:.1f} %"
