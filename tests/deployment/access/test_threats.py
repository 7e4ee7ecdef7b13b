"""Attacks on a server's access: wrong roles, certificates, files and bodies. Each is refused and named in the log."""

from __future__ import annotations

import contextlib
import http.client
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

pytest.importorskip("flwr", reason="needs tacit[flower]")

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from tacit.deployment.access import messages as m
from tacit.deployment.access import people
from tacit.deployment.access.access_folder import create_access, read_own_fingerprint
from tacit.deployment.access.roles import ALLOWED, ROLES, Call
from tacit.deployment.access.server_access import ServerAccess, renew_certificate
from tacit.deployment.provisioning import admission
from tacit.deployment.provisioning.enrolment import open_invitation
from tacit.deployment.provisioning.fingerprint import fingerprint_person
from tacit.deployment.provisioning.signed_files import (
    AccessRequest,
    AccessRequestContent,
    encode_file,
    prove_certificate,
    read_file,
)
from tacit.deployment.transport import certificates
from tacit.deployment.transport.server.registry import read_registry, register
from tacit.errors import AccessError, PeerError, RunError
from tests.deployment.access.people_of_a_server import Server, running_server

BODIES: dict[Call, m.CallBody] = {
    "show-me": m.Nothing(),
    "replace-certificate": m.ReplaceCertificate(request="{}"),
    "list-sites": m.ListSites(),
    "list-runs": m.Nothing(),
    "list-people": m.Nothing(),
    "invite": m.Invite(name="new-site"),
    "admit": m.Admit(request="{}", fingerprint="0" * 64),
    "revoke": m.Named(name="nobody"),
    "restore": m.Named(name="nobody"),
    "renew-server-certificate": m.Renew(),
    "open-run": m.OpenRun(run="r-1", title="r", plan=""),
    "close-run": m.CloseRun(run="r-2", task="0" * 64, state="finished"),
    "stop-run": m.NamedRun(run="r-2"),
    "send-record": m.SendRecord(run="r-2", offset=0, lines=b"x\n"),
    "read-record": m.ReadRecord(run="r-2"),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("threats")) as made:
        yield made


@pytest.mark.parametrize("role", ROLES)
def test_each_role_may_do_what_the_table_says_and_nothing_else(server: Server, role: Any) -> None:
    assert set(BODIES) | {"carry-messages"} == set(ALLOWED)
    name = f"one-{role}"
    with server.access(name, role) as person:
        for call, body in BODIES.items():
            if role in ALLOWED[call]:
                with contextlib.suppress(RunError, PeerError):
                    person.call(call, body, msgspec.Raw)
                assert f"{name} ({role}) from 127.0.0.1: {call} refused, this needs" not in (
                    server.read_log()
                )
            else:
                with pytest.raises(AccessError, match="needs the role"):
                    person.call(call, body, msgspec.Raw)
                assert f"{name} ({role}) from 127.0.0.1: {call} refused" in server.read_log()


def test_messages_of_a_run_need_its_token_and_its_coordinator(server: Server) -> None:
    def post(person: ServerAccess, token: str) -> int:
        url = f"https://{server.place.address}/v1/runtime/get-nodes"
        return person.route._client.post(url, headers={"flwr-task-token": token}).status_code

    with (
        server.access("kim", "coordinator") as kim,
        server.access("lea", "coordinator") as lea,
        server.access("max", "auditor") as auditor,
    ):
        mine = kim.call("open-run", m.OpenRun(run="k-1", title="k", plan=""), m.OpenedRun).token
        assert post(kim, mine) not in (401, 403, 404, 410)
        assert post(lea, mine) == 410, "another coordinator's token"
        assert post(kim, "x") == 410
        assert post(auditor, mine) == 403
        again = kim.call("open-run", m.OpenRun(run="k-1", title="k", plan=""), m.OpenedRun).token
        assert post(kim, mine) == 410, "the process that continued the run took its place"
        assert post(kim, again) not in (401, 403, 404, 410)
        for path in ("acquire-task", "create-task", "push-logs", "get-connector"):
            url = f"https://{server.place.address}/v1/runtime/{path}"
            assert (
                kim.route._client.post(url, headers={"flwr-task-token": again}).status_code == 404
            )
        control = f"https://{server.place.address}/v1/control/list-nodes"
        assert kim.route._client.post(control).status_code == 401
        kim.call("stop-run", m.NamedRun(run="k-1"), m.Nothing)
        assert post(kim, again) == 410


