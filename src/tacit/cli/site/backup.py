"""tacit site backup and restore: one private file that holds a site without its rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli import tables
from tacit.cli.options import AsJson, SiteFolder, Yes
from tacit.errors import RunError


def backup(
    folder: SiteFolder,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The backup to write.")],
    as_json: AsJson = False,
) -> None:
    """Write a backup of a site into one file; the site may be running.

    It holds keys, policy, settings, the ledger at one moment, models and
    private parameters of clients. It holds no rows and no noise keys. It is
    not encrypted: only you can read it (mode 600). Keep it on an encrypted
    disk.

    \b
    Examples:
      tacit site backup hospital-a hospital-a-2026-11-16.tar
    """
    from tacit.deployment.upkeep.backup import back_up

    facts = back_up(folder, file)
    entries, head = facts.receipt.counter, facts.receipt.head.hex()
    if as_json:
        tables.print_json(
            "backup/1", {"backup": str(file), "made": facts.made, "entries": entries, "head": head}
        )
        return
    tables.line(f"{file}: a backup of {facts.site}; its ledger has {entries:,} entries")
    tables.say(
        "The file is not encrypted and holds secret keys; only you can read it (mode 600). Your rows"
        " are not in it. Back up again after each run: a site does not respond with an older ledger."
    )


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A backup of a site.")],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new folder for the site.")],
    yes: Yes = False,
) -> None:
    """Restore a site from a backup. Budgets are not reset.

    If this machine has seen a newer ledger of the site, the site sends no
    response until you put the newest ledger in place or accept the loss
    (`tacit site ledger accept-loss`). Runs that were under way have ended.

    \b
    Examples:
      tacit site restore hospital-a-2026-11-16.tar hospital-a
    """
    from tacit.deployment.upkeep.restore import read_backup
    from tacit.deployment.upkeep.restore import restore as restore_site

    found = read_backup(file)
    facts = found.facts
    tables.say(
        f"{file}: site {facts.site}, made {facts.made}, {facts.receipt.counter:,} entries in its"
        " ledger. Charges and erasures after that time are not in it. If the site sent anything"
        " since, restore a newer backup. Stop any other copy of this site first."
    )
    if not yes and typer.prompt("Type the site's name to continue", err=True) != facts.site:
        raise RunError(f"{folder}: that is not the site's name; nothing was restored")
    age = restore_site(found, folder)
    ended = ", ".join(facts.open_runs) or "none"
    tables.line(f"{folder}: restored; runs that ended with it: {ended}")
    if age == "older":
        tables.say(
            "This machine has seen a newer ledger of the site, so the site sends no response. Put the"
            f" newest ledger.sqlite into {folder}. If it is lost, `tacit site ledger accept-loss {folder}`"
            " says what you give up."
        )
    if age == "unknown":
        tables.say(
            "This machine has not seen the site's ledger before, so it cannot tell whether the backup"
            " is the newest. The ledger says for good that it was restored."
        )
