"""tacit ask: answer queries about rows with differential privacy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.cli.options import RUNS, AsJson, NoReport, Overrides, PolicyFile, Quiet, Runs
from tacit.cli.top.run import carry_out
from tacit.errors import PlanError

if TYPE_CHECKING:
    from tacit.plan import Plan

Asked = Annotated[
    list[str],
    typer.Argument(
        metavar="PLAN | QUERY…",
        help="A plan with queries, or with --from one or more queries.",
        show_default=False,
    ),
]
Table = Annotated[
    Path | None,
    typer.Option(
        "--from", metavar="TABLE", help="Your own table, such as my.csv.", show_default=False
    ),
]
Client = Annotated[
    str | None,
    typer.Option(
        "--client",
        metavar="COLUMN",
        help="With --from: the column that identifies the client (person) of each row; without it each row is a client.",
        show_default=False,
    ),
]
Epsilon = Annotated[
    float | None,
    typer.Option(
        "--epsilon",
        metavar="X",
        min=1e-3,
        max=50,
        show_default=False,
        help="With --from: epsilon per client and run, for all queries together; 8 by default.",
    ),
]
Delta = Annotated[
    float | None,
    typer.Option(
        "--delta", metavar="X", show_default=False, help="With --from: delta; 1e-5 by default."
    ),
]
RowsPerPerson = Annotated[
    int | None,
    typer.Option(
        "--rows-per-person",
        metavar="N",
        min=1,
        show_default=False,
        help="With --from: maximum number of rows of a client that count; 1 by default.",
    ),
]


def ask(
    asked: Asked,
    table: Table = None,
    client: Client = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rows_per_person: RowsPerPerson = None,
    overrides: Overrides = None,
    runs: Runs = RUNS,
    as_json: AsJson = False,
    quiet: Quiet = False,
    no_report: NoReport = False,
    policy: PolicyFile = None,
) -> None:
    """Answer queries about rows with noise, in a simulation on this machine.

    Counts, sums, means, histograms, quantiles, frequent values and words,
    distinct counts and correlations, each with a confidence interval. All
    queries of a run share one epsilon per client. Between sites, the same
    plan runs with `tacit deploy run`.

    \b
    Examples:
      tacit ask --from visits.csv --client patient "count people" "mean of age from 0 to 120"
      tacit ask --from visits.csv --client patient "count by ward" --epsilon 1    (per run)
      tacit ask plan.toml
      tacit ask plan.toml --json > answers.json
    """
    from tacit import simulation
    from tacit.cli.site.policy import check_policy

    given = {
        "--client": client,
        "--epsilon": epsilon,
        "--delta": delta,
        "--rows-per-person": rows_per_person,
    }
    if table is None:
        named = next((option for option, value in given.items() if value is not None), None)
        if named:
            raise PlanError(f"{named} requires --from TABLE; a plan states it in its tables")
        plan = _load_plan(asked, overrides)
    else:
        settings = {"rows_per_person": rows_per_person}
        privacy = {"epsilon": epsilon, "delta": delta}
        plan = _build_plan(asked, table, client, privacy, settings)
        plan = plan.with_settings(*overrides) if overrides else plan
    if policy:
        check_policy(plan, policy)
    carry_out(
        lambda observer: simulation.start(plan, root=runs, observer=observer),
        as_json=as_json,
        quiet=quiet,
        page=not no_report,
    )


def _load_plan(asked: list[str], overrides: list[str] | None) -> Plan:
    from tacit.plan import load

    if len(asked) > 1:
        raise PlanError("tacit ask takes one plan; queries about a table need --from TABLE")
    plan = load(Path(asked[0]), overrides)
    if plan.statistics is None:
        raise PlanError(
            f"{asked[0]}: has no [statistics] table with queries; `tacit run` trains its model"
        )
    return plan


def _build_plan(
    asked: list[str],
    table: Path,
    client: str | None,
    privacy: dict[str, float | None],
    settings: dict[str, int | None],
) -> Plan:
    from tacit.plan.presets.asked import build_asked_plan
    from tacit.simulation.advice.asked_table import read_asked_table

    return build_asked_plan(
        asked, read_asked_table(table, client), privacy=privacy, settings=settings
    )