def test_a_coordinator_has_no_access_to_anothers_run(server: Server) -> None:
    with server.access("kim", "coordinator") as kim, server.access("lea", "coordinator") as lea:
        kim.call("open-run", m.OpenRun(run="own-1", title="own", plan="p"), m.OpenedRun)
        kim.call("send-record", m.SendRecord(run="own-1", offset=0, lines=b"one\n"), m.RecordLength)
        for call, body in {
            "open-run": m.OpenRun(run="own-1", title="own", plan="q"),
            "stop-run": m.NamedRun(run="own-1"),
            "close-run": m.CloseRun(run="own-1", task="0" * 64, state="finished"),
            "send-record": m.SendRecord(run="own-1", offset=0, lines=b"two\n"),
            "read-record": m.ReadRecord(run="own-1"),
        }.items():
            with pytest.raises(AccessError, match="another coordinator"):
                lea.call(call, body, msgspec.Raw)  # type: ignore[arg-type]
        assert kim.read_record("own-1") == (b"one\n", "p")
        states = {
            one.run: one.state for one in kim.call("list-runs", m.Nothing(), m.ListedRuns).runs
        }
        assert states["own-1"] == "open"


def test_the_copy_of_a_record_only_grows(server: Server) -> None:
    def send(offset: int, lines: bytes) -> int:
        body = m.SendRecord(run="grow-1", offset=offset, lines=lines)
        return kim.call("send-record", body, m.RecordLength).length

    with server.access("kim", "coordinator") as kim:
        kim.call("open-run", m.OpenRun(run="grow-1", title="grow", plan=""), m.OpenedRun)
        assert send(0, b"one\n") == 4
        assert send(0, b"one\n") == 4, "a repeated call changes nothing"
        assert send(0, b"one\ntwo\n") == 8
        for offset, lines in ((0, b"0ne\n"), (4, b"2wo\nthree\n"), (9, b"x\n"), (8, b"half")):
            with pytest.raises(RunError):
                send(offset, lines)
        assert kim.read_record("grow-1")[0] == b"one\ntwo\n"


def test_a_revoked_person_is_refused_at_the_next_call(server: Server) -> None:
    with server.access("rob", "coordinator") as rob:
        rob.call("show-me", m.Nothing(), m.Me)
        people.revoke_person(server.folder, "rob")
        with pytest.raises(AccessError, match="the access of rob was revoked on"):
            rob.call("show-me", m.Nothing(), m.Me)  # on the connection that was open
        with server.access("rob", "coordinator") as again, pytest.raises(AccessError):
            again.call("open-run", BODIES["open-run"], m.OpenedRun)
        assert "rob (coordinator) from 127.0.0.1: open-run refused, the access of rob" in (
            server.read_log()
        )
        people.restore_person(server.folder, "rob")
        assert rob.call("show-me", m.Nothing(), m.Me).name == "rob"


def write_certificate(folder: Path, key: ec.EllipticCurvePrivateKey, **changes: Any) -> str:
    """Write a certificate that a person could have made otherwise."""
    begin, days = changes.get("begin", -1), changes.get("days", 300)
    name = x509.Name(
        [x509.NameAttribute(NameOID.COMMON_NAME, changes.get("name", "Tacit client x"))]
    )
    now = certificates.datetime.now(certificates.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + timedelta(days=begin))
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.BasicConstraints(changes.get("ca", False), None), critical=True)
        .add_extension(
            x509.ExtendedKeyUsage([changes.get("usage", ExtendedKeyUsageOID.CLIENT_AUTH)]), False
        )
        .sign(key, hashes.SHA384())
    )
    pem = made.public_bytes(certificates.serialization.Encoding.PEM).decode()
    folder.mkdir(exist_ok=True)
    (folder / "client.crt").write_text(pem)
    (folder / "client.key").write_bytes(certificates._encode_private_key(key))
    (folder / "client.key").chmod(0o600)
    return pem


