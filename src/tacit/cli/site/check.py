"""tacit site check: compare a site's rows with a plan, on the site's machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli import tables
from tacit.cli.exit_codes import Missed
from tacit.cli.options import AsJson, Overrides, PlanFile, SiteFolder

if TYPE_CHECKING:
    from tacit.deployment.site.rows.check_rows import RowMisfit, RowsCheck
    from tacit.plan import Plan

_SHOWN = 20

RowNumbers = Annotated[
    bool, typer.Option("--row-numbers", help="Also print the numbers of the rows that do not fit.")
]


def check(
    folder: SiteFolder,
    plan: PlanFile,
    overrides: Overrides = None,
    row_numbers: RowNumbers = False,
    as_json: AsJson = False,
) -> None:
    """Check your rows against a plan: which columns and cells do not fit.

    It counts, for each column, the rows that do not fit the plan's [schema],
    and finds missing and unread columns, rows without a client, clients
    written in several ways, encodings and decimal marks. Nothing is sent,
    and no cell is printed. Exit code 1 if something does not fit.

    \b
    Examples:
      tacit site check hospital-a plan.toml
      tacit site check hospital-a plan.toml --row-numbers
      tacit site check hospital-a plan.toml --json
    """
    from tacit.deployment.site.rows.check_rows import check_own_rows
    from tacit.deployment.site.site_folder import load_owner, read_policy
    from tacit.plan import load
    from tacit.privacy.policy import Limits

    job, policy = load(plan, overrides), read_policy(folder)
    found = check_own_rows(job, load_owner(folder), policy.limits if policy else Limits())
    if as_json:
        tables.print_json("site-check/1", _as_json(folder, plan, job, found, rows=row_numbers))
    else:
        _print(folder, job, found, rows=row_numbers)
    if not found.fits:
        count = sum(one.is_problem for one in found.found)
        raise Missed(
            f"{folder}: {'1 misfit' if count == 1 else f'{count} misfits'} between the rows and"
            f" {plan}"
        )


def _print(folder: Path, job: Plan, found: RowsCheck, *, rows: bool) -> None:
    from tacit.deployment.site.rows.check_rows import describe_column
    from tacit.plan import hash_schema

    tables.line(f"{folder}: {found.rows:,} rows; nothing was sent")
    if job.schema is not None:
        tables.line(f"schema: {hash_schema(job.schema)} (allow.schemas in policy.toml accepts it)")
        for name, column in job.schema.columns.items():
            tables.say(f"  {name}: {describe_column(column)}")
    for one in found.found:
        tables.say(f"{'misfit' if one.is_problem else 'note'}: {one.sentence}")
        if rows and one.rows:
            more = f" and {len(one.rows) - _SHOWN:,} more" if len(one.rows) > _SHOWN else ""
            tables.line(f"  rows {', '.join(map(str, one.rows[:_SHOWN]))}{more}")
    tables.say(
        f"A run of this plan would be refused here: {found.refusal}"
        if found.refusal
        else "A run of this plan would not be refused for these rows."
    )


def _as_json(
    folder: Path, plan: Path, job: Plan, found: RowsCheck, *, rows: bool
) -> dict[str, Any]:
    from tacit.plan import hash_schema

    return {
        "site": str(folder),
        "plan": str(plan),
        "rows": found.rows,
        "schema_hash": hash_schema(job.schema) if job.schema else None,
        "fits": found.fits,
        "refusal": found.refusal,
        "findings": [_finding(one, rows=rows) for one in found.found],
    }


def _finding(one: RowMisfit, *, rows: bool) -> dict[str, Any]:
    said = {
        "column": one.column,
        "sentence": one.sentence,
        "rows": len(one.rows),
        "problem": one.is_problem,
    }
    return {**said, "row_numbers": list(one.rows)} if rows else said
