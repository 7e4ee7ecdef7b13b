"""Certificates and keys: who signed what, for whom, for how long, and who may read it."""

from __future__ import annotations

import stat
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_ssh_public_key

from tacit.deployment.transport import certificates
from tacit.deployment.transport.certificates import (
    list_hosts,
    make_authority,
    make_node_key,
    make_server_certificate,
    read_private,
    read_server_certificate,
    renew_server_certificate,
)
from tacit.errors import PeerError


def test_server_certificate_is_of_the_authority_and_names_its_hosts(tmp_path: Path) -> None:
    make_authority(tmp_path)
    make_server_certificate(tmp_path, ["server.example", "192.0.2.7"])
    authority = x509.load_pem_x509_certificate((tmp_path / "ca.crt").read_bytes())
    certificate = x509.load_pem_x509_certificate((tmp_path / "server.crt").read_bytes())
    certificate.verify_directly_issued_by(authority)
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert "server.example" in names.get_values_for_type(x509.DNSName)
    assert {"192.0.2.7", "127.0.0.1"} <= {
        str(each) for each in names.get_values_for_type(x509.IPAddress)
    }
    life = certificate.not_valid_after_utc - certificate.not_valid_before_utc
    assert timedelta(days=90) <= life < timedelta(days=91)


def test_secrets_are_their_owners_alone(tmp_path: Path) -> None:
    folder = tmp_path / "server"
    make_authority(folder)
    make_server_certificate(folder, [])
    make_node_key(folder / "node.key")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for name in ("ca.key", "server.key", "node.key"):
        assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600


def test_node_key_comes_with_its_public_line(tmp_path: Path) -> None:
    public = make_node_key(tmp_path / "node.key")
    assert public.startswith(b"ecdsa-sha2-nistp384 ")
    assert (tmp_path / "node.key.pub").read_bytes().strip() == public
    load_ssh_public_key(public)


def test_nothing_is_replaced_and_nothing_open_is_read(tmp_path: Path) -> None:
    make_node_key(tmp_path / "node.key")
    with pytest.raises(PeerError, match="already exists"):
        make_node_key(tmp_path / "node.key")
    make_authority(tmp_path)
    with pytest.raises(PeerError, match="already exists"):
        make_authority(tmp_path)
    (tmp_path / "node.key").chmod(0o644)
    with pytest.raises(PeerError, match="chmod 600"):
        read_private(tmp_path / "node.key")


def test_server_certificate_needs_an_authority(tmp_path: Path) -> None:
    with pytest.raises(PeerError, match=r"ca\.key"):
        make_server_certificate(tmp_path, [])


def test_a_certificate_is_renewed_when_it_ends_soon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_authority(tmp_path)
    monkeypatch.setattr(certificates, "_SERVER_DAYS", 29)
    make_server_certificate(tmp_path, ["server.example", "192.0.2.7"])
    before = read_server_certificate(tmp_path)
    monkeypatch.setattr(certificates, "_SERVER_DAYS", 90)
    assert renew_server_certificate(tmp_path, at_once=False)
    after = read_server_certificate(tmp_path)
    assert after.not_valid_after_utc > before.not_valid_after_utc
    assert list_hosts(after) == list_hosts(before) == ["server.example", "192.0.2.7"]
    assert not renew_server_certificate(tmp_path, at_once=False)
    with pytest.raises(PeerError, match="is missing or not a certificate"):
        renew_server_certificate(tmp_path / "nowhere", at_once=True)


def test_a_certificate_ends_with_its_authority(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(certificates, "_AUTHORITY_DAYS", 10)
    make_authority(tmp_path / "short")
    make_server_certificate(tmp_path / "short", [])
    authority = x509.load_pem_x509_certificate((tmp_path / "short" / "ca.crt").read_bytes())
    made = read_server_certificate(tmp_path / "short")
    assert made.not_valid_after_utc == authority.not_valid_after_utc
    monkeypatch.setattr(certificates, "_AUTHORITY_DAYS", 0)
    make_authority(tmp_path / "ended")
    with pytest.raises(PeerError, match="invite every site again"):
        make_server_certificate(tmp_path / "ended", [])
