"""A server's folder and process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature

from tacit.deployment.doctor.finding import (
    Finding,
    check_certificate,
    check_clock,
    check_disk,
    check_secrets,
)
from tacit.deployment.doctor.reach import probe_server
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

_START = "start it with `tacit server start`"


def diagnose_server(folder: Path) -> Iterator[Finding]:
    """Check the server of a folder."""
    yield from diagnose_server_quickly(folder, must_run=False)
    if not folder.is_dir():
        return
    endpoint = _find_endpoint(folder)
    if endpoint is None:
        yield check_clock(None)
        return
    why, offset = probe_server(endpoint.address, folder / AUTHORITY if endpoint.tls else None)
    if why:
        yield Finding(
            subject="response",
            state="problem",
            detail=f"none from {endpoint.address}: {why}",
            remedy=_START,
        )
    else:
        yield Finding(
            subject="response",
            state="ok",
            detail=f"from {endpoint.address}, {'with TLS' if endpoint.tls else 'without TLS'}",
        )
    yield check_clock(offset)
    if not why:
        yield from _check_sites(folder)


def diagnose_server_quickly(folder: Path, *, must_run: bool = True) -> Iterator[Finding]:
    """Check what costs little: disk, certificates, secret files, process and port.

    With `must_run` it is a problem if no server was started in the folder.
    """
    if not folder.is_dir():
        yield Finding(
            subject="folder",
            state="problem",
            detail=f"{folder} is not a folder",
            remedy="start the server with `tacit server start`",
        )
        return
    yield check_disk(folder)
    endpoint = _find_endpoint(folder)
    if endpoint is None or endpoint.tls:
        yield from _check_certificates(folder)
        yield from check_secrets(folder, (AUTHORITY_KEY, SERVER_KEY))
    if endpoint is None:
        yield Finding(
            subject="port",
            state="problem" if must_run else "warning",
            detail="no server was started in this folder",
            remedy=_START,
        )
        return
    yield from check_secrets(folder, (SECRET, SUPEREXEC_SECRET))
    yield _check_port(endpoint)


def _find_endpoint(folder: Path) -> ServerEndpoint | None:
    try:
        return read_endpoint(folder)
    except PeerError:
        return None


def _check_certificates(folder: Path) -> Iterator[Finding]:
    remedy = f"run `tacit server certs renew {folder}`, or make one with `tacit server certs create {folder}`"
    authority, finding = check_certificate(folder / AUTHORITY, remedy)
    yield finding
    own, finding = check_certificate(folder / SERVER_CERTIFICATE, remedy)
    yield finding
    if authority is None or own is None:
        return
    if not _is_signed_by(own, authority):
        yield Finding(
            subject="chain",
            state="problem",
            detail=f"{SERVER_CERTIFICATE} is not signed by {AUTHORITY}",
            remedy=remedy,
        )
    else:
        names = own.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        yield Finding(
            subject="chain",
            state="ok",
            detail=f"signed for {', '.join(str(name.value) for name in names)}",
        )


def _is_signed_by(own: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        own.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _check_port(endpoint: ServerEndpoint) -> Finding:
    """Check that the server's process listens on its port, and on no other."""
    expected = f"{endpoint.host}:{endpoint.port}"
    try:
        found = list_listening_sockets(endpoint.pid)
    except OSError:
        return Finding(
            subject="port",
            state="problem",
            detail=f"process {endpoint.pid} has ended",
            remedy=_START,
        )
    if found is None:
        return Finding(
            subject="port",
            state="warning",
            detail=f"{expected}: this system does not list listening sockets",
        )
    if (endpoint.host, endpoint.port) not in found:
        detail = f"process {endpoint.pid} does not listen on {expected}"
        return Finding(
            subject="port",
            state="problem",
            detail=detail,
            remedy="stop it, and start it again with `tacit server start`",
        )
    if len(found) > 1:
        others = ", ".join(
            sorted(f"{host}:{port}" for host, port in found - {(endpoint.host, endpoint.port)})
        )
        return Finding(
            subject="port",
            state="warning",
            detail=f"process {endpoint.pid} listens on {others} too",
            remedy="check what else that process does",
        )
    return Finding(
        subject="port", state="ok", detail=f"process {endpoint.pid} listens on {expected}"
    )


def _check_sites(folder: Path) -> Iterator[Finding]:
    """Check which admitted sites are online."""
    try:
        from tacit.deployment.transport.server.registry import find_online_sites
    except ModuleNotFoundError:
        return  # diagnose_machine reports that Flower is missing
    try:
        found = find_online_sites(folder)
    except PeerError as error:
        yield Finding(subject="sites", state="problem", detail=str(error))
        return
    for name, is_online in found.items():
        remedy = "" if is_online else "its owner starts it with `tacit site join`"
        yield Finding(
            subject=f"site {name}",
            state="ok" if is_online else "warning",
            detail="online" if is_online else "offline",
            remedy=remedy,
        )
    if not found:
        remedy = "invite one with `tacit server invite NAME`"
        yield Finding(subject="sites", state="warning", detail="no site is admitted", remedy=remedy)
