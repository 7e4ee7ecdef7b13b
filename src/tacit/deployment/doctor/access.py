"""A person's folder of access: certificate, key, the way to the server, and what the server says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tacit.deployment.access import messages as m
from tacit.deployment.access.access_folder import read_access
from tacit.deployment.access.server_access import ServerAccess
from tacit.deployment.doctor.finding import Finding, check_certificate, check_secrets
from tacit.deployment.doctor.way_to_server import check_server
from tacit.deployment.transport.certificates import AUTHORITY, CLIENT_CERTIFICATE, CLIENT_KEY
from tacit.errors import TacitError


def diagnose_access(folder: Path) -> Iterator[Finding]:
    """Check a person's access to a server."""
    try:
        settings = read_access(folder)
    except TacitError as error:
        remedy = "create a folder with `tacit server connect`"
        yield Finding(subject="settings", state="problem", detail=str(error), remedy=remedy)
        return
    detail = f"{settings.name} as {settings.role}, server {settings.server}"
    yield Finding(subject="settings", state="ok", detail=detail)
    yield from check_secrets(folder, (CLIENT_KEY,))
    remedy = f"run `tacit server certs renew {folder} --own` while it is valid"
    yield check_certificate(folder / CLIENT_CERTIFICATE, remedy)[1]
    yield check_certificate(folder / AUTHORITY, "ask the server's operator for a new invitation")[1]
    yield from check_server(settings.server, folder / AUTHORITY, settings.proxy)
    try:
        with ServerAccess(folder) as access:
            me = access.call("show-me", m.Nothing(), m.Me)
    except TacitError as error:
        remedy = (
            f"send {settings.name}.request to the server's operator if you are not admitted yet"
        )
        yield Finding(subject="admission", state="problem", detail=str(error), remedy=remedy)
        return
    detail = f"the server admits {me.name} as {me.role}; it runs Tacit {me.version}"
    yield Finding(subject="admission", state="ok", detail=detail)
