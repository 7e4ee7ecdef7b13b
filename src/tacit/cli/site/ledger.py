"""tacit site ledger: show, verify and export the privacy ledger of a site."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli import tables
from tacit.cli.options import AsJson, Limit, Yes
from tacit.errors import LedgerError

if TYPE_CHECKING:
    from tacit.privacy.policy import ClientSpending, LedgerEntry, PrivacyUnit, SiteLedger
    from tacit.privacy.site_ledger.erasures import ClientAccount


File = Annotated[
    Path,
    typer.Argument(
        metavar="FILE", help="The ledger of a site, or the site's folder.", show_default=False
    ),
]


def show(
    file: File,
    limit: Limit = 10,
    client: Annotated[
        str | None,
        typer.Option(
            "--client-id",
            metavar="ID",
            help="Show one client, by its id in the site's file, run by run.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the privacy loss charged to each client, largest first.

    Clients appear under pseudonyms that only their site can compute, so
    --client-id needs the ledger in the folder of its site. Exit code 1 if
    neither the ledger nor the file of rows has that client.
    Exit code 6 if the last entry is damaged; `tacit site ledger verify` checks all entries.

    \b
    Examples:
      tacit site ledger show ledger.db
      tacit site ledger show ledger.db --limit 50
      tacit site ledger show hospital-a --client-id p0042
      tacit site ledger show ledger.db --json
    """
    from tacit.privacy.site_ledger.contents import summarise_contents
    from tacit.privacy.site_ledger.spending import format_micro

    file = find_ledger(file)
    book = open_ledger(file)
    if client is not None:
        _show_client(file, book, client, as_json)
        return
    charged = sorted(book.totals(), key=lambda one: (-one.life.micro, one.person))
    facts = summarise_contents(book)
    if as_json:
        clients = [_client_to_json(one) for one in charged]
        tables.print_json("ledger/1", {"ledger": str(file), **facts, "clients": clients})
        return
    if facts["losses_accepted"]:
        tables.say(
            f"{file}: its owner accepted the loss of entries {_count_times(facts['losses_accepted'])};"
            " charges in lost entries are not counted."
        )
    if facts["restores"]:
        tables.say(
            f"{file}: it was restored from a backup {_count_times(facts['restores'])}; charges"
            " between backup and restore, if any, are not counted."
        )
    tables.say(
        f"{file}: {facts['entries']:,} entries, {len(charged):,} clients,"
        f" {facts['exchanges']:,} exchanges charged ({facts['unanswered']:,} of them without a"
        f" response; charges stay), {facts['rows_disclosed']:,} rows disclosed."
    )
    for one in facts["decisions"]:
        reason = f": {one['reason']}" if one["reason"] else ""
        tables.say(f"Run {one['run']}: {one['verdict']} on {one['day']} by {one['by']}{reason}.")
    rows = [
        (
            one.person.hex(),
            str(len(one.runs)),
            format_micro(max(run.micro for run in one.runs.values())),
            format_micro(one.life.micro),
            f"{one.life.delta:.2g}",
            "yes" if one.life.bare else "no",
        )
        for one in charged[:limit]
    ]
    tables.table(
        (
            "client",
            "runs",
            "epsilon, largest run",
            "epsilon, all runs",
            "delta, all runs",
            "also messages without epsilon",
        ),
        rows,
    )
    if len(charged) > limit:
        tables.say(
            f"{len(charged) - limit:,} more clients were charged at most as much as the last one;"
            " --limit N shows them."
        )


def _show_client(file: Path, book: SiteLedger, given: str, as_json: bool) -> None:
    """Show what one client was charged, by run."""
    from tacit.cli.exit_codes import Missed
    from tacit.deployment.upkeep.find_client import describe_unknown, find_client
    from tacit.privacy.site_ledger.spending import format_micro

    owner, client = find_client(file.parent, given)
    account = book.account(client.pseudonym)
    facts = describe_account(client.pseudonym, owner.unit, account)
    if as_json:
        tables.print_json(
            "ledger-client/1", {"ledger": str(file), "rows_in_file": client.rows, **facts}
        )
    if unknown := describe_unknown(client, account):
        raise Missed(f"{file}: {unknown}")
    if as_json:
        return
    known = "unknown" if client.rows is None else f"{client.rows:,}"
    tables.say(
        f"{file}: client {facts['client']}. Rows in your file: {known}. Rows disclosed:"
        f" {account.released_rows:,}. Erased: {account.erased_on or 'no'}."
    )
    total = facts["micro_epsilon"], facts["delta"], facts["bare"]
    rows = [
        (run, str(one.charges), one.cost.micro, one.cost.delta, one.cost.bare)
        for run, one in account.runs.items()
    ]
    rows.append(("all runs", str(sum(one.charges for one in account.runs.values())), *total))
    tables.table(
        ("run", "charges", "epsilon per client", "delta", "also messages without epsilon"),
        [
            (run, charges, format_micro(micro), f"{delta:.2g}", "yes" if bare else "no")
            for run, charges, micro, delta, bare in rows
        ],
    )


