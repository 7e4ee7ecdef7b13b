"""tacit server start and sites: start the server, which sees no rows, and list its sites."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli import tables
from tacit.cli.options import SERVER, AsJson, LogJson, ReachedServer, ServerFolder
from tacit.log_lines import LineLog, select_json


def start(
    folder: ServerFolder = SERVER,
    host: Annotated[
        str,
        typer.Option("--host", help="Address to listen on; addresses beyond loopback require TLS."),
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="The port to listen on.")] = 8443,
    name: Annotated[
        list[str] | None,
        typer.Option(
            "--name",
            metavar="HOST",
            help="A host name or address by which sites reach the server; may be repeated.",
        ),
    ] = None,
    plain: Annotated[
        bool, typer.Option("--plain", help="Use no TLS; on a loopback address only.")
    ] = False,
    log_json: LogJson = False,
) -> None:
    """Run the server that sites join, until it is stopped.

    It passes signed messages between `tacit deploy run` and the sites, and
    never receives rows. At the first start it creates a certificate for the
    given names; `tacit server certs create` makes another one.

    \b
    Examples:
      tacit server start
      tacit server start --host 0.0.0.0 --port 8443 --name tacit.example.org
    """
    from tacit.deployment.transport.superlink.process import SuperLinkSettings, serve

    select_json(log_json)
    if not plain:
        make_certificates(folder, [*(name or []), host])
    kind = "without TLS" if plain else "with TLS"
    log, sentence = LineLog("server"), f"listens on {host}:{port}, {kind}; stop it with Ctrl-C"
    settings = SuperLinkSettings(folder, host, port, not plain)
    serve(settings, log, on_listening=lambda: log(sentence))


def sites(folder: ReachedServer = SERVER, as_json: AsJson = False) -> None:
    """List the admitted and the revoked sites with their fingerprints.

    \b
    Examples:
      tacit server sites
      tacit server sites --json
    """
    from tacit.deployment.access.administration import administer
    from tacit.deployment.provisioning.fingerprint import format_fingerprint

    found = {
        name: {"fingerprint": one.fingerprint, "revoked": one.revoked}
        for name, one in administer(folder).list_sites().items()
    }
    if as_json:
        tables.print_json(
            "sites/1", {"sites": [{"name": name, **shown} for name, shown in found.items()]}
        )
        return
    for name, shown in found.items():
        revoked = f", revoked on {shown['revoked']}" if shown["revoked"] else ""
        tables.line(f"{name}{revoked}\n  {format_fingerprint(shown['fingerprint'] or '')}")
    if not found:
        tables.line(
            "no site is admitted yet; invite one with `tacit server invite NAME`", stderr=True
        )


def make_certificates(folder: Path, hosts: list[str]) -> None:
    """Create the server's authority and certificate where they are missing."""
    from tacit.deployment.transport.certificates import (
        AUTHORITY,
        SERVER_CERTIFICATE,
        make_authority,
        make_server_certificate,
    )

    if not (folder / AUTHORITY).exists():
        make_authority(folder)
    if not (folder / SERVER_CERTIFICATE).exists():
        make_server_certificate(folder, [host for host in hosts if host not in ("0.0.0.0", "::")])
