"""A server's folder and process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature

from tacit.deployment.doctor.finding import Finding, certificate, clock, disk, secrets
from tacit.deployment.doctor.reach import reached
from tacit.deployment.transport.certificates import (
    AUTHORITY,
    AUTHORITY_KEY,
    SERVER_CERTIFICATE,
    SERVER_KEY,
)
from tacit.deployment.transport.server.endpoint import (
    SECRET,
    SUPEREXEC_SECRET,
    ServerEndpoint,
    read_endpoint,
)
from tacit.deployment.transport.superlink.listening_sockets import list_listening_sockets
from tacit.errors import PeerError


def look_at_server(folder: Path) -> Iterator[Finding]:
    """Yield what is right and wrong with the server of a folder."""
    if not folder.is_dir():
        yield Finding(
            what="folder",
            state="problem",
            told=f"{folder} is none",
            remedy="start the server with `tacit server`",
        )
        return
    yield disk(folder)
    try:
        where: ServerEndpoint | None = read_endpoint(folder)
    except PeerError:
        where = None
    if where is None or where.tls:
        yield from _certificates(folder)
    yield from secrets(
        folder, [name for name in (AUTHORITY_KEY, SERVER_KEY) if where is None or where.tls]
    )
    if where is None:
        yield Finding(
            what="port",
            state="warning",
            told="no server was started here yet",
            remedy="start it with `tacit server`",
        )
        yield clock(None)
        return
    yield from secrets(folder, (SECRET, SUPEREXEC_SECRET))
    yield _port(where)
    why, offset = reached(where.address, folder / AUTHORITY if where.tls else None)
    if why:
        yield Finding(
            what="answers",
            state="problem",
            told=f"no, at {where.address}: {why}",
            remedy="start it with `tacit server`",
        )
    else:
        yield Finding(
            what="answers",
            state="ok",
            told=f"at {where.address}, {'with TLS' if where.tls else 'without TLS'}",
        )
    yield clock(offset)
    if not why:
        yield from _sites(folder)


def _certificates(folder: Path) -> Iterator[Finding]:
    remedy = f"make it with `tacit certs {folder}`"
    authority, told = certificate(folder / AUTHORITY, remedy)
    yield told
    own, told = certificate(folder / SERVER_CERTIFICATE, remedy)
    yield told
    if authority is None or own is None:
        return
    if not _signed_by(own, authority):
        yield Finding(
            what="chain",
            state="problem",
            told=f"{SERVER_CERTIFICATE} is not signed by {AUTHORITY}",
            remedy=remedy,
        )
    else:
        names = own.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        yield Finding(
            what="chain",
            state="ok",
            told=f"signed for {', '.join(str(name.value) for name in names)}",
        )


def _signed_by(own: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        own.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _port(where: ServerEndpoint) -> Finding:
    """Return whether the server's own process listens where it said, and nowhere else."""
    said = f"{where.host}:{where.port}"
    try:
        found = list_listening_sockets(where.pid)
    except OSError:
        return Finding(
            what="port",
            state="problem",
            told=f"process {where.pid} is gone",
            remedy="start it with `tacit server`",
        )
    if found is None:
        return Finding(
            what="port", state="warning", told=f"{said}: this system does not tell who listens"
        )
    if (where.host, where.port) not in found:
        told = f"process {where.pid} does not listen on {said}"
        return Finding(
            what="port",
            state="problem",
            told=told,
            remedy="stop it, and start it with `tacit server`",
        )
    if len(found) > 1:
        others = ", ".join(
            sorted(f"{host}:{port}" for host, port in found - {(where.host, where.port)})
        )
        return Finding(
            what="port",
            state="warning",
            told=f"process {where.pid} listens on {others} too",
            remedy="find out why",
        )
    return Finding(what="port", state="ok", told=f"process {where.pid} listens on {said}")


def _sites(folder: Path) -> Iterator[Finding]:
    """Yield whether each site that was let in is online."""
    try:
        from tacit.deployment.transport.server.registry import find_online_sites
    except ModuleNotFoundError:
        return  # said above: Flower is not installed
    try:
        found = find_online_sites(folder)
    except PeerError as error:
        yield Finding(what="sites", state="problem", told=str(error))
        return
    for name, there in found.items():
        remedy = "" if there else "its owner starts it with `tacit site join`"
        yield Finding(
            what=f"site {name}",
            state="ok" if there else "warning",
            told="online" if there else "offline",
            remedy=remedy,
        )
    if not found:
        remedy = "`tacit server admit NAME KEY.pub` does that"
        yield Finding(what="sites", state="warning", told="none was let in yet", remedy=remedy)
