"""Certificates and keys of a federation: its own authority, the server's certificate, and a key for
each site.

`replace_file` writes every file for its owner only (0600), whatever the umask.
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from tacit.errors import PeerError
from tacit.files import replace_file

AUTHORITY = "ca.crt"
"""What sites need to know the server by; it is public."""
AUTHORITY_KEY = "ca.key"
SERVER_CERTIFICATE = "server.crt"
SERVER_KEY = "server.key"

_SERVER_DAYS = 90
_AUTHORITY_DAYS = 5 * 365
_CLOCKS_DIFFER = timedelta(hours=1)
_HERE = ("localhost", "127.0.0.1", "::1")


def make_authority(folder: Path) -> None:
    """Write an authority's key and certificate to a folder; whoever holds the key can pose as the
    server.
    """
    private_folder(folder)
    _refuse_to_replace(folder / AUTHORITY_KEY)
    key = ec.generate_private_key(ec.SECP384R1())
    certificate = (
        _certificate("Tacit authority", key, _AUTHORITY_DAYS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA384())
    )
    replace_file(folder / AUTHORITY_KEY, _private_bytes(key))
    replace_file(folder / AUTHORITY, certificate.public_bytes(serialization.Encoding.PEM))


def make_server_certificate(folder: Path, hosts: Sequence[str]) -> None:
    """Write the server's key and a certificate for its host names and addresses, signed by the
    authority in the same folder.

    This machine's own names are always among them, since the server's own commands use them. A
    certificate is valid for 90 days; made again, it replaces the old one and sites notice nothing.
    """
    try:
        authority_key = serialization.load_pem_private_key(
            (folder / AUTHORITY_KEY).read_bytes(), password=None
        )
        authority = x509.load_pem_x509_certificate((folder / AUTHORITY).read_bytes())
    except FileNotFoundError as error:
        raise PeerError(
            f"a server certificate needs an authority, and there is no {error.filename}; make one"
            " first"
        ) from None
    assert isinstance(authority_key, ec.EllipticCurvePrivateKey)
    key = ec.generate_private_key(ec.SECP384R1())
    certificate = (
        _certificate("Tacit server", key, _SERVER_DAYS)
        .add_extension(
            x509.SubjectAlternativeName([_name(host) for host in dict.fromkeys((*hosts, *_HERE))]),
            critical=False,
        )
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(
                authority.public_key()  # type: ignore[arg-type]
            ),
            critical=False,
        )
        .sign(authority_key, hashes.SHA384())
    )
    replace_file(folder / SERVER_KEY, _private_bytes(key))
    replace_file(folder / SERVER_CERTIFICATE, certificate.public_bytes(serialization.Encoding.PEM))


def make_node_key(path: Path) -> bytes:
    """Write a site's private key, and its public key beside it (`.pub`); return the public key as
    one OpenSSH line.
    """
    private_folder(path.parent)
    _refuse_to_replace(path)
    key = ec.generate_private_key(ec.SECP384R1())
    public = key.public_key().public_bytes(
        serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
    )
    replace_file(path, _private_bytes(key))
    replace_file(path.with_name(f"{path.name}.pub"), public + b"\n")
    return public


def private_folder(folder: Path) -> None:
    """Make a folder that is its owner's only."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)


def read_private(path: Path) -> bytes:
    """Return a secret file's content; refuse one that others could have read."""
    try:
        mode = path.stat().st_mode
        content = path.read_bytes()
    except OSError as error:
        raise PeerError(
            f"{path}: cannot be read ({error.strerror}); it should have been made with the folder"
        ) from None
    if os.name == "posix" and mode & 0o077:
        raise PeerError(
            f"{path}: needs to be its owner's alone, and others may read it; chmod 600 {path}, or"
            " make a new one"
        )
    return content


def _certificate(
    subject: str, key: ec.EllipticCurvePrivateKey, days: int
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Tacit authority")]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCKS_DIFFER)
        .not_valid_after(now + timedelta(days=days))
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _private_bytes(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _refuse_to_replace(path: Path) -> None:
    if path.exists():
        raise PeerError(
            f"{path}: already exists; who knows the old key would not know a new one; remove it if"
            " you mean to"
        )
