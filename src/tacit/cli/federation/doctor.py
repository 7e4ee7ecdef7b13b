"""tacit doctor: check the machine of a server or a site, and suggest remedies."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.cli import tables
from tacit.cli.exit_codes import Missed
from tacit.cli.options import AsJson

if TYPE_CHECKING:
    from tacit.deployment.doctor import Finding


def doctor(
    server: Annotated[
        Path | None, typer.Option("--server", metavar="DIR", help="A server's folder.")
    ] = None,
    site: Annotated[
        Path | None, typer.Option("--site", metavar="DIR", help="A site's folder.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check a server or a site, and suggest a remedy for each problem.

    It checks versions, disk, clock, certificates, port, permissions of
    secret files, policy, rows, ledger, and which sites are online. It
    changes nothing. Exit code 1 if there is a problem; warnings do not count.

    \b
    Examples:
      tacit doctor --server server
      tacit doctor --site hospital-a
      tacit doctor --site hospital-a --json
    """
    from tacit.deployment.doctor import diagnose_machine, diagnose_server, diagnose_site

    found = [("machine", one) for one in diagnose_machine()]
    found += [("server", one) for one in diagnose_server(server)] if server else []
    found += [("site", one) for one in diagnose_site(site)] if site else []
    if as_json:
        tables.print_json({"findings": [{"of": of, **asdict(one)} for of, one in found]})
    else:
        tables.table(
            ("of", "check", "", "result", "remedy"),
            [_row(of, one) for of, one in found],
            prose=range(5),
        )
    problems = sum(one.state == "problem" for _, one in found)
    if problems:
        raise Missed(f"doctor: {'1 problem' if problems == 1 else f'{problems} problems'}")


def _row(of: str, one: Finding) -> tuple[str, ...]:
    return of, one.subject, one.state, one.detail, one.remedy
