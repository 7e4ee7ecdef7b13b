"""tacit check: whether a plan can run, and its privacy guarantee."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli import tables
from tacit.cli.options import AsJson, Overrides, PlanFile

if TYPE_CHECKING:
    from tacit.plan import Corrupt, Filter, Plan, SecureAggregation
    from tacit.privacy.claim import Claim

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
    from tacit.simulation.advice.client_count import is_at_hand, require_room
    from tacit.simulation.advice.enough_people import describe_few_people

    if no_data:
        return {"rows": "not read (--no-data)"}
    if not is_at_hand(plan):
        return {"rows": "not read: the file is not on this machine"}
    counted = require_room(plan)
    few = describe_few_people(plan, counted)
    return {"rows": counted.table.source, **({"warning": few} if few else {})}


def outline(plan: Plan) -> dict[str, str]:
    """Describe what a plan would do, table by table, and its privacy guarantee."""
    from tacit.plan import dump
    from tacit.privacy.statement.prose_rows import (
        describe_made_up_owners,
        describe_planned_disclosure,
        describe_planned_public,
    )
    from tacit.report.pages.cards import list_method_facts

    data, server = plan.data, plan.server
    clients = "one client per owner" if data.partition == "client" else f"{data.clients:,} clients"
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
        **({"sum": _describe_helpers(plan.secure_aggregation)} if plan.secure_aggregation else {}),
        **({"disclosed": describe_planned_disclosure(plan.data.share)} if plan.data.share else {}),
        **({"public": describe_planned_public(plan.public)} if plan.public else {}),
        **({"corrupted": _describe_corruption(plan.corrupt)} if plan.corrupt else {}),
        **({"filter": _describe_votes(plan, plan.filter)} if plan.filter else {}),
        "privacy": _describe_privacy(plan),
    }


def _describe_helpers(settings: SecureAggregation) -> str:
    """Which parties compute the sum, and when no party sees a single update."""
    helpers = "a helper" if settings.helpers == 1 else f"{settings.helpers} helpers"
    all_helpers = "its helper" if settings.helpers == 1 else "all its helpers"
    return (
        f"secure aggregation by the server and {helpers}, over at least {settings.min_clients:,}"
        f" clients; no party sees a single update unless the server and {all_helpers} collude"
    )


def _describe_corruption(corrupt: Corrupt) -> str:
    when = f" from round {corrupt.from_round} on" if corrupt.from_round > 1 else ""
    return (
        f"{100 * corrupt.clients:g} % of the clients are corrupted on purpose{when}"
        f" ({corrupt.kind})"
    )


def _describe_votes(plan: Plan, settings: Filter) -> str:
    """Privacy loss of a round's last layers and of its votes, separately."""
    from tacit.privacy.statement.parts import state_planned_parts
    from tacit.protocol.round_claims import list_filter_claims

    cohort = plan.server.cohort_size or plan.data.clients
    return state_planned_parts(
        list_filter_claims(settings, cohort, plan.helpers),
        settings.count_votes(plan.server.rounds),
        plan.delta,
        settings.aggregate,
    )


def _describe_privacy(plan: Plan) -> str:
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
            "not known: the plan names a user-defined codec, and `tacit check` runs no code named"
            " by a plan; a run checks its settings before it reads data and states its privacy"
        )
    extent = codecs.Extent.of(plan, plan.data.clients)
    made, at_site = codecs.build(plan.codec, extent), plan.server.sum_at == "site"

    def list_claims(size: int) -> tuple[Claim, ...]:
        claims = made.claims(size, extent.cohort)
        return tuple(claim.add_at_site() for claim in claims) if at_site else claims

    return prose.write_planned(list_claims, extent.rounds, plan.delta)
