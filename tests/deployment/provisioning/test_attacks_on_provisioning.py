"""Forged invitations and raced admissions: what an attacker in the mail, or between two commands, gains nothing from."""

from __future__ import annotations

import base64
import shutil
from pathlib import Path

import msgspec
import pytest

pytest.importorskip("flwr", reason="needs tacit[flower]")

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit.deployment.provisioning import admission
from tacit.deployment.provisioning.admission import admit, examine_request, load_identity
from tacit.deployment.provisioning.enrolment import open_invitation, read_public_keys, replace_keys
from tacit.deployment.provisioning.signed_files import (
    AdmissionRequest,
    Invitation,
    RequestContent,
    SiteKeys,
    encode_file,
    prove_keys,
    read_file,
    sign_invitation,
)
from tacit.deployment.site.site_folder import load_node_key, load_signing_key
from tacit.deployment.transport.address import split_address
from tacit.deployment.transport.server.registry import read_registry, read_sites, revoke
from tacit.errors import PeerError
from tests.deployment.provisioning.parties import (
    invite_to,
    make_server,
    make_site,
    replace_flower,
)


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    replace_flower(monkeypatch)
    return make_server(tmp_path / "server")


def admitted(server: Path, name: str = "hospital-a") -> Path:
    folder, request = make_site(invite_to(server, name))
    admit(server, examine_request(server, request)[0])
    return folder


def rewrite(path: Path, key: Ed25519PrivateKey, **changes: str) -> Path:
    content = read_file(path, Invitation).content
    path.write_bytes(encode_file(sign_invitation(msgspec.structs.replace(content, **changes), key)))
    return path


def request_of(folder: Path, content: RequestContent, signing: Ed25519PrivateKey) -> Path:
    proof = prove_keys(content, load_node_key(folder), signing)
    path = folder / "forged.request"
    path.write_bytes(encode_file(AdmissionRequest(content=content, proof=proof)))
    return path


@pytest.mark.parametrize("end", ["\n", "\r", "\x1b[2K", " ", "\u2028", "٨", "<b>"])
def test_an_address_shows_no_fingerprint_of_its_own(server: Path, end: str) -> None:
    """The owner compares the digits below the address: an address with a line end shows the true ones first."""
    path = invite_to(server, "hospital-a")
    true = open_invitation(path).fingerprint
    thief = Ed25519PrivateKey.generate()
    address = f"tacit.example.org:8443:{end}  {true}{end}formerly at evil.example:8443"
    rewrite(path, thief, server=address, server_key=thief.public_key().public_bytes_raw().hex())
    with pytest.raises(PeerError, match="address must be host:port") as refused:
        open_invitation(path)
    assert len(str(refused.value).splitlines()) == 1


@pytest.mark.parametrize(
    "address", ["a.example:1", "127.0.0.1:65535", "[::1]:8443", "fe80::1%eth0:8443", "host_1-b:80"]
)
def test_usual_addresses_are_read(address: str) -> None:
    assert split_address(address)[1] == int(address.rpartition(":")[2])


def test_an_invitation_holds_one_authority(server: Path) -> None:
    """The fingerprint covers the first certificate of a file, and TLS would trust all of them."""
    path, own = invite_to(server, "hospital-a"), load_identity(server, tls=True)
    other = load_identity(make_server(server.parent / "other"), tls=True)
    assert own.authority
    assert other.authority
    rewrite(path, own.key, authority=own.authority + other.authority)
    with pytest.raises(PeerError, match="no valid certificate of an authority"):
        open_invitation(path)


def test_a_site_that_was_revoked_while_somebody_compared_digits(server: Path) -> None:
    folder = admitted(server)
    request = examine_request(server, replace_keys(folder))[0]
    revoke(server, "hospital-a")
    with pytest.raises(PeerError, match="does not admit now"):
        admit(server, request)
    assert read_sites(server) == {}


def test_a_token_that_was_replaced_while_somebody_compared_digits(server: Path) -> None:
    request = examine_request(server, make_site(invite_to(server, "hospital-a"))[1])[0]
    invite_to(server, "hospital-a")
    with pytest.raises(PeerError, match="not that of the last invitation"):
        admit(server, request)
    assert read_registry(server) == {}


def test_a_token_that_was_used_while_somebody_compared_digits(server: Path, tmp_path: Path) -> None:
    invitation = invite_to(server, "hospital-a")
    late = examine_request(server, make_site(invitation, tmp_path / "late")[1])[0]
    admit(server, examine_request(server, make_site(invitation, tmp_path / "first")[1])[0])
    revoke(server, "hospital-a")
    with pytest.raises(PeerError, match="no open invitation"):
        admit(server, late)
    assert read_sites(server) == {}


def test_an_invitation_that_ended_while_somebody_compared_digits(
    server: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = examine_request(server, make_site(invite_to(server, "hospital-a", days=1))[1])[0]
    later = admission.time.time() + 2 * 86_400
    monkeypatch.setattr(admission.time, "time", lambda: later)
    with pytest.raises(PeerError, match="its invitation ended"):
        admit(server, request)


@pytest.mark.parametrize("name", ["Hospital-A", "HOSPITAL-a"])
def test_names_that_differ_in_case_only(server: Path, name: str) -> None:
    admitted(server, "hospital-a")
    with pytest.raises(PeerError, match="upper and lower case"):
        invite_to(server, name)


def test_two_sites_have_two_signing_keys(server: Path) -> None:
    """Secure aggregation counts on helpers that are different parties."""
    first, invitation = admitted(server, "hospital-a"), invite_to(server, "hospital-b")
    folder, _ = make_site(invitation)
    keys = SiteKeys(
        node_key=read_public_keys(folder).node_key, signing_key=read_public_keys(first).signing_key
    )
    token = open_invitation(invitation).invitation.content.token
    content = RequestContent(site="hospital-b", keys=keys, token=token)
    request = examine_request(server, request_of(folder, content, load_signing_key(first)))[0]
    with pytest.raises(PeerError, match="already registered with the key of hospital-b"):
        admit(server, request)


def test_a_key_has_one_spelling(server: Path) -> None:
    """Two spellings of a key are two names of one site."""
    invitation = invite_to(server, "hospital-a")
    folder, _ = make_site(invitation)
    keys = read_public_keys(folder)
    kind, _, written = keys.node_key.partition(" ")
    body = written.rstrip("=")
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    other = body[:-1] + letters[letters.index(body[-1]) + 1] + "=" * (len(written) - len(body))
    assert base64.b64decode(other) == base64.b64decode(written)
    token = open_invitation(invitation).invitation.content.token
    spelled = SiteKeys(node_key=f"{kind} {other}", signing_key=keys.signing_key)
    content = RequestContent(site="hospital-a", keys=spelled, token=token)
    with pytest.raises(PeerError, match="not signed with the keys in it"):
        examine_request(server, request_of(folder, content, load_signing_key(folder)))


def test_old_keys_that_were_stolen_replace_nothing(server: Path, tmp_path: Path) -> None:
    folder = admitted(server)
    stolen = tmp_path / "stolen"
    shutil.copytree(folder, stolen)
    admit(server, examine_request(server, replace_keys(folder))[0])
    with pytest.raises(PeerError, match="does not admit now"):
        examine_request(server, replace_keys(stolen))