def test_certificates_of_others_are_refused_by_tls(server: Server, tmp_path: Path) -> None:
    """One of another server's authority, a site's key, an ended one: TLS refuses the connection, and the log has the address."""
    server.admit("mia", "coordinator")
    register(server.folder, "sly", certificates.make_node_key(tmp_path / "sly.key"))
    other = tmp_path / "other"
    certificates.make_authority(other)
    certificates.make_server_certificate(other, ["x"])
    (other / "client.crt").write_bytes((other / "server.crt").read_bytes())
    (other / "client.key").write_bytes((other / "server.key").read_bytes())
    (other / "client.key").chmod(0o600)
    site_key: Any = load_pem_private_key((tmp_path / "sly.key").read_bytes(), None)
    write_certificate(tmp_path / "site", site_key)
    for folder in (other, tmp_path / "site"):
        with (
            ServerAccess(server.base / "mia", folder) as stranger,
            pytest.raises(PeerError, match="does not accept your certificate"),
        ):
            stranger.call("show-me", m.Nothing(), m.Me)
    assert "unknown (no role) from 127.0.0.1: connection with a certificate refused" in (
        server.read_log()
    )


def test_an_ended_certificate_is_refused_on_both_sides(server: Server, tmp_path: Path) -> None:
    pem = write_certificate(tmp_path / "old", ec.generate_private_key(ec.SECP384R1()), days=-0.5)
    server.admit("mia", "coordinator")
    with pytest.raises(PeerError, match="is valid from"):
        certificates.check_client_certificate(pem)
    people.register_person(server.folder, "old", "coordinator", pem)  # admitted while it was valid
    with (
        ServerAccess(server.base / "mia", tmp_path / "old") as ended,
        pytest.raises(PeerError, match="does not accept your certificate"),
    ):
        ended.call("show-me", m.Nothing(), m.Me)
    assert "certificate has expired" in server.read_log()
    known = people.AdmittedPeople(server.folder)
    found = known.find(people.read_people(server.folder)["old"].der)
    assert found is not None
    assert "ended on" in (found.explain_refusal() or ""), "also on a connection that is open"
    for name in ("client.crt", "client.key"):
        (tmp_path / "old" / name).rename(server.base / "mia" / f"x-{name}")
    folder = server.admit("eve", "coordinator")
    (folder / "client.crt").write_text(pem)
    with pytest.raises(PeerError, match="your certificate in"):
        ServerAccess(folder)
    people.revoke_person(server.folder, "old")


@pytest.mark.parametrize(
    "changes",
    [{"ca": True}, {"days": 4000}, {"begin": 2}, {"usage": ExtendedKeyUsageOID.SERVER_AUTH}],
    ids=str,
)
def test_unusual_certificates_are_not_admitted(changes: dict[str, Any], tmp_path: Path) -> None:
    pem = write_certificate(tmp_path, ec.generate_private_key(ec.SECP384R1()), **changes)
    with pytest.raises(PeerError):
        certificates.check_client_certificate(pem)
    with pytest.raises(PeerError):
        certificates.check_client_certificate(pem + "\nx")


def change(path: Path, **values: Any) -> None:
    tree = json.loads(path.read_text())
    tree["content"] |= values
    path.write_text(json.dumps(tree))


