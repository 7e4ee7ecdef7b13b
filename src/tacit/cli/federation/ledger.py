"""tacit ledger: what a site's clients have paid, whether its ledger is whole, and all of its
entries.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli import tables
from tacit.cli.options import AsJson
from tacit.errors import LedgerError

if TYPE_CHECKING:
    from tacit.privacy.policy import ClientSpending, LedgerEntry, SiteLedger

commands = typer.Typer(
    no_args_is_help=True,
    help="The ledger of a site: what its clients have paid, and whether it is whole.",
)

File = Annotated[
    Path, typer.Argument(metavar="FILE", help="The ledger of a site.", show_default=False)
]
Most = Annotated[
    int, typer.Option("--most", metavar="N", min=1, help="Show the N clients that have paid most.")
]


@commands.command()
def show(file: File, most: Most = 10, as_json: AsJson = False) -> None:
    """Show what clients have paid, those that paid most first.

    Clients are known by pseudonyms that only their site can make.
    Exit code 6 if the last entry is damaged; `verify` looks at all of them.

    \b
    Examples:
      tacit ledger show ledger.db
      tacit ledger show ledger.db --most 50
      tacit ledger show ledger.db --json
    """
    from tacit.privacy.site_ledger.spending import format_micro

    book = opened(file)
    paid = sorted(book.totals(), key=lambda one: (-one.life.micro, one.person))
    facts = _facts(book)
    if as_json:
        tables.print_json({"ledger": str(file), **facts, "clients": [_object(one) for one in paid]})
        return
    if facts["losses_accepted"]:
        tables.say(
            f"{file}: {facts['losses_accepted']:,} times its owner went on after a loss; what"
            " clients spent then is not in it."
        )
    tables.say(
        f"{file}: {facts['entries']:,} entries, {len(paid):,} clients, {facts['exchanges']:,}"
        f" exchanges paid for, {facts['unanswered']:,} of them without an answer, which stay paid;"
        f" {facts['rows_disclosed']:,} rows left."
    )
    rows = [
        (
            one.person.hex(),
            str(len(one.runs)),
            format_micro(max(run.micro for run in one.runs.values())),
            format_micro(one.life.micro),
            f"{one.life.delta:.2g}",
            "yes" if one.life.bare else "no",
        )
        for one in paid[:most]
    ]
    tables.table(
        (
            "client",
            "runs",
            "epsilon, dearest run",
            "epsilon, all runs",
            "delta, all runs",
            "also without epsilon",
        ),
        rows,
    )
    if len(paid) > most:
        tables.say(
            f"{len(paid) - most:,} more clients have paid no more than the last one; --most N shows"
            " them."
        )


@commands.command()
def verify(file: File, as_json: AsJson = False) -> None:
    """Check every entry and reckon every tally again; exit code 6 names the first entry that is
    damaged.

    \b
    Examples:
      tacit ledger verify ledger.db
      tacit ledger verify ledger.db --json
    """
    book = opened(file)
    book.verify()
    counter, head = book.receipt()
    if as_json:
        tables.print_json({"ledger": str(file), "ok": True, "entries": counter, "head": head.hex()})
    else:
        tables.line(f"{file}: ok, {counter:,} entries, the last is {head.hex()}")


@commands.command()
def export(file: File) -> None:
    """Print every entry, one JSON object per line, each checked against the one before.

    \b
    Examples:
      tacit ledger export ledger.db > entries.jsonl
    """
    for entry in opened(file).entries():
        tables.line(json.dumps(_exported(entry)))


@commands.command()
def accept_loss(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="The folder of a site.", show_default=False)
    ],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
) -> None:
    """Go on after a site's ledger was lost, or an older copy was put back.

    Says what you give up and asks for the site's name. The loss becomes an
    entry of the ledger, and open runs are ended. If the newest ledger is on
    any disk or in any backup, put that one back instead.

    \b
    Examples:
      tacit ledger accept-loss hospital-a
    """
    from tacit.deployment.site.site_folder import read_site_settings
    from tacit.deployment.site_ledger.lost_ledger import accept_loss, find_loss

    loss, name = find_loss(folder), read_site_settings(folder).name
    tables.say(f"{folder}: {loss}.")
    tables.say(
        "What you give up: what clients spent in the lost entries is forgotten, so they can be"
        " charged for it again, beyond max_epsilon_lifetime; rows that left are no longer known,"
        " so a"
        " later release can be compared with them. Lower the limits in policy.toml first, by what"
        " may have been spent."
    )
    if not yes and typer.prompt("Type the site's name to go on", err=True) != name:
        raise LedgerError(f"{folder}: nothing was changed, since that is not the site's name")
    ended = accept_loss(folder, loss)
    tables.line(
        f"{folder}: the loss is written into the ledger; runs ended: {', '.join(ended) or 'none'}"
    )


def opened(file: Path) -> SiteLedger:
    """Return a ledger that is there."""
    from tacit.privacy.policy import Limits, SiteLedger

    if not file.is_file():
        raise LedgerError(f"{file}: is no file; give the ledger of a site")
    return SiteLedger(
        file, limits=Limits(), delta=1e-5
    )  # nothing is charged here, so neither matters


def _facts(book: SiteLedger) -> dict[str, Any]:
    entries = list(book.entries())
    kinds = [entry.kind for entry in entries]
    counter, head = book.receipt()
    paid, gone = (
        kinds.count("reserved"),
        [entry.body["rows_of_all_runs"] for entry in entries if entry.kind == "disclosed"],
    )
    unanswered = paid - kinds.count("stored")
    rows = gone[-1] if gone else 0
    return {
        "entries": counter,
        "head": head.hex(),
        "exchanges": paid,
        "unanswered": unanswered,
        "rows_disclosed": rows,
        "losses_accepted": kinds.count("loss accepted"),
    }


def _object(one: ClientSpending) -> dict[str, Any]:
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


def _exported(entry: LedgerEntry) -> dict[str, Any]:
    return {**entry.body, "hash": entry.hash.hex()}
