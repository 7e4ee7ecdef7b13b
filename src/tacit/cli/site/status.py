"""tacit site status: a site, its budget, and each of its runs."""

from __future__ import annotations

from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli import tables
from tacit.cli.options import AsJson, SiteFolder
from tacit.errors import RunError

if TYPE_CHECKING:
    from tacit.deployment.site.site_folder import SiteSettings
    from tacit.deployment.upkeep.holdings import SiteHoldings
    from tacit.deployment.upkeep.run_status import RunStatus
    from tacit.privacy.policy import Policy


def status(
    folder: SiteFolder,
    run: Annotated[
        str | None, typer.Argument(metavar="[RUN]", help="Show one run in full.")
    ] = None,
    count: Annotated[
        bool,
        typer.Option("--count", help="Also read your file, and count rows, clients and columns."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show a site's connection, policy, spent privacy budget and runs.

    For each run: what was asked, what left the site (responses, bytes, rows,
    epsilon per client), what the site refused and why, and the last contact.

    \b
    Examples:
      tacit site status hospital-a
      tacit site status hospital-a --count
      tacit site status hospital-a readmissions-1 --json
    """
    from tacit.deployment.site.site_folder import load_owner, read_policy, read_site_settings
    from tacit.deployment.site.stored_runs import list_ended_runs, list_open_runs
    from tacit.deployment.upkeep.holdings import count_holdings
    from tacit.deployment.upkeep.run_status import summarise_runs

    if run is not None:
        _show_run(folder, run, as_json=as_json)
        return
    policy = read_policy(folder)
    facts = _describe_site(folder, read_site_settings(folder), policy)
    spending, statistics, disclosed = _read_ledger(folder, policy)
    facts |= spending
    owner = load_owner(folder)
    facts |= {"open_runs": list_open_runs(owner), "records_of_ended_runs": list_ended_runs(owner)}
    runs = summarise_runs(owner)
    held = count_holdings(owner, policy) if count else None
    if as_json:
        each = [one.to_json() for one in runs.values()]
        tables.print_json(
            "site-status/1",
            {
                **facts,
                "told": statistics,
                "disclosed": disclosed,
                "runs": each,
                "holdings": None if held is None else asdict(held),
            },
        )
        return
    for what, text in _format_site(folder, facts):
        tables.line(f"{what + ':':{_LABEL}}{text}")
    for sentence in (*map(_describe_statistics, statistics), *map(_describe_disclosed, disclosed)):
        tables.line(sentence)
    if held is not None:
        _print_holdings(held)
    if runs:
        tables.table(_HEADINGS, [_format_run(one) for one in runs.values()])


def _print_holdings(held: SiteHoldings) -> None:
    clients = "unknown" if held.clients is None else f"{held.clients:,}"
    counts = {"rows held": f"{held.rows:,}", "clients held": clients}
    for what, text in counts.items():
        tables.line(f"{what + ':':{_LABEL}}{text}")
    rows = [
        (
            one.name,
            f"{one.filled:,}",
            f"{one.distinct:,}",
            ", ".join(one.roles) or "nothing",
            "yes" if one.identifies else "no",
        )
        for one in held.columns
    ]
    tables.table(
        ("column", "filled cells", "different values", "a plan may use it as", "identifies"),
        rows,
        prose=(0, 3),
    )


_LABEL = 33
"""Width of the column of labels."""


def _format_site(folder: Path, facts: dict[str, Any]) -> list[tuple[str, str]]:
    """A site's facts as lines of a page: label and text."""
    from tacit.deployment.site.site_folder import POLICY

    allowed = facts["policy"]
    nothing = f"nothing: there is no {POLICY}; `tacit site policy init` writes one"
    lines = [
        ("site", facts["name"]),
        ("rows", facts["data"]),
        ("server", facts["server"]),
        (
            "joined",
            "yes, a process of this site runs"
            if facts["joined"]
            else f"no; `tacit site join {folder}` joins",
        ),
        ("client", facts["client"] or "none: site.toml names no client column"),
        ("quasi-identifiers", _join(facts["quasi_identifiers"])),
        ("models allowed", nothing if allowed is None else _join(allowed["models"])),
        ("codecs allowed", nothing if allowed is None else _join(allowed["codecs"])),
    ]
    if allowed is not None:
        lines += [
            ("epsilon per run", _format_limit(facts["epsilon_per_run"])),
            ("max epsilon lifetime", _format_limit(facts["max_epsilon_lifetime"])),
        ]
    if "clients_charged" in facts:
        lines += [
            ("clients charged", f"{facts['clients_charged']:,}"),
            ("largest epsilon spent for life", f"{facts['largest_epsilon_spent_for_life']:g}"),
        ]
    if "least_epsilon_left_for_life" in facts:
        lines.append(("least epsilon left for life", f"{facts['least_epsilon_left_for_life']:g}"))
    ended = [
        (f"record of {run}", ", ".join(f"{key} {value}" for key, value in record.items()))
        for run, record in facts["records_of_ended_runs"].items()
    ]
    return [
        *lines,
        ("peers", _join(facts["peers"])),
        ("signing key", facts["signing_key"]),
        ("open runs", _join(facts["open_runs"])),
        *ended,
    ]


def _join(names: list[str]) -> str:
    return ", ".join(names) or "none"


def _format_limit(limit: float | None) -> str:
    return "no limit" if limit is None else f"at most {limit:g} per client"


_HEADINGS = (
    "run",
    "state",
    "responses",
    "bytes",
    "rows",
    "clients charged",
    "epsilon per client",
    "refused",
    "last contact",
)


def _format_run(one: RunStatus) -> tuple[str, ...]:
    refused = sum(refusal["times"] for refusal in one.refusals)
    epsilon = f"{one.epsilon:g}" + (", and messages without" if one.no_epsilon else "")
    figures = (one.responses, one.bytes, one.rows, one.clients)
    counts = tuple(f"{count:,}" for count in figures)
    return one.run, one.state, *counts, epsilon, f"{refused:,}", one.last_contact or "unknown"


def _show_run(folder: Path, run: str, *, as_json: bool) -> None:
    """Show one run at a site: exchanges, and refusals with their reasons."""
    from tacit.deployment.site.site_folder import load_owner
    from tacit.deployment.upkeep.run_status import summarise_runs

    found = summarise_runs(load_owner(folder)).get(run)
    if found is None:
        raise RunError(f"{folder}: no run {run!r}; `tacit site status {folder}` lists the runs")
    if as_json:
        tables.print_json("site-run/1", found.to_json())
        return
    tables.table(_HEADINGS, [_format_run(found)])
    asked = ", ".join(f"{count:,} {kind}" for kind, count in found.requests.items())
    tables.say(
        f"Requests: {asked or 'unknown'}. First contact: {found.first_contact or 'unknown'}."
    )
    if found.statistics is not None:
        tables.line(_describe_statistics({"run": run, "told": found.statistics}))
    rows = [
        (
            f"{one.round_no:,}",
            one.exchange,
            f"{one.clients:,}",
            "no response" if one.bytes is None else f"{one.bytes:,}",
            "; ".join(f"{count:,}: {why}" for why, count in one.left_out.items()) or "none",
        )
        for one in found.exchanges
    ]
    tables.table(("round", "exchange", "clients", "bytes", "clients left out"), rows, prose=(1, 4))
    for one in found.refusals:
        tables.say(
            f"Refused {one['times']:,} times, last {one['last']} in round {one['round']:,}:"
            f" {one['kind']} ({one['status']}): {' '.join(one['why'].split())}"
        )


def _describe_site(
    folder: Path, settings: SiteSettings, policy: Policy | None
) -> dict[str, object]:
    from tacit.deployment.site.site_folder import find_joined_process, load_signing_key

    return {
        "name": settings.name,
        "data": settings.data,
        "server": settings.server,
        "client": (
            settings.client or ("all rows belong to one client" if settings.one_client else None)
        ),
        "quasi_identifiers": list(settings.quasi_identifiers),
        "joined": find_joined_process(folder) is not None,
        "policy": (
            None
            if policy is None
            else {"models": list(policy.allow.models), "codecs": list(policy.allow.codecs)}
        ),
        "epsilon_per_run": None if policy is None else policy.limits.max_epsilon_per_run,
        "max_epsilon_lifetime": None if policy is None else policy.limits.max_epsilon_lifetime,
        "signing_key": load_signing_key(folder).public_key().public_bytes_raw().hex(),
        "peers": sorted(settings.peers or {}),
    }


Entries = list[dict[str, Any]]


def _read_ledger(folder: Path, policy: Policy | None) -> tuple[dict[str, object], Entries, Entries]:
    """Spending of the site's clients, statistics that runs received, and disclosed rows."""
    from tacit.deployment.site.site_folder import LEDGER
    from tacit.privacy.policy import SiteLedger

    if policy is None or not (folder / LEDGER).exists():
        return {}, [], []
    ledger = SiteLedger(folder / LEDGER, limits=policy.limits, delta=policy.limits.delta)
    with closing(ledger) as book:
        spent = [one.life.micro / 1e6 for one in book.totals()]
        statistics, disclosed = book.list_entries("told"), book.list_entries("disclosed")
    largest, allowed = max(spent, default=0.0), policy.limits.max_epsilon_lifetime
    spending: dict[str, object] = {
        "clients_charged": len(spent),
        "largest_epsilon_spent_for_life": largest,
    }
    if allowed is not None:
        spending["least_epsilon_left_for_life"] = round(allowed - largest, 6)
    return spending, statistics, disclosed


def _describe_statistics(entry: dict[str, Any]) -> str:
    """The statistics of the rows that a run received, value by value."""
    told, seen = entry["told"], entry["told"]["seen"]
    parts = [
        f"{told['clients']:,} clients, {told['rows']:,} training rows, {told['test_rows']:,} test"
        " rows"
    ]
    parts += [f"classes {', '.join(seen['classes'])}"] if seen["classes"] else []
    parts += [
        f"categories of {name}: {', '.join(known)}" for name, known in seen["categories"].items()
    ]
    parts += [
        f"range of {name}: {low:g} to {high:g}" for name, (low, high) in seen["ranges"].items()
    ]
    return f"statistics sent in run {entry['run']}: {'; '.join(parts)}"


def _describe_disclosed(entry: dict[str, Any]) -> str:
    """The rows that a run received."""
    return (
        f"rows disclosed in run {entry['run']}: {entry['rows']:,} of {entry['of_rows']:,} in full"
        f" ({', '.join(entry['columns'])}); in all runs {entry['rows_of_all_runs']:,} rows, in"
        f" equivalence classes of at least {entry['fewest_clients_alike']:,} clients"
    )