def test_the_role_is_what_the_server_remembers(server: Server, tmp_path: Path) -> None:
    """A role that is changed in an invitation breaks its signature; a request names no role at all."""
    folder = server.invite("gil", "auditor")
    invitation = server.base / "gil.invite"
    change(invitation, role="operator")
    with pytest.raises(PeerError, match="was changed after the server signed it"):
        open_invitation(invitation, for_person=True)
    request = folder / "gil.request"
    forged = json.loads(request.read_text())
    forged["content"]["role"] = "operator"
    (tmp_path / "forged.request").write_text(json.dumps(forged))
    with pytest.raises(PeerError, match="is not a request for access"):
        read_file(tmp_path / "forged.request", AccessRequest)
    assert admission.admit_person(server.folder, read_file(request, AccessRequest)) == "auditor"
    with pytest.raises(PeerError, match="gil is already admitted"):
        admission.admit_person(server.folder, read_file(request, AccessRequest))
    people.revoke_person(server.folder, "gil")
    with pytest.raises(PeerError, match="no open invitation"):
        admission.admit_person(server.folder, read_file(request, AccessRequest))  # replayed


def test_invitations_of_sites_and_people_are_not_exchanged(server: Server, tmp_path: Path) -> None:
    made = admission.invite(server.folder, "hospital-x", server.place.address, 14)
    (tmp_path / "x.invite").write_bytes(encode_file(made))
    with pytest.raises(PeerError, match="for a site"):
        open_invitation(tmp_path / "x.invite", for_person=True)
    server.invite("pat", "operator")
    with pytest.raises(PeerError, match="for a person, as operator"):
        open_invitation(server.base / "pat.invite")
    folder = server.base / "pat"
    key: Any = load_pem_private_key((folder / "client.key").read_bytes(), None)
    content = AccessRequestContent(
        name="hospital-x",
        certificate=(folder / "client.crt").read_text(),
        token=made.content.token,
    )
    request = AccessRequest(content=content, proof=prove_certificate(content, key))
    with pytest.raises(PeerError, match="the invitation is for a site"):
        admission.admit_person(server.folder, request)
    stolen = AccessRequest(content=content, proof="00")
    with pytest.raises(PeerError, match="not signed with the key"):
        admission.admit_person(server.folder, stolen)


def test_names_and_keys_stand_for_one_person_or_site(server: Server, tmp_path: Path) -> None:
    server.admit("mia", "coordinator")
    with pytest.raises(PeerError, match="is the name of a person"):
        admission.invite(server.folder, "mia", "x:1", 14)
    register(server.folder, "hospital-y", certificates.make_node_key(tmp_path / "y.key"))
    with pytest.raises(PeerError, match="is the name of a site"):
        admission.invite(server.folder, "hospital-y", "x:1", 14, "auditor")
    key: Any = load_pem_private_key((tmp_path / "y.key").read_bytes(), None)
    pem = write_certificate(tmp_path / "as-person", key)
    with pytest.raises(PeerError, match="known already as that of hospital-y"):
        people.register_person(server.folder, "yan", "coordinator", pem)
    mine = (server.base / "mia" / "client.crt").read_text()
    with pytest.raises(PeerError, match="known already as that of mia"):
        people.register_person(server.folder, "yan", "operator", mine)


@pytest.mark.parametrize(
    "name", ["../up", "a/b", "a\nb", "a\x1b[31m", "", "-x", "x" * 201, "a\u202eb", "."]
)
def test_no_name_is_a_path_or_a_control_character(server: Server, name: str) -> None:
    with server.access("opa", "operator") as operator, server.access("kim", "coordinator") as kim:
        calls: list[tuple[ServerAccess, Call, dict[str, Any]]] = [
            (operator, "invite", {"name": name}),
            (operator, "revoke", {"name": name}),
            (kim, "open-run", {"run": name, "title": "t", "plan": ""}),
            (kim, "read-record", {"run": name}),
            (kim, "stop-run", {"run": name}),
        ]
        for person, call, body in calls:
            with pytest.raises(PeerError, match="malformed"):
                person.route.call(call, json.dumps(body).encode(), _explain)
    assert all(line.isprintable() for line in server.read_log().splitlines())
    assert not (server.folder.parent / "up").exists()


