"""tacit check: whether a plan can run, and what it would promise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli import tables
from tacit.cli.options import AsJson, Overrides, PlanFile

if TYPE_CHECKING:
    from tacit.plan import Corrupt, Filter, Plan, SecureAggregation

NoData = Annotated[bool, typer.Option("--no-data", help="Read no rows: check the plan alone.")]


def check(
    plan: PlanFile, overrides: Overrides = None, no_data: NoData = False, as_json: AsJson = False
) -> None:
    """Say whether a plan can run, and what it would promise.

    If the rows are in a file on this machine, they are read to count the
    clients there can be; nothing is trained, and nothing is downloaded.
    A plan that cannot run gets one message that lists all that is wrong,
    and exit code 2.

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
        tables.print_json({"plan": str(plan), "ok": True, "summary": summary})
        return
    tables.line(f"{plan}: ok")
    for what, text in summary.items():
        tables.say(f"  {what + ':':11}{text}")


def _read_rows(plan: Plan, *, no_data: bool) -> dict[str, str]:
    """What the plan's file holds, and whether its clients are too few; raise DataError if a run
    could not begin on it.
    """
    from tacit.simulation.advice.client_count import is_at_hand, require_room
    from tacit.simulation.advice.enough_people import describe_few_people

    if no_data:
        return {"rows": "not read (--no-data)"}
    if not is_at_hand(plan):
        return {"rows": "not read: no file of that name is here"}
    counted = require_room(plan)
    few = describe_few_people(plan, counted)
    return {"rows": counted.table.source, **({"warning": few} if few else {})}


def outline(plan: Plan) -> dict[str, str]:
    """Return what a plan would do, room by room, and what it would promise."""
    from tacit.plan import dump
    from tacit.privacy.statement.prose_rows import (
        describe_made_up_owners,
        describe_planned_disclosure,
        describe_planned_public,
    )
    from tacit.report.pages.cards import list_method_facts

    data, server = plan.data, plan.server
    clients = "each owner a client" if data.partition == "client" else f"{data.clients:,} clients"
    facts: dict[str, Any] = dict(list_method_facts(dump(plan)))
    owners = describe_made_up_owners(
        dump(plan), promises=plan.codec.name not in ("plain", "hashcomb")
    )
    return {
        **({"owners": owners} if owners else {}),
        "data": f"{data.source}, {clients}, split {facts['Split']}",
        "model": facts["Model"],
        "local": facts["Local training"],
        "codec": facts["Codec"],
        "server": f"{server.rounds} rounds, {facts['Server']}",
        "baselines": ", ".join(plan.baselines) or "none",
        **({"sum": _secure(plan.secure_aggregation)} if plan.secure_aggregation else {}),
        **({"disclosed": describe_planned_disclosure(plan.data.share)} if plan.data.share else {}),
        **({"public": describe_planned_public(plan.public)} if plan.public else {}),
        **({"corrupted": _experiment(plan.corrupt)} if plan.corrupt else {}),
        **({"filter": _votes(plan, plan.filter)} if plan.filter else {}),
        "privacy": _promise(plan),
    }


def _secure(settings: SecureAggregation) -> str:
    """Return who adds up, and under which condition nobody sees a single update."""
    helpers = "a helper" if settings.helpers == 1 else f"{settings.helpers} helpers"
    all_helpers = "its helper" if settings.helpers == 1 else "all its helpers"
    return (
        f"server and {helpers} add up together, for at least {settings.min_clients:,} clients;"
        f" nobody sees a single update unless the server and {all_helpers} work together"
    )


def _experiment(corrupt: Corrupt) -> str:
    when = f" from round {corrupt.from_round} on" if corrupt.from_round > 1 else ""
    return (
        f"{100 * corrupt.clients:g} % of the clients are corrupted on purpose{when}"
        f" ({corrupt.kind})"
    )


def _votes(plan: Plan, settings: Filter) -> str:
    """Return what a round's last layers and votes would cost, each by itself."""
    from tacit.privacy.statement.parts import state_planned_parts
    from tacit.protocol.round_claims import list_filter_claims

    cohort = plan.server.cohort_size or plan.data.clients
    return state_planned_parts(
        list_filter_claims(settings, cohort, plan.helpers),
        plan.server.rounds,
        plan.delta,
        settings.aggregate,
    )


def _promise(plan: Plan) -> str:
    from tacit import codecs
    from tacit.plan import OwnCodec
    from tacit.privacy.statement import prose, prose_rows

    if plan.regime != "federated":
        return (
            prose.KEPT
            if plan.regime == "local_only"
            else prose_rows.describe_planned_pool(plan.features)
        )
    if plan.filter and plan.filter.aggregate == "heads":
        return prose.ONLY_HEADS
    if isinstance(plan.codec, OwnCodec):
        return (
            "not known: the plan names a codec of its own, and `tacit check` runs no code that a"
            " plan names; a run checks its settings before it reads data, and states its privacy"
        )
    extent = codecs.Extent.of(plan, plan.data.clients)
    made = codecs.build(plan.codec, extent)
    return prose.write_planned(
        lambda size: made.claims(size, extent.cohort), extent.rounds, plan.delta
    )