def describe_account(pseudonym: bytes, unit: PrivacyUnit, account: ClientAccount) -> dict[str, Any]:
    """What the ledger knows about one client, as JSON values; epsilons are per client, in
    millionths.
    """
    from tacit.privacy.policy import ClientSpending

    costs = {run: one.cost for run, one in account.runs.items()}
    facts = _client_to_json(ClientSpending(person=pseudonym, runs=costs))
    for run, one in account.runs.items():
        facts["runs"][run]["charges"] = one.charges
    return {
        **facts,
        "unit": str(unit),
        "rows_disclosed": account.released_rows,
        "erased_on": account.erased_on,
    }


def verify(file: File, as_json: AsJson = False) -> None:
    """Check every entry and recompute every total.

    If an entry is damaged, the first one is named, and the exit code is 6.

    \b
    Examples:
      tacit site ledger verify hospital-a
      tacit site ledger verify ledger.db --json
    """
    file = find_ledger(file)
    book = open_ledger(file)
    book.verify()
    counter, head = book.receipt()
    if as_json:
        tables.print_json(
            "ledger-verification/1",
            {"ledger": str(file), "ok": True, "entries": counter, "head": head.hex()},
        )
    else:
        tables.line(f"{file}: ok, {counter:,} entries, the last has hash {head.hex()}")


def export(file: File) -> None:
    """Print every entry as one JSON object per line, and verify the hash chain.

    A long list of clients is a line of its own, before the first entry that
    refers to it by its hash.

    \b
    Examples:
      tacit site ledger export ledger.db > entries.jsonl
    """
    from tacit.privacy.site_ledger.cohorts import list_cohorts

    book, shown = open_ledger(find_ledger(file)), set[str]()
    for entry in book.entries():
        for name in list_cohorts(entry.body):
            if name not in shown:
                tables.line(json.dumps({"cohort": name, "persons": book.read_cohort(name).hex()}))
            shown.add(name)
        tables.line(json.dumps(_entry_to_json(entry)))


def accept_loss(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="The folder of a site.", show_default=False)
    ],
    yes: Yes = False,
) -> None:
    """Continue after a site's ledger was lost or an older copy was restored.

    It explains the consequences and asks for the site's name. The loss
    becomes an entry of the ledger, and open runs end. If a newer copy of
    the ledger exists on any disk or backup, restore that one instead.

    \b
    Examples:
      tacit site ledger accept-loss hospital-a
    """
    from tacit.deployment.site.site_folder import read_site_settings
    from tacit.deployment.site_ledger.lost_ledger import accept_loss, find_loss

    loss, name = find_loss(folder), read_site_settings(folder).name
    tables.say(f"{folder}: {loss}.")
    tables.say(
        "Consequences: charges in the lost entries no longer count, so clients can be charged beyond"
        " max_epsilon_lifetime. Rows disclosed earlier are no longer known, so a later disclosure"
        " may be linked with them. Erasures in the lost entries must be repeated. First lower the"
        " limits in policy.toml by the amount that may have been spent."
    )
    if not yes and typer.prompt("Type the site's name to continue", err=True) != name:
        raise LedgerError(f"{folder}: that is not the site's name; nothing was changed")
    ended = accept_loss(folder, loss)
    tables.line(
        f"{folder}: the loss is recorded in the ledger; runs ended: {', '.join(ended) or 'none'}"
    )


def _count_times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def find_ledger(given: Path) -> Path:
    """The file of a ledger, given itself or the folder of its site."""
    from tacit.cli.folders import find_in_site
    from tacit.deployment.site.site_folder import LEDGER

    return find_in_site(given, LEDGER)


def open_ledger(file: Path) -> SiteLedger:
    """Open an existing ledger for reading."""
    from tacit.privacy.policy import Limits, SiteLedger

    if not file.is_file():
        raise LedgerError(f"{file} is not a file; give the path of a site's ledger, or its folder")
    # Nothing is charged here, so limits and delta do not matter.
    return SiteLedger(file, limits=Limits(), delta=1e-5)


def _client_to_json(one: ClientSpending) -> dict[str, Any]:
    runs = {
        name: {"micro_epsilon": run.micro, "delta": run.delta, "bare": run.bare}
        for name, run in one.runs.items()
    }
    life = one.life
    return {
        "client": one.person.hex(),
        "micro_epsilon": life.micro,
        "delta": life.delta,
        "bare": life.bare,
        "runs": runs,
    }


def _entry_to_json(entry: LedgerEntry) -> dict[str, Any]:
    return {**entry.body, "hash": entry.hash.hex()}
