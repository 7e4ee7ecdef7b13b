"""tacit server: the machine in the middle, which sees no rows. Sites are let in by their keys."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli import tables
from tacit.cli.options import AsJson
from tacit.errors import PlanError

commands = typer.Typer(no_args_is_help=False, invoke_without_command=True, rich_markup_mode="rich")

Folder = Annotated[
    Path,
    typer.Option(
        "--folder", metavar="DIR", help="Where the server keeps its keys, state and known sites."
    ),
]
FOLDER = Path("server")


@commands.callback()
def server(
    context: typer.Context,
    folder: Folder = FOLDER,
    host: Annotated[
        str, typer.Option("--host", help="Where to listen; any other address needs TLS.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="The port to listen on.")] = 8443,
    plain: Annotated[
        bool, typer.Option("--plain", help="Without TLS, on this machine's own address only.")
    ] = False,
) -> None:
    """Start the server that sites join, until it is stopped.

    It passes letters between `tacit deploy` and the sites; no row ever
    reaches it. Certificates that are missing are made (`tacit certs`).

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

    if not plain:
        make_certificates(folder, [host])
    kind = "without TLS" if plain else f"with TLS; sites need {folder / AUTHORITY}"
    tables.line(f"server on {host}:{port}, {kind}; stop it with Ctrl-C", stderr=True)
    serve(SuperLinkSettings(folder, host, port, not plain))


@commands.command()
def admit(
    name: Annotated[
        str,
        typer.Argument(help="What the site is called; its owner chose it in `tacit site init`."),
    ],
    key: Annotated[Path, typer.Argument(help="The site's public key, a .pub file its owner sent.")],
    folder: Folder = FOLDER,
) -> None:
    """Let a site in. The server must be running."""
    from tacit.deployment.transport.server.registry import register

    if not key.is_file():
        raise PlanError(
            f"server admit {name} needs the public key that `tacit site init` made, got {key},"
            " which is no file"
        )
    register(folder, name, key.read_bytes())
    tables.line(f"site {name} may join")


@commands.command()
def dismiss(
    name: Annotated[str, typer.Argument(help="The site's name.")], folder: Folder = FOLDER
) -> None:
    """Let a site in no longer. The server must be running."""
    from tacit.deployment.transport.server.registry import unregister

    unregister(folder, name)
    tables.line(f"site {name} may not join any more")


@commands.command()
def sites(folder: Folder = FOLDER, as_json: AsJson = False) -> None:
    """List the sites that may join."""
    from tacit.deployment.transport.server.registry import read_sites

    found = read_sites(folder)
    if as_json:
        tables.print_json({name: facts["public_key"] for name, facts in found.items()})
        return
    for name, facts in found.items():
        tables.line(f"{name}  {facts['public_key'][:60]}…")
    if not found:
        tables.line(
            "no site was let in yet; `tacit server admit NAME KEY.pub` does that", stderr=True
        )


def certs(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The server's folder.")] = FOLDER,
    host: Annotated[
        list[str] | None,
        typer.Option("--host", help="A name or address sites use; may be repeated."),
    ] = None,
) -> None:
    """Make the server's certificate, valid for 90 days, and its authority if there is none.

    Sites know the server by the authority's certificate, ca.crt, which is
    public. Private keys are readable by their owner only. Run it again
    before the 90 days end: sites notice nothing.

    \b
    Examples:
      tacit certs server --host tacit.example.org --host 10.0.0.5
    """
    from tacit.deployment.transport.certificates import AUTHORITY, make_server_certificate

    make_certificates(folder, host or [])
    make_server_certificate(folder, host or [])
    tables.line(f"{folder}: certificate made; give {folder / AUTHORITY} to every site")


def make_certificates(folder: Path, hosts: list[str]) -> None:
    """Make what is missing of a server's authority and certificate."""
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
