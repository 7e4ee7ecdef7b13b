"""tacit site: a data owner's machine. It joins a server, enforces its owner's policy, and keeps its
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
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli import tables
from tacit.cli.options import AsJson
from tacit.errors import DataError, PlanError, RunError

if TYPE_CHECKING:
    from tacit.deployment.site.site_folder import SiteSettings
    from tacit.privacy.policy import Policy

commands = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Set up a data owner's machine, join a server, and see what was sent and spent.",
)

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The site's folder.")]
Source = Annotated[
    str,
    typer.Option("--data", help="Your rows: a file, or the name of a data set. They stay there."),
]
Server = Annotated[str, typer.Option("--server", metavar="HOST:PORT", help="The server to join.")]
Name = Annotated[
    str | None, typer.Option("--name", help="The site's name; by default the folder's name.")
]
Authority = Annotated[
    Path | None,
    typer.Option(
        "--ca",
        metavar="FILE",
        help="The server's ca.crt; without it the site uses no TLS and joins on this machine only.",
    ),
]
PolicyToCopy = Annotated[
    Path | None,
    typer.Option("--policy", metavar="FILE", help="Your policy; by default a restrictive one."),
]
ClientColumn = Annotated[
    str | None,
    typer.Option(
        "--client",
        metavar="COLUMN",
        help="The column that identifies the person of each row; each person has a budget.",
    ),
]
OneClient = Annotated[
    bool,
    typer.Option(
        "--one-client",
        help="Instead of --client: all rows belong to one client, with one budget.",
    ),
]
QuasiIdentifiers = Annotated[
    list[str] | None,
    typer.Option(
        "--quasi-identifier",
        metavar="COLUMN",
        help="A column that could help to identify a person; may be repeated.",
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option("--encoding", metavar="NAME", help="The file's encoding, such as cp1252."),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header", help="Whether the file's first line contains column names."
    ),
]


@commands.command()
def init(
    folder: Folder,
    data: Source,
    server: Server,
    name: Name = None,
    authority: Authority = None,
    policy: PolicyToCopy = None,
    client: ClientColumn = None,
    one_client: OneClient = False,
    quasi: QuasiIdentifiers = None,
    encoding: Encoding = None,
    header: Header = None,
) -> None:
    """Set up a site: its folder, its keys, and a policy to edit.

    Nothing is sent. Give the .pub file to the operator of the server, read
    policy.toml, and join with `tacit site join`. Each value of the client
    column has its own budget; a plan with another client column is refused.

    \b
    Examples:
      tacit site init hospital-a --data patients.csv --client patient \\
        --server tacit.example.org:8443 --ca ca.crt
      tacit site init phone --data notes.csv --one-client \\
        --server tacit.example.org:8443 --ca ca.crt
    """
    from tacit.deployment.site.site_folder import KEY, POLICY, SiteSettings, create_site

    source = _check_source(data)
    if bool(client) == one_client:
        raise PlanError(
            "tacit site init takes either --client COLUMN, the column that identifies the person of"
            " each row, or --one-client if all rows belong to one client; give exactly one of them"
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
    _write_policy(folder / POLICY, policy)
    tables.line(f"{folder}: a site with the name {settings.name}")
    tables.line(
        f"  1. give {folder / (KEY + '.pub')} to the operator of the server, who runs: tacit server"
        f" admit {settings.name} {KEY}.pub"
    )
    tables.line(
        f"  2. read and edit {folder / POLICY}: it says what may leave, and how much privacy budget"
        " may be spent"
    )
    tables.line(f"  3. run: tacit site join {folder}")


def _check_source(data: str) -> Path:
    source = Path(data)
    if not source.exists() and source.suffix:
        raise DataError(
            f"--data {data}: no such file; check the path, or give the name of a data set"
        )
    return source


def _write_policy(target: Path, policy: Path | None) -> None:
    """Copy the owner's policy, or write a restrictive one."""
    from tacit.privacy.policy.starter import render_policy

    text = policy.read_text(encoding="utf-8") if policy else render_policy(target.name, None)
    target.write_text(text, encoding="utf-8")