def _explain(body: bytes) -> Exception | None:
    return PeerError(json.loads(body)["message"])


def connect(server: Server, folder: Path | None) -> http.client.HTTPSConnection:
    context = ssl.create_default_context(cafile=str(server.folder / "ca.crt"))
    if folder is not None:
        context.load_cert_chain(folder / "client.crt", folder / "client.key")
    return http.client.HTTPSConnection(
        server.place.host, server.place.port, timeout=20, context=context
    )


def test_oversized_and_odd_requests(server: Server) -> None:
    kim = server.admit("kim", "coordinator")
    server.admit("max", "auditor")
    cases: list[tuple[Path | None, str, dict[str, str], int]] = [
        (kim, "/v1/tacit/send-record", {"content-length": str(9 * 2**20)}, 413),
        (kim, "/v1/tacit/send-record", {"content-encoding": "gzip", "content-length": "1"}, 413),
        (kim, "/v1/tacit/admit", {"content-length": str(9 * 2**20)}, 403),
        (kim, "/v1/tacit/../fleet/get-fab", {"content-length": "0"}, 404),
        (kim, "/v1/tacit/nothing", {"content-length": "0"}, 404),
        (kim, "/v1/tacit/carry-messages", {"content-length": "0"}, 404),
        (kim, "/v1/tacit/%0aoperator allowed", {"content-length": "0"}, 404),
        (kim, "/v1/fleet/pull-messages", {"content-length": "0"}, 401),
        (None, "/v1/tacit/show-me", {"content-length": str(2**30)}, 401),
        (None, "/v1/runtime/get-nodes", {"content-length": "0"}, 401),
    ]
    for folder, path, headers, status in cases:
        line = connect(server, folder)
        line.putrequest("POST", path.replace(" ", "%20"))
        for name, value in headers.items():
            line.putheader(name, value)
        line.endheaders()
        assert line.getresponse().status == status, path
        line.close()
    log = server.read_log()
    assert "unknown (no role) from 127.0.0.1: show-me refused" in log
    assert "operator allowed" not in log


def test_an_operator_elsewhere_manages_sites_and_people_but_no_operators(server: Server) -> None:
    with server.access("opa", "operator") as operator:
        made = operator.call(
            "invite", m.Invite(name="noa", role="auditor", address=server.place.address), m.Invited
        )
        path, folder = server.base / "noa.invite", server.base / "noa"
        path.write_text(made.file)
        opened = open_invitation(path, for_person=True)
        assert opened.fingerprint == made.fingerprint
        text = create_access(folder, opened).read_text()
        with pytest.raises(PeerError, match="is not that of the request"):
            operator.call("admit", m.Admit(request=text, fingerprint="0" * 64), m.Nothing)
        body = m.Admit(request=text, fingerprint=read_own_fingerprint(folder))
        operator.call("admit", body, m.Nothing)
        listed = operator.call("list-people", m.Nothing(), dict[str, m.ListedPerson])
        assert listed["noa"].role == "auditor"
        assert listed["noa"].fingerprint == read_own_fingerprint(folder)
        with ServerAccess(folder) as noa:
            operator.call("revoke", m.Named(name="noa"), m.Nothing)
            with pytest.raises(AccessError):
                noa.list_sites()
            operator.call("restore", m.Named(name="noa"), m.Nothing)
            noa.list_sites()
        server.admit("boss", "operator")
        for call, asked in {
            "invite": m.Invite(name="crony", role="operator"),
            "revoke": m.Named(name="boss"),
            "restore": m.Named(name="boss"),
        }.items():
            with pytest.raises(AccessError, match="server's own machine only"):
                operator.call(call, asked, msgspec.Raw)  # type: ignore[arg-type]
        waiting = (server.invite("crony", "operator") / "crony.request").read_text()
        asked = m.Admit(request=waiting, fingerprint=read_own_fingerprint(server.base / "crony"))
        with pytest.raises(AccessError, match="server's own machine only"):
            operator.call("admit", asked, m.Nothing)
        renewed = operator.call("renew-server-certificate", m.Renew(at_once=True), m.Renewed)
        assert renewed.is_new
        assert operator.list_sites() is not None
        with pytest.raises(PeerError, match="not registered"):
            operator.call("revoke", m.Named(name="nosite"), m.Nothing)
    assert "opa (operator) from 127.0.0.1: admit" in server.read_log()


