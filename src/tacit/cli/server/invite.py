"""tacit server invite, admit, revoke, restore: who may take part, by files that people carry and
fingerprints that they compare.
"""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from tacit.cli import tables
from tacit.cli.options import SERVER, FolderOption
from tacit.errors import PeerError, PlanError


class Role(Enum):
    """What a person may do at a server."""

    operator = "operator"
    coordinator = "coordinator"
    auditor = "auditor"


INVITATION = ".invite"
"""Suffix of an invitation."""

AdmittedName = Annotated[
    str, typer.Argument(metavar="NAME", help="The name of a site or a person.")
]
Fingerprint = Annotated[
    str | None,
    typer.Option(
        "--fingerprint",
        metavar="DIGITS",
        help="The fingerprint that the other side read to you; without it the command asks.",
    ),
]


def invite(
    names: Annotated[
        list[str], typer.Argument(metavar="NAME…", help="Names for sites or people, one or more.")
    ],
    folder: FolderOption = SERVER,
    role: Annotated[
        Role | None,
        typer.Option("--role", help="Invite people in this role instead of sites."),
    ] = None,
    address: Annotated[
        str | None,
        typer.Option(
            "--address",
            metavar="HOST:PORT",
            help="Where sites reach the server; by default the first host of its certificate.",
        ),
    ] = None,
    days: Annotated[
        int, typer.Option("--days", min=1, max=365, help="Days until the invitation ends.")
    ] = 14,
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="The folder for the invitations.")
    ] = Path(),
) -> None:
    """Invite sites, or people in a role: write one file for each, to send to them.

    The file holds the server's address, its authority's certificate, the
    name and a token that admits once. Mail is good enough: read the
    fingerprint to the other side by phone, so that nobody can replace the
    file. A coordinator runs plans from another machine, an operator admits
    sites and people, an auditor reads records.

    \b
    Examples:
      tacit server invite hospital-a hospital-b
      tacit server invite hospital-a --address tacit.example.org:8443
      tacit server invite ana --role coordinator
    """
    from tacit.deployment.access.administration import administer
    from tacit.deployment.provisioning.admission import describe_fingerprint
    from tacit.files import replace_file

    server = administer(folder)
    for name in names:
        made = server.invite(name, days, role.value if role else None, address)
        out.mkdir(parents=True, exist_ok=True)
        path = out / f"{name}{INVITATION}"
        replace_file(path, made.file.encode())
        receiver = f"{name}, who becomes {role.value}" if role else f"the owner of {name}"
        tables.line(f"{path}: send it to {receiver}; it is valid for {days} days")
    whom = "each of them" if role else "each owner"
    tables.line(describe_fingerprint(f"this server, to read to {whom}", made.fingerprint))


def admit(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The .request file of a site or a person.")
    ],
    folder: FolderOption = SERVER,
    fingerprint: Fingerprint = None,
) -> None:
    """Admit a site or a person by their request, or replace a site's keys.

    The server must be running. The command shows the fingerprint of the
    request. Ask its sender by phone for the same digits, which
    `tacit site init` or `tacit server connect` printed there.

    \b
    Examples:
      tacit server admit hospital-a.request
      tacit server admit ana.request
    """
    from tacit.deployment.access.administration import administer, examine_file

    server, found = administer(folder), examine_file(file)
    kind = server.examine(found)
    whose = found.whose if kind in ("site", "person") else f"{kind} {found.whose}"
    require_same_fingerprint(whose, found.fingerprint, fingerprint)
    server.admit(found)
    tables.line(
        f"{whose} is admitted"
        + (" with its new keys; the old ones are revoked" if found.replaces else "")
    )


def revoke(name: AdmittedName, folder: FolderOption = SERVER) -> None:
    """Revoke the admission of a site or a person. A running server refuses them at once.

    \b
    Examples:
      tacit server revoke hospital-a
    """
    from tacit.deployment.access.administration import administer

    administer(folder).change(name, is_admitted=False)
    tables.line(f"{name} is revoked; `tacit server restore {name}` undoes it")


def restore(name: AdmittedName, folder: FolderOption = SERVER) -> None:
    """Admit a revoked site or person again, with the keys they had.

    \b
    Examples:
      tacit server restore hospital-a
    """
    from tacit.deployment.access.administration import administer

    administer(folder).change(name, is_admitted=True)
    tables.line(f"{name} is admitted again")


def require_same_fingerprint(whose: str, found: str, heard: str | None) -> None:
    """Show a fingerprint and raise PeerError unless a person says that it is the right one: by the
    digits that they heard, or by a y on the terminal.
    """
    from tacit.deployment.provisioning.admission import describe_fingerprint
    from tacit.deployment.provisioning.fingerprint import parse_fingerprint

    tables.line(describe_fingerprint(whose, found))
    if heard is not None:
        if parse_fingerprint(heard) != found:
            raise PeerError(
                f"{whose}: its fingerprint is not the one you gave, so the file is not theirs or was"
                " replaced on its way; nothing was changed"
            )
        return
    try:
        is_same = typer.confirm("Does the other side read the same digits?", default=False)
    except typer.Abort:
        raise PlanError(
            f"{whose}: somebody must compare the fingerprint; type y, or give the digits with"
            " --fingerprint"
        ) from None
    if not is_same:
        raise PeerError(f"{whose}: the fingerprint was not confirmed; nothing was changed")
