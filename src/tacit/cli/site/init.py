"""tacit site init: a new site from an invitation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from tacit.cli import tables
from tacit.cli.options import Encoding, Header
from tacit.cli.server.invite import Fingerprint, require_same_fingerprint
from tacit.errors import DataError, PlanError

if TYPE_CHECKING:
    from tacit.deployment.site.site_folder import SiteSettings

Source = Annotated[
    str,
    typer.Option("--data", help="Your rows: a file, or the name of a data set. They stay there."),
]
NewFolder = Annotated[
    Path | None,
    typer.Argument(
        metavar="DIR", help="The site's new folder; by default the name in the invitation."
    ),
]
InvitationFile = Annotated[
    Path | None,
    typer.Option("--invite", metavar="FILE", help="The invitation from the server's operator."),
]
Server = Annotated[
    str | None,
    typer.Option(
        "--server",
        metavar="HOST:PORT",
        help="Instead of --invite: a server of this machine without TLS, for a trial.",
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


def init(
    data: Source,
    folder: NewFolder = None,
    invite: InvitationFile = None,
    server: Server = None,
    fingerprint: Fingerprint = None,
    policy: PolicyToCopy = None,
    client: ClientColumn = None,
    one_client: OneClient = False,
    quasi: QuasiIdentifiers = None,
    encoding: Encoding = None,
    header: Header = None,
) -> None:
    """Set up a site from an invitation, with a policy to edit.

    Nothing is sent. The command shows the server's fingerprint; ask its
    operator for the same digits by phone. Then send the .request file back,
    read policy.toml, and join with `tacit site join`. Each value of the
    client column has its own budget; a plan with another client column is
    refused.

    \b
    Examples:
      tacit site init --invite hospital-a.invite --data patients.csv --client patient
      tacit site init phone --server localhost:8443 --data notes.csv --one-client
    """
    from tacit.deployment.site.site_folder import POLICY, SiteSettings

    source = _resolve_source(data)
    if bool(client) == one_client:
        raise PlanError(
            "tacit site init takes either --client COLUMN, the column that identifies the person of"
            " each row, or --one-client if all rows belong to one client; give exactly one of them"
        )
    entry = _find_server(folder, invite, server)
    if invite is not None:
        require_same_fingerprint(f"the server {entry.address}", entry.fingerprint, fingerprint)
    settings = SiteSettings(
        name=entry.name,
        data=source,
        server=entry.address,
        authority="ca.crt" if entry.authority else None,
        client=client,
        one_client=one_client,
        quasi_identifiers=tuple(quasi or ()),
        encoding=encoding,
        header=header,
    )
    place = folder or Path(entry.name)
    request, own = _create_folder(place, settings, entry)
    _write_policy(place / POLICY, policy)
    tables.line(f"{place}: a site with the name {settings.name}")
    tables.line(f"  1. send {request} to the operator of the server, and read this out by phone:")
    tables.line(f"     {own}")
    tables.line(
        f"  2. read and edit {place / POLICY}: it says what may leave, and how much privacy budget"
        " may be spent"
    )
    tables.line(f"  3. run: tacit site join {place}")


class _ServerEntry(NamedTuple):
    """The server that a new site joins: its address, what proves it, and the site's name there."""

    name: str
    address: str
    authority: str | None = None
    token: str | None = None
    fingerprint: str = ""


def _find_server(folder: Path | None, invite: Path | None, server: str | None) -> _ServerEntry:
    from tacit.deployment.provisioning.enrolment import open_invitation
    from tacit.deployment.transport.address import require_loopback, split_address

    if (invite is None) == (server is None):
        raise PlanError(
            "tacit site init takes either --invite FILE, from the server's operator, or --server"
            " HOST:PORT for a trial on this machine; give exactly one of them"
        )
    if invite is not None:
        opened = open_invitation(invite)
        content = opened.invitation.content
        return _ServerEntry(
            content.site, content.server, content.authority, content.token, opened.fingerprint
        )
    assert server is not None
    require_loopback(split_address(server)[0], "server")
    if folder is None:
        raise PlanError("tacit site init --server needs the site's folder, as its first word")
    return _ServerEntry(folder.name, server)


def _create_folder(place: Path, settings: SiteSettings, entry: _ServerEntry) -> tuple[Path, str]:
    """Create a site's folder; return its request for admission and its fingerprint to read aloud."""
    from tacit.deployment.provisioning.enrolment import read_fingerprint, write_request
    from tacit.deployment.provisioning.fingerprint import format_fingerprint
    from tacit.deployment.site.site_folder import create_site
    from tacit.files import replace_file

    create_site(place, settings)
    if entry.authority:
        replace_file(place / "ca.crt", entry.authority.encode())
    return write_request(place, entry.token), format_fingerprint(read_fingerprint(place))


def _resolve_source(data: str) -> str:
    """The absolute path of a file, folder or pattern, or the name of a data set as it is; raise
    DataError if files are named and none is there.
    """
    from tacit.data.parts import names_several_files
    from tacit.data.read import list_files

    source = Path(data).expanduser()
    if source.is_file():
        return str(source.resolve())
    if source.is_dir() or names_several_files(data):
        place = f"{source.resolve()}{'/' if source.is_dir() else ''}"
        list_files(place, "--data")
        return place
    if source.suffix:
        raise DataError(
            f"--data {data}: no such file; check the path, or give the name of a data set"
        )
    return data


def _write_policy(target: Path, policy: Path | None) -> None:
    """Copy the owner's policy, or write a restrictive one."""
    from tacit.privacy.policy.starter import render_policy

    text = policy.read_text(encoding="utf-8") if policy else render_policy(target.name, None)
    target.write_text(text, encoding="utf-8")
