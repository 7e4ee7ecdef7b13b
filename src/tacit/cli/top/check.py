"""tacit check: whether a plan can run, and its privacy guarantee."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli import tables
from tacit.cli.options import AsJson, Overrides, PlanFile

if TYPE_CHECKING:
    from tacit.plan import Corrupt, Plan

NoData = Annotated[bool, typer.Option("--no-data", help="Check the plan only; read no rows.")]


def check(
    plan: PlanFile, overrides: Overrides = None, no_data: NoData = False, as_json: AsJson = False
) -> None:
    """Check whether a plan can run, and state its privacy guarantee.

    If the rows are in a file on this machine, they are read to count
    clients. Nothing is trained or downloaded. If the plan cannot run, one
    message lists all problems, and the exit code is 2.

    \b
    Examples:
      tacit check plan.toml
      tacit check plan.toml --no-data
      tacit check plan.toml -o privacy.epsilon=2 --json
    """
    from tacit.plan import check_run, load

    loaded = load(plan, overrides)
    check_run(loaded, str(plan))
    summary = {**outline(loaded), **_read_rows(loaded, no_data=no_data)}
    if as_json:
        tables.print_json("check/1", {"plan": str(plan), "ok": True, "summary": summary})
        return
    tables.line(f"{plan}: ok")
    for what, text in summary.items():
        tables.say(f"  {what + ':':11}{text}")


def _read_rows(plan: Plan, *, no_data: bool) -> dict[str, str]:
    """Describe the plan's file, with a warning if clients are few; DataError if no run can start."""
    from tacit.plan.tables.rows.data import is_file
    from tacit.simulation.advice.client_count import is_at_hand, require_room
    from tacit.simulation.advice.enough_people import (
        describe_expected_accuracy,
        describe_few_people,
    )

    if no_data:
        return {"rows": "not read (--no-data)"}
    if plan.statistics is not None:
        return {"rows": "not read: a run reads them"}
    if not is_at_hand(plan):
        found = "the file is not on this machine" if is_file(plan.data) else "a run reads them"
        return {"rows": f"not read: {found}"}
    counted = require_room(plan)
    few, expected = describe_few_people(plan, counted), describe_expected_accuracy(plan, counted)
    return {
        "rows": counted.table.source,
        **({"expected": expected} if expected else {}),
        **({"warning": few} if few else {}),
    }


def outline(plan: Plan) -> dict[str, str]:
    """Describe what a plan would do, table by table, and its privacy guarantee."""
    from tacit.assembly.planned_privacy import (
        describe_helpers,
        describe_planned_privacy,
        describe_planned_votes,
    )
    from tacit.plan import dump
    from tacit.plan.presets.text_rule import describe_text_choice
    from tacit.privacy.statement.prose_rows import (
        describe_made_up_owners,
        describe_planned_disclosure,
        describe_planned_public,
    )
    from tacit.report.pages.cards import list_method_facts

    if plan.statistics is not None:
        return _outline_queries(plan)
    data, server = plan.data, plan.server
    clients = "one client per owner" if data.partition == "client" else f"{data.clients:,} clients"
    facts: dict[str, Any] = dict(list_method_facts(dump(plan)))
    owners = describe_made_up_owners(
        dump(plan), promises=plan.codec.name not in ("plain", "hashcomb")
    )
    return {
        **({"owners": owners} if owners else {}),
        "data": f"{data.source}, {clients}, split {facts['Split']}",
        **({"text": reading} if (reading := describe_text_choice(plan)) else {}),
        "model": facts["Model"],
        "local": facts["Local training"],
        "codec": facts["Codec"],
        "server": f"{server.rounds} rounds, {facts['Server']}",
        "baselines": ", ".join(plan.baselines) or "none",
        **({"sum": describe_helpers(plan.secure_aggregation)} if plan.secure_aggregation else {}),
        **({"disclosed": describe_planned_disclosure(plan.data.share)} if plan.data.share else {}),
        **({"public": describe_planned_public(plan.public)} if plan.public else {}),
        **({"corrupted": _describe_corruption(plan.corrupt)} if plan.corrupt else {}),
        **({"filter": describe_planned_votes(plan, plan.filter)} if plan.filter else {}),
        "privacy": describe_planned_privacy(plan),
    }


def _outline_queries(plan: Plan) -> dict[str, str]:
    """Describe the queries of a plan, with the noise of each, and the privacy guarantee."""
    from tacit.assembly.planned_privacy import describe_helpers, describe_planned_privacy
    from tacit.assembly.queries.answers import describe_planned_noise

    data = plan.data
    clients = "one client per owner" if data.partition == "client" else f"{data.clients:,} clients"
    return {
        "data": f"{data.source}, {clients}",
        **describe_planned_noise(plan),
        **({"sum": describe_helpers(plan.secure_aggregation)} if plan.secure_aggregation else {}),
        "privacy": describe_planned_privacy(plan),
    }


def _describe_corruption(corrupt: Corrupt) -> str:
    when = f" from round {corrupt.from_round} on" if corrupt.from_round > 1 else ""
    return (
        f"{100 * corrupt.clients:g} % of the clients are corrupted on purpose{when}"
        f" ({corrupt.kind})"
    )
