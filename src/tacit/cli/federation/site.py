"""tacit site: a data owner's machine. It joins a server, obeys its owner's policy, and keeps its
own ledger.
"""

from __future__ import annotations

import os
import shutil
import signal
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.cli import tables
from tacit.cli.options import AsJson

commands = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The site's folder.")]


@commands.command()
def init(
    folder: Folder,
    data: Annotated[
        str,
        typer.Option(
            "--data", help="Your rows: a file, or the name of a data set. They stay there."
        ),
    ],
    server: Annotated[
        str, typer.Option("--server", metavar="HOST:PORT", help="The server to join.")
    ],
    name: Annotated[
        str | None,
        typer.Option("--name", help="What your site is called; without it, the folder's name."),
    ] = None,
    authority: Annotated[
        Path | None,
        typer.Option(
            "--ca",
            metavar="FILE",
            help="The server's ca.crt; without it no TLS, on this machine only.",
        ),
    ] = None,
    policy: Annotated[
        Path | None,
        typer.Option("--policy", metavar="FILE", help="Your policy; without it, a careful one."),
    ] = None,
    client: Annotated[
        str | None,
        typer.Option(
            "--client",
            metavar="COLUMN",
            help="The column that names the person a row is about; each has a budget.",
        ),
    ] = None,
    one_client: Annotated[
        bool,
        typer.Option(
            "--one-client",
            help="In place of --client: all rows belong to one client, with one budget.",
        ),
    ] = False,
    quasi: Annotated[
        list[str] | None,
        typer.Option(
            "--quasi-identifier",
            metavar="COLUMN",
            help="A column that could help to point at a person; may be repeated.",
        ),
    ] = None,
    encoding: Annotated[
        str | None,
        typer.Option("--encoding", metavar="NAME", help="The file's encoding, such as cp1252."),
    ] = None,
    header: Annotated[
        bool | None,
        typer.Option("--header/--no-header", help="Whether its first line holds names."),
    ] = None,
) -> None:
    """Make a site: its folder, its keys, and a policy to edit.

    Nothing is sent. Give the .pub file to whoever runs the server, read
    policy.toml, and join with `tacit site join`. Every budget is kept per
    value of the client column; a plan that names another is refused.

    \b
    Examples:
      tacit site init hospital-a --data patients.csv --client patient --server
      tacit.example.org:8443 --ca ca.crt
      tacit site init phone --data notes.csv --one-client --server tacit.example.org:8443 --ca
      ca.crt
    """
    from tacit.deployment.site.site_folder import KEY, POLICY, SiteSettings, create_site
    from tacit.errors import DataError, PlanError
    from tacit.privacy.policy.starter import render_policy

    source = Path(data)
    if not source.exists() and source.suffix:
        raise DataError(
            f"site init(data={data!r}) needs a file that exists, or the name of a data set; check"
            " the path"
        )
    if bool(client) == one_client:
        raise PlanError(
            "site init: say whose privacy is protected: --client COLUMN, the column that names the"
            " person a row is about, or --one-client if all rows belong to one client"
        )
    settings = SiteSettings(
        name=name or folder.name,
        data=str(source.resolve()) if source.exists() else data,
        server=server,
        authority="ca.crt" if authority else None,
        client=client,
        one_client=one_client,
        quasi_identifiers=tuple(quasi or ()),
        encoding=encoding,
        header=header,
    )
    create_site(folder, settings)
    if authority:
        shutil.copyfile(authority, folder / "ca.crt")
    text = policy.read_text(encoding="utf-8") if policy else render_policy(POLICY, None)
    (folder / POLICY).write_text(text, encoding="utf-8")
    tables.line(f"{folder}: a site called {settings.name}")
    tables.line(
        f"  1. give {folder / (KEY + '.pub')} to whoever runs the server: tacit server admit"
        f" {settings.name} {KEY}.pub"
    )
    tables.line(
        f"  2. read and edit {folder / POLICY}: it says what may leave, and how much privacy may be"
        " spent"
    )
    tables.line(f"  3. tacit site join {folder}")


@commands.command()
def join(
    folder: Folder,
    with_parent: Annotated[
        bool, typer.Option("--with-parent", hidden=True, help="End when standard input is closed.")
    ] = False,
) -> None:
    """Join the server and answer what the policy allows, until stopped.

    What is refused is told here in full, and to the server in one word.

    \b
    Examples:
      tacit site join hospital-a
    """
    from tacit.deployment.site.owner_site import OwnerSite
    from tacit.deployment.site.site_folder import (
        JOINED,
        KEY,
        check_ready,
        find_joined_process,
        load_owner,
        read_site_settings,
    )
    from tacit.deployment.transport.flower_messages import MAX_MESSAGE_BYTES
    from tacit.deployment.transport.site.node import Node
    from tacit.deployment.transport.superlink.process import end_with_parent
    from tacit.errors import RunError

    settings, stop = read_site_settings(folder), threading.Event()

    def tell(sentence: str) -> None:
        tables.line(f"{settings.name}: {sentence}", stderr=True)

    check_ready(folder, tell)
    site = OwnerSite(load_owner(folder, tell))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    if with_parent:
        end_with_parent()
    node = Node(
        address=settings.server,
        root_certificate=folder / settings.authority if settings.authority else None,
        key=folder / KEY,
        folder=folder,
        max_bytes=MAX_MESSAGE_BYTES,
    )
    if find_joined_process(folder) is not None:
        raise RunError(
            f"{folder}: another process already acts for this site; `tacit site leave {folder}`"
            " stops it"
        )
    (folder / JOINED).write_text(str(os.getpid()))
    try:
        node.run(
            site.handle, stop, lambda state: tables.line(f"{settings.name}: {state}", stderr=True)
        )
    finally:
        (folder / JOINED).unlink(missing_ok=True)