def test_a_person_renews_the_own_certificate(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = server.admit("ren", "auditor")
    before = read_own_fingerprint(folder)
    renew_certificate(folder)
    assert read_own_fingerprint(folder) != before
    with ServerAccess(folder) as ren:
        assert ren.call("show-me", m.Nothing(), m.Me).role == "auditor"
    real = ServerAccess.call

    def lose(self: Any, name: Any, body: Any, kind: Any) -> Any:
        answer = real(self, name, body, kind)
        if name == "replace-certificate":
            raise PeerError("the connection broke after the server had replaced it")
        return answer

    monkeypatch.setattr(ServerAccess, "call", lose)
    with pytest.raises(PeerError, match="broke after"):
        renew_certificate(folder)
    monkeypatch.undo()
    renew_certificate(folder)
    with ServerAccess(folder) as ren:
        ren.list_sites()
    pem = (folder / "client.crt").read_text()
    der = x509.load_pem_x509_certificate(pem.encode()).public_bytes(
        certificates.serialization.Encoding.DER
    )
    known = people.read_people(server.folder)["ren"]
    assert fingerprint_person("ren", der) == fingerprint_person("ren", known.der)


def test_nobody_replaces_the_certificate_of_another(server: Server, tmp_path: Path) -> None:
    with server.access("kim", "coordinator") as kim:
        server.admit("opa", "operator")
        pem = write_certificate(tmp_path, key := ec.generate_private_key(ec.SECP384R1()))
        content = AccessRequestContent(name="opa", certificate=pem, token="0" * 64)
        forged = AccessRequest(content=content, proof=prove_certificate(content, key))
        body = m.ReplaceCertificate(request=encode_file(forged).decode())
        with pytest.raises(AccessError, match="no certificate but their own"):
            kim.call("replace-certificate", body, m.Nothing)


def test_equal_run_names_of_two_coordinators_at_once(server: Server) -> None:
    """Both ask for the same name at the same moment: one gets it, the other is told."""
    done, told = list[str](), list[str]()

    def open_run(name: str) -> None:
        with server.access(name, "coordinator") as person:
            try:
                person.call("open-run", m.OpenRun(run="same-1", title="s", plan=name), m.OpenedRun)
                done.append(name)
            except AccessError as error:
                told.append(str(error))

    for name in ("kim", "lea"):
        server.admit(name, "coordinator")
    threads = [threading.Thread(target=open_run, args=(name,)) for name in ("kim", "lea")]
    _run_all(threads)
    assert len(done) == len(told) == 1
    assert "another coordinator" in told[0]
    with server.access("max", "auditor") as auditor:
        (one,) = [
            run
            for run in auditor.call("list-runs", m.Nothing(), m.ListedRuns).runs
            if run.run == "same-1"
        ]
        assert one.coordinator == done[0]
        assert auditor.read_record("same-1")[1] == done[0], "the plan of the one who got it"


def _run_all(threads: list[threading.Thread]) -> None:
    step: Callable[[threading.Thread], None]
    for step in (threading.Thread.start, threading.Thread.join):
        for thread in threads:
            step(thread)


def test_a_server_without_people_asks_for_no_certificate(server: Server, tmp_path: Path) -> None:
    assert people.AdmittedPeople(tmp_path).read_certificates() == ""
    assert read_registry(tmp_path) == {}
