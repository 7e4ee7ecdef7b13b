"""What an operator does with a server, in the server's own folder or from another machine."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, Protocol

from tacit.deployment.access import messages as m
from tacit.deployment.access.access_folder import is_access_folder
from tacit.deployment.access.access_log import Access, AccessLog
from tacit.deployment.access.calls import change_admission, list_people, list_sites
from tacit.deployment.access.roles import Role
from tacit.deployment.access.run_registry import CoordinatedRun, RunRegistry
from tacit.deployment.access.server_access import ServerAccess
from tacit.deployment.provisioning import admission
from tacit.deployment.provisioning.fingerprint import fingerprint_person, fingerprint_site
from tacit.deployment.provisioning.invitation_address import find_address
from tacit.deployment.provisioning.signed_files import (
    AccessRequest,
    AdmissionRequest,
    encode_file,
    read_request,
)
from tacit.deployment.transport import certificates
from tacit.deployment.transport.server.endpoint import read_endpoint


class ReadRequest(NamedTuple):
    """A request that was read: for whom it is, the fingerprint that people compare, and whether it
    replaces keys.
    """

    request: AdmissionRequest | AccessRequest
    whose: str
    fingerprint: str
    replaces: bool


def examine_file(path: Path) -> ReadRequest:
    """Read the request of a site or a person, and compute its fingerprint from its own content."""
    request = read_request(path)
    if isinstance(request, AccessRequest):
        der, name = request.check_signature(), request.content.name
        return ReadRequest(request, name, fingerprint_person(name, der), replaces=False)
    request.check_signatures()
    content = request.content
    found = fingerprint_site(content.site, content.keys.node_key, content.keys.signing_key)
    return ReadRequest(request, f"site {content.site}", found, content.replaces is not None)


class Administration(Protocol):
    """The work of an operator, and what others may list."""

    def invite(self, name: str, days: int, role: Role | None, address: str | None) -> m.Invited:
        """Invite a site, or with a role a person."""

    def examine(self, read: ReadRequest) -> str:
        """Raise PeerError unless a request may be admitted; return what it would admit."""

    def admit(self, read: ReadRequest) -> None:
        """Admit the site or the person of a request whose fingerprint was compared."""

    def change(self, name: str, *, is_admitted: bool) -> None:
        """Revoke or restore a site or a person."""

    def list_sites(self, *, online: bool = False) -> dict[str, m.ListedSite]:
        """All sites, the revoked ones included; `online` asks the server which are online."""

    def list_people(self) -> dict[str, m.ListedPerson]:
        """All people, the revoked ones included."""

    def list_runs(self) -> list[CoordinatedRun]:
        """The runs that coordinators opened from other machines."""

    def renew(self, *, at_once: bool) -> m.Renewed:
        """Renew the server's certificate."""


class OwnFolder:
    """Administration in the server's own folder. Changes are logged as those of this machine."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def invite(self, name: str, days: int, role: Role | None, address: str | None) -> m.Invited:
        """Invite a site, or with a role a person."""
        reached = address or find_address(self._folder)
        made = admission.invite(self._folder, name, reached, days, role)
        identity = admission.load_identity(self._folder, tls=read_endpoint(self._folder).tls)
        self._note(f"invite {name}{f' as {role}' if role else ''}")
        return m.Invited(file=encode_file(made).decode(), fingerprint=identity.fingerprint)

    def examine(self, read: ReadRequest) -> str:
        """Raise PeerError unless a request may be admitted; return what it would admit."""
        if isinstance(read.request, AccessRequest):
            return admission.check_access_request(self._folder, read.request)[0]
        admission.check_request(self._folder, read.request)
        return "site"

    def admit(self, read: ReadRequest) -> None:
        """Admit the site or the person of a request whose fingerprint was compared."""
        if isinstance(read.request, AccessRequest):
            admission.admit_person(self._folder, read.request)
        else:
            admission.admit(self._folder, read.request)
        self._note(f"admit {read.whose}")

    def change(self, name: str, *, is_admitted: bool) -> None:
        """Revoke or restore a site or a person."""
        change_admission(self._folder, name, is_admitted=is_admitted)
        self._note(f"{'restore' if is_admitted else 'revoke'} {name}")

    def list_sites(self, *, online: bool = False) -> dict[str, m.ListedSite]:
        """All sites, the revoked ones included; `online` asks the server which are online."""
        return list_sites(self._folder, online=online)

    def list_people(self) -> dict[str, m.ListedPerson]:
        """All people, the revoked ones included."""
        return list_people(self._folder)

    def list_runs(self) -> list[CoordinatedRun]:
        """The runs that coordinators opened from other machines."""
        return RunRegistry(self._folder).list()

    def renew(self, *, at_once: bool) -> m.Renewed:
        """Renew the server's certificate."""
        is_new = certificates.renew_server_certificate(self._folder, at_once=at_once)
        present = certificates.read_server_certificate(self._folder)
        return m.Renewed(
            is_new=is_new,
            ends=f"{present.not_valid_after_utc:%Y-%m-%d}",
            hosts=certificates.list_hosts(present),
        )

    def _note(self, what: str) -> None:
        AccessLog(self._folder).note(
            Access(who="server's machine", role="operator", address="this machine", what=what)
        )


class FromElsewhere:
    """Administration by calls to a server on another machine, as the caller's role allows."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def invite(self, name: str, days: int, role: Role | None, address: str | None) -> m.Invited:
        """Invite a site, or with a role a person."""
        body = m.Invite(name=name, days=days, role=role, address=address)
        with ServerAccess(self._folder) as access:
            return access.call("invite", body, m.Invited)

    def examine(self, read: ReadRequest) -> str:
        """Leave the check to the server, which repeats it when it admits."""
        return "site" if isinstance(read.request, AdmissionRequest) else "person"

    def admit(self, read: ReadRequest) -> None:
        """Admit the site or the person of a request whose fingerprint was compared."""
        text = encode_file(read.request).decode()
        with ServerAccess(self._folder) as access:
            access.call("admit", m.Admit(request=text, fingerprint=read.fingerprint), m.Nothing)

    def change(self, name: str, *, is_admitted: bool) -> None:
        """Revoke or restore a site or a person."""
        with ServerAccess(self._folder) as access:
            access.call("restore" if is_admitted else "revoke", m.Named(name=name), m.Nothing)

    def list_sites(self, *, online: bool = False) -> dict[str, m.ListedSite]:
        """All sites, the revoked ones included; `online` asks the server which are online."""
        with ServerAccess(self._folder) as access:
            return access.list_sites(online=online)

    def list_people(self) -> dict[str, m.ListedPerson]:
        """All people, the revoked ones included."""
        with ServerAccess(self._folder) as access:
            return access.call("list-people", m.Nothing(), m.ListedPeople)

    def list_runs(self) -> list[CoordinatedRun]:
        """The runs that coordinators opened from other machines."""
        with ServerAccess(self._folder) as access:
            return access.call("list-runs", m.Nothing(), m.ListedRuns).runs

    def renew(self, *, at_once: bool) -> m.Renewed:
        """Renew the server's certificate."""
        body = m.Renew(at_once=at_once)
        with ServerAccess(self._folder) as access:
            return access.call("renew-server-certificate", body, m.Renewed)


def administer(folder: Path) -> Administration:
    """The administration of the server of a folder: the server's own, or a person's."""
    return FromElsewhere(folder) if is_access_folder(folder) else OwnFolder(folder)
