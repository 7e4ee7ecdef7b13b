"""tacit server invite, admit, revoke, restore: who may take part, by files that people carry and
fingerprints that they compare.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli import tables
from tacit.cli.options import SERVER, FolderOption
from tacit.errors import PeerError, PlanError

INVITATION = ".invite"
"""Suffix of an invitation."""

SiteNameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The site's name.")]
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
        list[str], typer.Argument(metavar="NAME…", help="Names for the sites, one or more.")
    ],
    folder: FolderOption = SERVER,
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
    """Invite sites: write one file for each, to send to its owner.

    The file holds the server's address, its authority's certificate, the
    site's name and a token that admits the site once. Mail is good enough:
    read the fingerprint to the owner by phone, so that nobody can replace
    the file.

    \b
    Examples:
      tacit server invite hospital-a hospital-b
      tacit server invite hospital-a --address tacit.example.org:8443
    """
    from tacit.deployment.provisioning.admission import describe_fingerprint, load_identity
    from tacit.deployment.provisioning.admission import invite as make_invitation
    from tacit.deployment.provisioning.signed_files import encode_file
    from tacit.deployment.transport.server.endpoint import read_endpoint
    from tacit.files import replace_file

    reached = address or _find_address(folder)
    for name in names:
        made = make_invitation(folder, name, reached, days)
        out.mkdir(parents=True, exist_ok=True)
        path = out / f"{name}{INVITATION}"
        replace_file(path, encode_file(made))
        tables.line(f"{path}: send it to the owner of {name}; it is valid for {days} days")
    identity = load_identity(folder, tls=read_endpoint(folder).tls)
    tables.line(describe_fingerprint("this server, to read to each owner", identity.fingerprint))


def _find_address(folder: Path) -> str:
    """The address for sites: the first host of the certificate, and the port of the server."""
    from tacit.deployment.transport.address import join_address, split_address
    from tacit.deployment.transport.certificates import list_hosts, read_server_certificate
    from tacit.deployment.transport.server.endpoint import read_endpoint

    endpoint = read_endpoint(folder)
    hosts = list_hosts(read_server_certificate(folder)) if endpoint.tls else []
    address = join_address(hosts[0], endpoint.port) if hosts else endpoint.address
    split_address(address)
    return address


def admit(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The .request file from the site's owner.")
    ],
    folder: FolderOption = SERVER,
    fingerprint: Fingerprint = None,
) -> None:
    """Admit a site by its request, or replace its keys.

    The server must be running. The command shows the site's fingerprint. Ask
    its owner by phone for the same digits, which `tacit site init` and `tacit site peers` print there.

    \b
    Examples:
      tacit server admit hospital-a.request
    """
    from tacit.deployment.provisioning import admission

    request, found = admission.examine_request(folder, file)
    site = request.content.site
    require_same_fingerprint(f"site {site}", found, fingerprint)
    admission.admit(folder, request)
    tables.line(
        f"site {site} is admitted"
        + (" with its new keys; the old ones are revoked" if request.content.replaces else "")
    )


def revoke(name: SiteNameArgument, folder: FolderOption = SERVER) -> None:
    """Revoke the admission of a site; it is refused at once.

    \b
    Examples:
      tacit server revoke hospital-a
    """
    from tacit.deployment.transport.server.registry import revoke as revoke_site

    revoke_site(folder, name)
    tables.line(f"site {name} is revoked; `tacit server restore {name}` undoes it")


def restore(name: SiteNameArgument, folder: FolderOption = SERVER) -> None:
    """Admit a revoked site again, with the keys it had.

    \b
    Examples:
      tacit server restore hospital-a
    """
    from tacit.deployment.transport.server.registry import restore as restore_site

    restore_site(folder, name)
    tables.line(f"site {name} is admitted again")


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
