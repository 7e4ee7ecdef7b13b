"""What a person does at a server from another machine, by calls."""

from __future__ import annotations

import fcntl
import shutil
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

import msgspec
from cryptography import x509

from tacit.deployment.access import messages as m
from tacit.deployment.access.access_folder import build_renewal, read_access
from tacit.deployment.access.roles import Call
from tacit.deployment.access.run_registry import LARGEST_RECORD
from tacit.deployment.transport.certificates import (
    AUTHORITY,
    CLIENT_CERTIFICATE,
    CLIENT_KEY,
    make_client_certificate,
)
from tacit.deployment.transport.person.server_route import ServerRoute
from tacit.errors import AccessError, PeerError, PlanError, RunError, TacitError
from tacit.files import sync_folder

NEW_CERTIFICATE = "new-certificate"
"""Folder in which a new certificate waits until the server knows it."""
_LONGEST_REFUSAL = 2_000
"""Most characters of a server's refusal that are shown."""
_RENEWAL = ".renewal.lock"
_Answer = TypeVar("_Answer")
_KINDS: dict[str, type[TacitError]] = {
    kind.__name__: kind for kind in (AccessError, PeerError, PlanError, RunError)
}
"""Errors of a server that keep their kind here."""


class ServerAccess:
    """A person's calls to a server; use it in a `with` block."""

    def __init__(self, folder: Path, certificate: Path | None = None) -> None:
        self.folder, self.settings = folder, read_access(folder)
        own = certificate or folder
        if certificate is None:
            _refuse_ended(folder)
        self.route = ServerRoute(own, self.settings.server, folder / AUTHORITY, self.settings.proxy)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.route.close()

    def call(self, name: Call, body: m.CallBody, kind: type[_Answer]) -> _Answer:
        """Make a call and return its response, which must be of the given kind."""
        answer = self.route.call(name, msgspec.json.encode(body), explain_refusal)
        try:
            return msgspec.json.decode(answer, type=kind)
        except msgspec.MsgspecError as error:
            raise PeerError(
                f"server {self.route.shown} sent an unreadable response to {name} ({error}); compare"
                " the versions of Tacit on both machines"
            ) from None

    def list_sites(self, *, online: bool = False) -> dict[str, m.ListedSite]:
        """All sites by name, the revoked ones included."""
        return self.call("list-sites", m.ListSites(online=online), m.ListedSites)

    def read_record(self, run: str) -> tuple[bytes, str]:
        """The whole copy of a run's record at the server, and the run's plan."""
        found, plan = b"", ""
        while True:
            part = self.call("read-record", m.ReadRecord(run=run, offset=len(found)), m.RecordPart)
            found, plan = found + part.lines, part.plan
            if len(found) > LARGEST_RECORD:
                raise PeerError(
                    f"server {self.route.shown} sent a record longer than {LARGEST_RECORD:,} bytes,"
                    " which no run has; ask its operator"
                )
            if len(found) >= part.length or not part.lines:
                return found, plan


def renew_certificate(folder: Path) -> str:
    """Replace a person's certificate while it is valid; return until when the new one is.

    The new key and certificate are complete on disk before the server learns of them. A crash in
    between leaves them there, and the next call finishes with them.
    """
    with (folder / _RENEWAL).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another command would move a key that does not fit
        return _renew(folder, read_access(folder).name)


def _renew(folder: Path, name: str) -> str:
    ready = folder / NEW_CERTIFICATE
    if not (ready.exists() and _is_known(folder, ready)):
        shutil.rmtree(ready, ignore_errors=True)
        make_client_certificate(ready)
        with ServerAccess(folder) as access:
            body = m.ReplaceCertificate(request=build_renewal(ready, name))
            access.call("replace-certificate", body, m.Nothing)
    for file in (CLIENT_KEY, CLIENT_CERTIFICATE):
        if (ready / file).exists():
            (ready / file).replace(folder / file)
    shutil.rmtree(ready)
    sync_folder(folder)
    return f"{_read_end(folder):%Y-%m-%d}"


def _is_known(folder: Path, ready: Path) -> bool:
    """Whether the server knows the certificate that waits; half of it may have been moved."""
    if not (ready / CLIENT_KEY).exists():
        return True
    try:
        with ServerAccess(folder, ready) as access:
            access.call("show-me", m.Nothing(), m.Me)
    except PeerError:
        return False
    return True


def explain_refusal(body: bytes) -> TacitError | None:
    """The error that a server's refusal stands for; None if the body is no refusal of a server."""
    try:
        refused = msgspec.json.decode(body, type=m.CallRefusal)
    except msgspec.MsgspecError:
        return None
    return _KINDS.get(refused.kind, PeerError)(refused.message[:_LONGEST_REFUSAL])


def _read_end(folder: Path) -> datetime:
    pem = (folder / CLIENT_CERTIFICATE).read_bytes()
    return x509.load_pem_x509_certificate(pem).not_valid_after_utc


def _refuse_ended(folder: Path) -> None:
    try:
        end = _read_end(folder)
    except (OSError, ValueError):
        raise PeerError(
            f"{folder / CLIENT_CERTIFICATE} is missing or damaged; restore it, or ask the server's"
            " operator to revoke you and invite you again"
        ) from None
    if end <= datetime.now(UTC):
        raise PeerError(
            f"your certificate in {folder} ended on {end:%Y-%m-%d}, and the server refuses it; ask its"
            " operator to revoke you and invite you again"
        )