@commands.command()
def join(
    folder: Folder,
    with_parent: Annotated[
        bool, typer.Option("--with-parent", hidden=True, help="Stop when standard input is closed.")
    ] = False,
) -> None:
    """Join the server and respond to requests that the policy allows, until stopped.

    The reason of a refusal is printed here in full; the server receives only
    the line of the policy.

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

    settings, stop = read_site_settings(folder), threading.Event()

    def report(sentence: str) -> None:
        tables.line(f"{settings.name}: {sentence}", stderr=True)

    check_ready(folder, report)
    site = OwnerSite(load_owner(folder, report))
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
            f"{folder}: another process has already joined for this site; stop it with"
            f" `tacit site leave {folder}`"
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
    """Stop the process of `tacit site join`. Charges stay in the ledger."""
    from tacit.deployment.site.site_folder import find_joined_process

    number = find_joined_process(folder)
    if number is None:
        raise RunError(f"{folder}: no process of this site is running; nothing to stop")
    os.kill(number, signal.SIGTERM)
    for _ in range(100):
        if find_joined_process(folder) is None:
            tables.line(f"{folder}: left")
            return
        time.sleep(0.1)
    raise RunError(f"{folder}: process {number} is still running, possibly in training; try again")


@commands.command()
def forget(
    folder: Folder,
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="A run that `tacit site status` lists as open.")
    ],
) -> None:
    """End a run at your site that the server has not ended.

    The site sends no more responses for the run and deletes its noise key.
    Charges stay in the ledger, and the run cannot be resumed.

    \b
    Examples:
      tacit site forget hospital-a newsgroups-3-1f2e3d4c
    """
    from tacit.deployment.site.site_folder import load_owner
    from tacit.deployment.site.stored_runs import forget_run

    forget_run(load_owner(folder), run)
    tables.line(f"run {run}: ended here; its key is deleted, its charges stay")


@commands.command()
def status(folder: Folder, as_json: AsJson = False) -> None:
    """Show a site's identity, connection, policy, spent privacy budget and open runs."""
    from tacit.deployment.site.site_folder import load_owner, read_policy, read_site_settings
    from tacit.deployment.site.stored_runs import list_ended_runs, list_open_runs

    policy = read_policy(folder)
    facts = _describe_site(folder, read_site_settings(folder), policy)
    spending, statistics, disclosed = _read_ledger(folder, policy)
    facts |= spending
    owner = load_owner(folder)
    facts |= {"open_runs": list_open_runs(owner), "records_of_ended_runs": list_ended_runs(owner)}
    if as_json:
        tables.print_json({**facts, "told": statistics, "disclosed": disclosed})
        return
    for key, value in facts.items():
        nothing = key in ("policy", "client") and value is None
        tables.line(f"{key.replace('_', ' ')}: {'none: nothing is allowed' if nothing else value}")
    for sentence in (*map(_describe_statistics, statistics), *map(_describe_disclosed, disclosed)):
        tables.line(sentence)


def _describe_site(
    folder: Path, settings: SiteSettings, policy: Policy | None
) -> dict[str, object]:
    from tacit.deployment.site.site_folder import find_joined_process, load_signing_key

    return {
        "name": settings.name,
        "data": settings.data,
        "server": settings.server,
        "client": (
            settings.client or ("all rows belong to one client" if settings.one_client else None)
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
        "signing_key": load_signing_key(folder).public_key().public_bytes_raw().hex(),
        "peers": sorted(settings.peers or {}),
    }


Entries = list[dict[str, Any]]


def _read_ledger(folder: Path, policy: Policy | None) -> tuple[dict[str, object], Entries, Entries]:
    """Spending of the site's clients, statistics that runs received, and disclosed rows."""
    from tacit.deployment.site.site_folder import LEDGER
    from tacit.privacy.policy import SiteLedger

    if policy is None or not (folder / LEDGER).exists():
        return {}, [], []
    ledger = SiteLedger(folder / LEDGER, limits=policy.limits, delta=policy.limits.delta)
    with closing(ledger) as book:
        spent = [one.life.micro / 1e6 for one in book.totals()]
        statistics, disclosed = book.list_entries("told"), book.list_entries("disclosed")
    spending: dict[str, object] = {
        "clients_charged": len(spent),
        "largest_epsilon_spent_for_life": max(spent, default=0.0),
    }
    return spending, statistics, disclosed


def _describe_statistics(entry: dict[str, Any]) -> str:
    """The statistics of the rows that a run received, value by value."""
    told, seen = entry["told"], entry["told"]["seen"]
    parts = [
        f"{told['clients']:,} clients, {told['rows']:,} training rows, {told['test_rows']:,} test"
        " rows"
    ]
    parts += [f"classes {', '.join(seen['classes'])}"] if seen["classes"] else []
    parts += [
        f"categories of {name}: {', '.join(known)}" for name, known in seen["categories"].items()
    ]
    parts += [
        f"range of {name}: {low:g} to {high:g}" for name, (low, high) in seen["ranges"].items()
    ]
    return f"statistics sent in run {entry['run']}: {'; '.join(parts)}"


def _describe_disclosed(entry: dict[str, Any]) -> str:
    """The rows that a run received."""
    return (
        f"rows disclosed in run {entry['run']}: {entry['rows']:,} of {entry['of_rows']:,} in full"
        f" ({', '.join(entry['columns'])}); in all runs {entry['rows_of_all_runs']:,} rows, in"
        f" equivalence classes of at least {entry['fewest_clients_alike']:,} clients"
    )
