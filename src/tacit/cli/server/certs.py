"""tacit server certs: the certificate of a server, and its renewal."""

from __future__ import annotations

from typing import Annotated

import typer

from tacit.cli import tables
from tacit.cli.options import SERVER, ReachedServer, ServerFolder


def create(
    folder: ServerFolder = SERVER,
    name: Annotated[
        list[str] | None,
        typer.Option(
            "--name",
            metavar="HOST",
            help="A host name or address by which sites reach the server; may be repeated.",
        ),
    ] = None,
) -> None:
    """Create the server's certificate, valid for 90 days, and its authority if there is none.

    Sites verify the server by the authority's certificate, which their
    invitations hold. Only their owner can read private keys. The first host
    is the one that invitations name.

    \b
    Examples:
      tacit server certs create --name tacit.example.org --name 10.0.0.5
    """
    from tacit.deployment.transport.certificates import (
        AUTHORITY,
        make_authority,
        make_server_certificate,
    )

    if not (folder / AUTHORITY).exists():
        make_authority(folder)
    make_server_certificate(folder, name or [])
    tables.line(f"{folder}: certificate created; invite sites with `tacit server invite NAME`")


def renew(
    folder: ReachedServer = SERVER,
    now: Annotated[
        bool, typer.Option("--now", help="Renew also if the certificate is valid for long.")
    ] = False,
    own: Annotated[
        bool, typer.Option("--own", help="Renew your own certificate, in your folder of access.")
    ] = False,
) -> None:
    """Renew the server's certificate for the same hosts once it is valid for less than 30 days.

    A timer may run it every day. A running server uses the new certificate
    for new connections, without a restart. Sites need no change. With --own
    a person's certificate is renewed, at any time while it is valid.

    \b
    Examples:
      tacit server certs renew
      tacit server certs renew ana --own
    """
    from tacit.deployment.access.administration import administer
    from tacit.deployment.access.server_access import renew_certificate

    if own:
        tables.line(f"{folder}: your certificate is renewed, until {renew_certificate(folder)}")
        return
    found = administer(folder).renew(at_once=now)
    hosts = ", ".join(found.hosts) or "this machine only"
    tables.line(
        f"{folder}: certificate {'renewed' if found.is_new else 'kept'}; it is valid until"
        f" {found.ends} for {hosts}"
    )
