"""What a server does for each call of a person. Roles are checked before, in `gateway.py`."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec
from cryptography import x509

from tacit.deployment.access import messages as m
from tacit.deployment.access import people
from tacit.deployment.access.people import KnownPerson, read_people
from tacit.deployment.access.roles import Call
from tacit.deployment.access.run_registry import RunRegistry
from tacit.deployment.provisioning import admission
from tacit.deployment.provisioning.fingerprint import fingerprint_person, fingerprint_site
from tacit.deployment.provisioning.invitation_address import find_address
from tacit.deployment.provisioning.signed_files import (
    AccessRequest,
    AdmissionRequest,
    decode_file,
    decode_request,
    encode_file,
)
from tacit.deployment.transport import certificates
from tacit.deployment.transport.server import registry
from tacit.deployment.transport.server.endpoint import read_endpoint
from tacit.deployment.transport.server.run_start import start_run
from tacit.errors import AccessError, PeerError

Handler = Callable[[Any, KnownPerson], m.CallBody | dict[str, Any]]


class Calls:
    """The calls of one server, by name: the kind of body that each takes, and what it does."""

    def __init__(self, folder: Path, runs: RunRegistry) -> None:
        self._folder, self._runs = folder, runs
        self.handlers: dict[Call, tuple[type[m.CallBody], Handler]] = {
            "show-me": (m.Nothing, self._show_me),
            "replace-certificate": (m.ReplaceCertificate, self._replace_certificate),
            "list-sites": (m.ListSites, self._list_sites),
            "list-runs": (m.Nothing, self._list_runs),
            "list-people": (m.Nothing, self._list_people),
            "invite": (m.Invite, self._invite),
            "admit": (m.Admit, self._admit),
            "revoke": (m.Named, self._revoke),
            "restore": (m.Named, self._restore),
            "renew-server-certificate": (m.Renew, self._renew),
            "open-run": (m.OpenRun, self._open_run),
            "close-run": (m.CloseRun, self._close_run),
            "stop-run": (m.NamedRun, self._stop_run),
            "send-record": (m.SendRecord, self._send_record),
            "read-record": (m.ReadRecord, self._read_record),
        }

    def _show_me(self, body: m.Nothing, caller: KnownPerson) -> m.CallBody:
        return m.Me(
            name=caller.name,
            role=caller.role,
            certificate_ends=f"{caller.ends:%Y-%m-%d}",
            version=version("tacit"),
        )

    def _replace_certificate(self, body: m.ReplaceCertificate, caller: KnownPerson) -> m.CallBody:
        request = decode_file(body.request.encode(), AccessRequest, "the new certificate")
        request.check_signature()
        if request.content.name != caller.name:
            raise AccessError(f"{caller.name} can renew no certificate but their own")
        people.replace_certificate(
            self._folder, caller.name, request.content.certificate, caller.certificate
        )
        return m.Nothing()

    def _list_sites(self, body: m.ListSites, caller: KnownPerson) -> dict[str, Any]:
        return dict(list_sites(self._folder, online=body.online))

    def _list_runs(self, body: m.Nothing, caller: KnownPerson) -> m.CallBody:
        return m.ListedRuns(
            runs=[msgspec.structs.replace(one, task="") for one in self._runs.list()]
        )

    def _list_people(self, body: m.Nothing, caller: KnownPerson) -> dict[str, Any]:
        return list_people(self._folder)

    def _invite(self, body: m.Invite, caller: KnownPerson) -> m.CallBody:
        if body.role == "operator":
            raise AccessError("operators are invited on the server's own machine only")
        address = body.address or find_address(self._folder)
        made = admission.invite(self._folder, body.name, address, body.days, body.role)
        identity = admission.load_identity(self._folder, tls=read_endpoint(self._folder).tls)
        return m.Invited(file=encode_file(made).decode(), fingerprint=identity.fingerprint)

    def _admit(self, body: m.Admit, caller: KnownPerson) -> m.CallBody:
        request = decode_request(body.request.encode(), "the request")
        role: str | None = None
        if isinstance(request, AdmissionRequest):
            found = admission.check_request(self._folder, request)
        else:
            role, found = admission.check_access_request(self._folder, request)
        if found != body.fingerprint:
            raise PeerError("the fingerprint is not that of the request; nothing was changed")
        if role == "operator":
            raise AccessError("operators are admitted on the server's own machine only")
        if isinstance(request, AdmissionRequest):
            admission.admit(self._folder, request)
        else:
            admission.admit_person(self._folder, request)
        return m.Nothing()

    def _revoke(self, body: m.Named, caller: KnownPerson) -> m.CallBody:
        change_admission(self._folder, body.name, is_admitted=False, remote=True)
        return m.Nothing()

    def _restore(self, body: m.Named, caller: KnownPerson) -> m.CallBody:
        change_admission(self._folder, body.name, is_admitted=True, remote=True)
        return m.Nothing()

    def _renew(self, body: m.Renew, caller: KnownPerson) -> m.CallBody:
        is_new = certificates.renew_server_certificate(self._folder, at_once=body.at_once)
        present = certificates.read_server_certificate(self._folder)
        return m.Renewed(
            is_new=is_new,
            ends=f"{present.not_valid_after_utc:%Y-%m-%d}",
            hosts=certificates.list_hosts(present),
        )

    def _open_run(self, body: m.OpenRun, caller: KnownPerson) -> m.CallBody:
        self._runs.require_capacity(body.run, caller.name)
        address = read_endpoint(self._folder).address
        token, flower_run = start_run(self._folder, address, body.title)
        self._runs.open(body.run, caller.name, body.plan, token)
        length, digest = self._runs.describe_record(body.run)
        return m.OpenedRun(
            token=token, flower_run=flower_run, record_bytes=length, record_sha256=digest
        )

    def _close_run(self, body: m.CloseRun, caller: KnownPerson) -> m.CallBody:
        self._runs.change_state(body.run, caller.name, body.state, body.task)
        return m.Nothing()

    def _stop_run(self, body: m.NamedRun, caller: KnownPerson) -> m.CallBody:
        self._runs.change_state(body.run, caller.name, "stopped")
        return m.Nothing()

    def _send_record(self, body: m.SendRecord, caller: KnownPerson) -> m.CallBody:
        return m.RecordLength(
            length=self._runs.add_to_record(body.run, caller.name, body.offset, body.lines)
        )

    def _read_record(self, body: m.ReadRecord, caller: KnownPerson) -> m.CallBody:
        if caller.role == "coordinator":
            self._runs.check_owner(body.run, caller.name)
        lines, length, plan = self._runs.read_record(body.run, body.offset)
        return m.RecordPart(lines=lines, length=length, plan=plan)


def list_sites(folder: Path, *, online: bool = False) -> dict[str, m.ListedSite]:
    """The sites of a server's folder, the revoked ones included; `online` asks which are online."""
    there = registry.find_online_sites(folder) if online else {}
    return {
        name: m.ListedSite(
            public_key=facts["public_key"],
            node_id=facts["node_id"],
            signing_key=facts.get("signing_key"),
            fingerprint=(
                fingerprint_site(name, facts["public_key"], facts["signing_key"])
                if "signing_key" in facts
                else None
            ),
            revoked=facts.get("revoked"),
            online=there.get(name, False) if online else None,
        )
        for name, facts in registry.read_registry(folder).items()
    }


def list_people(folder: Path) -> dict[str, m.ListedPerson]:
    """The people of a server's folder, for a person to read."""
    return {
        name: m.ListedPerson(
            role=person.role,
            fingerprint=fingerprint_person(name, person.der),
            certificate_ends=_read_end(person.certificate),
            revoked=person.revoked,
        )
        for name, person in read_people(folder).items()
    }


def change_admission(folder: Path, name: str, *, is_admitted: bool, remote: bool = False) -> str:
    """Revoke or restore a site or a person by name; return which of both it is.

    From another machine no operator can be revoked or restored: only who has the server's machine
    says who its operators are.
    """
    known = read_people(folder)
    if name not in known:
        (registry.restore if is_admitted else registry.revoke)(folder, name)
        return "site"
    if remote and known[name].role == "operator":
        raise AccessError("operators are revoked and restored on the server's own machine only")
    (people.restore_person if is_admitted else people.revoke_person)(folder, name)
    return known[name].role


def _read_end(pem: str) -> str:
    return f"{x509.load_pem_x509_certificate(pem.encode()).not_valid_after_utc:%Y-%m-%d}"
