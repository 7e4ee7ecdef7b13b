"""tacit server: start the server, which sees no rows, and admit or revoke sites by their keys."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli import tables
from tacit.cli.options import AsJson, LogJson
from tacit.errors import PlanError
from tacit.log_lines import LineLog, select_json

commands = typer.Typer(no_args_is_help=False, invoke_without_command=True, rich_markup_mode="rich")

Folder = Annotated[
    Path,
    typer.Option(
        "--folder", metavar="DIR", help="The server's folder with its keys, state and known sites."
    ),
]
FOLDER = Path("server")


@commands.callback()
def server(
    context: typer.Context,
    folder: Folder = FOLDER,
    host: Annotated[
        str,
        typer.Option("--host", help="Address to listen on; addresses beyond loopback require TLS."),
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="The port to listen on.")] = 8443,
    plain: Annotated[
        bool, typer.Option("--plain", help="Use no TLS; on a loopback address only.")
    ] = False,
    log_json: LogJson = False,
) -> None:
    """Run the server that sites join, until it is stopped.

    It passes signed messages between `tacit deploy` and the sites, and
    never receives rows. It creates missing certificates (`tacit certs`).

    \b
    Examples:
      tacit server
      tacit server --host 0.0.0.0 --port 8443
      tacit server admit hospital-a hospital-a.pub
      tacit server sites
    """
    if context.invoked_subcommand is not None:
        return
    from tacit.deployment.transport.certificates import AUTHORITY
    from tacit.deployment.transport.superlink.process import SuperLinkSettings, serve

    select_json(log_json)
    if not plain:
        make_certificates(folder, [host])
    kind = "without TLS" if plain else f"with TLS; sites need {folder / AUTHORITY}"
    LineLog("server")(f"listens on {host}:{port}, {kind}; stop it with Ctrl-C")
    serve(SuperLinkSettings(folder, host, port, not plain))


@commands.command()
def admit(
    name: Annotated[
        str,
        typer.Argument(help="The site's name, as its owner chose it in `tacit site init`."),
    ],
    key: Annotated[Path, typer.Argument(help="The site's public key, a .pub file from its owner.")],
    folder: Folder = FOLDER,
) -> None:
    """Admit a site. The server must be running."""
    from tacit.deployment.transport.server.registry import register

    if not key.is_file():
        raise PlanError(
            f"{key} is not a file; give the public key (.pub) that `tacit site init` made for site"
            f" {name}"
        )
    register(folder, name, key.read_bytes())
    tables.line(f"site {name} is admitted")


@commands.command()
def revoke(
    name: Annotated[str, typer.Argument(help="The site's name.")], folder: Folder = FOLDER
) -> None:
    """Revoke the admission of a site. The server must be running."""
    from tacit.deployment.transport.server.registry import unregister

    unregister(folder, name)
    tables.line(f"site {name} is revoked")


@commands.command()
def sites(folder: Folder = FOLDER, as_json: AsJson = False) -> None:
    """List the admitted sites."""
    from tacit.deployment.transport.server.registry import read_sites

    found = read_sites(folder)
    if as_json:
        tables.print_json({name: facts["public_key"] for name, facts in found.items()})
        return
    for name, facts in found.items():
        tables.line(f"{name}  {facts['public_key'][:60]}…")
    if not found:
        tables.line(
            "no site is admitted yet; admit one with `tacit server admit NAME KEY.pub`", stderr=True
        )


def certs(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The server's folder.")] = FOLDER,
    host: Annotated[
        list[str] | None,
        typer.Option("--host", help="A host name or address of the server; may be repeated."),
    ] = None,
) -> None:
    """Create the server's certificate, valid for 90 days, and its authority if there is none.

    Sites verify the server by the authority's certificate, ca.crt, which is
    public. Only their owner can read private keys. Run it again before the
    90 days end; sites need no change.

    \b
    Examples:
      tacit certs server --host tacit.example.org --host 10.0.0.5
    """
    from tacit.deployment.transport.certificates import AUTHORITY, make_server_certificate

    make_certificates(folder, host or [])
    make_server_certificate(folder, host or [])
    tables.line(f"{folder}: certificate created; give {folder / AUTHORITY} to every site")


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