@commands.command()
def leave(folder: Folder) -> None:
    """Stop the process that joined; what was paid stays in the ledger."""
    from tacit.deployment.site.site_folder import find_joined_process
    from tacit.errors import RunError

    number = find_joined_process(folder)
    if number is None:
        raise RunError(f"{folder}: no process of this site is running")
    os.kill(number, signal.SIGTERM)
    for _ in range(100):
        if find_joined_process(folder) is None:
            tables.line(f"{folder}: left")
            return
        time.sleep(0.1)
    raise RunError(f"{folder}: process {number} still runs; it may be at work, try again")


@commands.command()
def forget(
    folder: Folder,
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="A run that `tacit site status` lists as open.")
    ],
) -> None:
    """End a run at your site, if the server never did.

    The site answers nothing more for it, and deletes the key of its noise.
    What was charged stays in the ledger, and the run cannot be taken up.

    \b
    Examples:
      tacit site forget hospital-a newsgroups-3-1f2e3d4c
    """
    from tacit.deployment.site import participation
    from tacit.deployment.site.site_folder import load_owner

    participation.forget(load_owner(folder), run)
    tables.line(f"run {run}: ended here; its key is deleted, its charges stay")


@commands.command()
def status(folder: Folder, as_json: AsJson = False) -> None:
    """Say who the site is, whether it has joined, what its policy allows, what was spent, and which
    runs are open.
    """
    from tacit.deployment.site.participation import list_ended_runs, list_open_runs
    from tacit.deployment.site.site_folder import (
        LEDGER,
        find_joined_process,
        load_owner,
        load_signing_key,
        read_policy,
        read_site_settings,
    )
    from tacit.privacy.policy import SiteLedger

    settings, policy = read_site_settings(folder), read_policy(folder)
    facts: dict[str, object] = {
        "name": settings.name,
        "data": settings.data,
        "server": settings.server,
        "client": (
            settings.client or ("all rows are of one client" if settings.one_client else None)
        ),
        "quasi_identifiers": list(settings.quasi_identifiers),
        "joined": find_joined_process(folder) is not None,
        "policy": (
            None
            if policy is None
            else {"models": list(policy.allow.models), "codecs": list(policy.allow.codecs)}
        ),
        "epsilon_per_run": None if policy is None else policy.limits.max_epsilon_per_run,
        "max_epsilon_lifetime": None if policy is None else policy.limits.max_epsilon_lifetime,
        "load_signing_key": load_signing_key(folder).public_key().public_bytes_raw().hex(),
        "peers": sorted(settings.peers or {}),
    }
    told, gone = list[dict[str, Any]](), list[dict[str, Any]]()
    if policy is not None and (folder / LEDGER).exists():
        with closing(
            SiteLedger(folder / LEDGER, limits=policy.limits, delta=policy.limits.delta)
        ) as book:
            spent = [one.life.micro / 1e6 for one in book.totals()]
            told, gone = book.said("told"), book.said("disclosed")
        facts |= {
            "clients_charged": len(spent),
            "largest_epsilon_spent_for_life": max(spent, default=0.0),
        }
    owner = load_owner(folder)
    facts |= {"open_runs": list_open_runs(owner), "records_of_ended_runs": list_ended_runs(owner)}
    if as_json:
        tables.print_json({**facts, "told": told, "disclosed": gone})
        return
    for key, value in facts.items():
        nothing = key in ("policy", "client") and value is None
        tables.line(f"{key.replace('_', ' ')}: {'none: nothing is allowed' if nothing else value}")
    for sentence in (*map(_told, told), *map(_disclosed, gone)):
        tables.line(sentence)


def _told(entry: dict[str, Any]) -> str:
    """Return what a run was told of the rows, value by value."""
    told, seen = entry["told"], entry["told"]["seen"]
    parts = [
        f"{told['clients']:,} clients, {told['rows']:,} training rows, {told['test_rows']:,} test"
        " rows"
    ]
    parts.append(f"classes {', '.join(seen['classes'])}")
    parts += [
        f"categories of {name}: {', '.join(known)}" for name, known in seen["categories"].items()
    ]
    parts += [
        f"range of {name}: {low:g} to {high:g}" for name, (low, high) in seen["ranges"].items()
    ]
    return f"told in run {entry['run']}: {'; '.join(parts)}"


def _disclosed(entry: dict[str, Any]) -> str:
    """Return which rows a run was handed."""
    return (
        f"rows handed over in run {entry['run']}: {entry['rows']:,} of {entry['of_rows']:,} in full"
        f" ({', '.join(entry['columns'])}); over all runs {entry['rows_of_all_runs']:,} rows, of"
        f" which those of at least {entry['fewest_clients_alike']:,} clients cannot be told apart"
    )
