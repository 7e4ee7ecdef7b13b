"""Certificates and keys of a federation: its own authority, the server's certificate, and a key per
site.

`replace_file` writes every file with mode 0600, whatever the umask.
"""

from __future__ import annotations

import ipaddress
import os
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from tacit.errors import PeerError
from tacit.files import replace_file

AUTHORITY = "ca.crt"
"""The authority's certificate, by which sites verify the server; it is public."""
AUTHORITY_KEY = "ca.key"
CLIENT_CERTIFICATE = "client.crt"
"""The certificate by which the server knows a person; it is signed with the person's own key."""
CLIENT_KEY = "client.key"
SERVER_CERTIFICATE = "server.crt"
SERVER_KEY = "server.key"

_SERVER_DAYS = 90
RENEWAL_DAYS = 30
"""A server's certificate is renewed once it is valid for fewer days than this."""
_AUTHORITY_DAYS = 5 * 365
_CLIENT_DAYS = 365
_LONGEST_CLIENT_DAYS = 400
_CLOCK_TOLERANCE = timedelta(hours=1)
_LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")


def make_authority(folder: Path) -> None:
    """Write the key and certificate of a new authority to `folder`.

    Anybody with the key can impersonate the server.
    """
    make_private_folder(folder)
    _refuse_to_replace(folder / AUTHORITY_KEY)
    key = ec.generate_private_key(ec.SECP384R1())
    certificate = (
        _start_certificate("Tacit authority", key, _AUTHORITY_DAYS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_build_key_usage(signs_certificates=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA384())
    )
    replace_file(folder / AUTHORITY_KEY, _encode_private_key(key))
    replace_file(folder / AUTHORITY, certificate.public_bytes(serialization.Encoding.PEM))


def make_server_certificate(folder: Path, hosts: Sequence[str]) -> None:
    """Write the server's key and a certificate for its host names, signed by the folder's
    authority.

    The certificate always includes the loopback names, which the server's own commands use. It is
    valid for 90 days, and no longer than its authority; a new one replaces it without any change at
    the sites.
    """
    try:
        authority_key = serialization.load_pem_private_key(
            (folder / AUTHORITY_KEY).read_bytes(), password=None
        )
        authority = x509.load_pem_x509_certificate((folder / AUTHORITY).read_bytes())
    except FileNotFoundError as error:
        raise PeerError(
            f"a server certificate needs an authority, but {error.filename} is missing; make one"
            f" with `tacit server certs create {folder}`"
        ) from None
    assert isinstance(authority_key, ec.EllipticCurvePrivateKey)
    _refuse_ended(folder / AUTHORITY, authority)
    key = ec.generate_private_key(ec.SECP384R1())
    certificate = (
        _start_certificate("Tacit server", key, _SERVER_DAYS, authority.not_valid_after_utc)
        .add_extension(
            x509.SubjectAlternativeName(
                [_build_general_name(host) for host in dict.fromkeys((*hosts, *_LOCAL_HOSTS))]
            ),
            critical=False,
        )
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_build_key_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(
                authority.public_key()  # type: ignore[arg-type]
            ),
            critical=False,
        )
        .sign(authority_key, hashes.SHA384())
    )
    replace_file(folder / SERVER_KEY, _encode_private_key(key))
    replace_file(folder / SERVER_CERTIFICATE, certificate.public_bytes(serialization.Encoding.PEM))


def make_client_certificate(folder: Path) -> None:
    """Write a person's key and a certificate signed with that key, valid for a year.

    Only its fingerprint makes it known: the server's authority signs no certificate of people.
    """
    make_private_folder(folder)
    _refuse_to_replace(folder / CLIENT_KEY)
    key = ec.generate_private_key(ec.SECP384R1())
    # The name is random: TLS looks certificates up by name, and it says nothing about the person.
    name = f"Tacit client {secrets.token_hex(8)}"
    certificate = (
        _start_certificate(name, key, _CLIENT_DAYS, issuer=name)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_build_key_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA384())
    )
    replace_file(folder / CLIENT_KEY, _encode_private_key(key))
    replace_file(folder / CLIENT_CERTIFICATE, certificate.public_bytes(serialization.Encoding.PEM))


def check_client_certificate(pem: str) -> bytes:
    """The certificate of a person as DER; raise PeerError unless it is valid now and its key on P-384
    signed it.

    A certificate that could sign others, or that is valid for years, is refused.
    """
    problem = "the certificate in the request is not one that `tacit server connect` makes"
    try:
        found = x509.load_pem_x509_certificate(pem.encode("ascii"))
        found.verify_directly_issued_by(found)
        constraints = found.extensions.get_extension_for_class(x509.BasicConstraints).value
        usage = found.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
        key = found.public_key()
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm, x509.ExtensionNotFound):
        raise PeerError(f"{problem}; ask for the file again") from None
    if (
        constraints.ca
        or list(usage) != [ExtendedKeyUsageOID.CLIENT_AUTH]
        or not isinstance(key, ec.EllipticCurvePublicKey)
        or not isinstance(key.curve, ec.SECP384R1)
        or found.public_bytes(serialization.Encoding.PEM).decode() != pem
    ):
        raise PeerError(f"{problem}; ask for the file again")
    now = datetime.now(UTC)
    if not found.not_valid_before_utc <= now < found.not_valid_after_utc:
        raise PeerError(
            f"the certificate in the request is valid from {found.not_valid_before_utc:%Y-%m-%d} to"
            f" {found.not_valid_after_utc:%Y-%m-%d} only; check the clocks, and ask for a new request"
        )
    if found.not_valid_after_utc - now > timedelta(days=_LONGEST_CLIENT_DAYS):
        raise PeerError(
            f"the certificate in the request is valid for more than {_LONGEST_CLIENT_DAYS} days; ask"
            " for a new request"
        )
    return found.public_bytes(serialization.Encoding.DER)


def read_server_certificate(folder: Path) -> x509.Certificate:
    """Load the server's certificate."""
    path = folder / SERVER_CERTIFICATE
    try:
        return x509.load_pem_x509_certificate(path.read_bytes())
    except (OSError, ValueError):
        raise PeerError(
            f"{path} is missing or not a certificate; make one with `tacit server certs create {folder}"
            " --name NAME`"
        ) from None


def list_hosts(certificate: x509.Certificate) -> list[str]:
    """Host names and addresses that a certificate is for, without the loopback ones."""
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    hosts = [str(name.value) for name in names]
    return [host for host in hosts if host not in _LOCAL_HOSTS]


def renew_server_certificate(folder: Path, *, at_once: bool) -> bool:
    """Replace the server's certificate by one for the same hosts if it ends soon, or at once; return
    whether it was replaced.
    """
    present = read_server_certificate(folder)
    left = present.not_valid_after_utc - datetime.now(UTC)
    if not at_once and left > timedelta(days=RENEWAL_DAYS):
        return False
    make_server_certificate(folder, list_hosts(present))
    return True


def parse_node_key(line: str) -> ec.EllipticCurvePublicKey:
    """Read the public key of a site from an OpenSSH line; raise ValueError if it is none."""
    try:
        key = serialization.load_ssh_public_key(line.encode())
    except UnsupportedAlgorithm as error:
        raise ValueError(str(error)) from None
    if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, ec.SECP384R1):
        raise ValueError("not a key on the curve P-384")
    return key


def format_node_key(key: ec.EllipticCurvePublicKey) -> str:
    """The public key of a site as an OpenSSH line."""
    encoded = key.public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    return encoded.decode("ascii")


def make_node_key(path: Path) -> bytes:
    """Write a site's private key, and its public key to a `.pub` file next to it.

    Returns the public key as one OpenSSH line.
    """
    make_private_folder(path.parent)
    _refuse_to_replace(path)
    key = ec.generate_private_key(ec.SECP384R1())
    public = format_node_key(key.public_key()).encode()
    replace_file(path, _encode_private_key(key))
    replace_file(path.with_name(f"{path.name}.pub"), public + b"\n")
    return public


def make_private_folder(folder: Path) -> None:
    """Create a folder that only its owner can open."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)


def read_private(path: Path) -> bytes:
    """Content of a secret file; a file that other users may read is refused."""
    try:
        mode = path.stat().st_mode
        content = path.read_bytes()
    except OSError as error:
        raise PeerError(
            f"{path} cannot be read ({error.strerror}); restore it, or make the folder again"
        ) from None
    if os.name == "posix" and mode & 0o077:
        raise PeerError(
            f"{path} holds a secret and other users may read it; run chmod 600 {path}, or make a"
            " new one"
        )
    return content


def _refuse_ended(path: Path, authority: x509.Certificate) -> None:
    if authority.not_valid_after_utc <= datetime.now(UTC):
        raise PeerError(
            f"{path} ended on {authority.not_valid_after_utc:%Y-%m-%d}; move it and {AUTHORITY_KEY}"
            " away, make a new authority with `tacit server certs create`, and invite every site again"
        )


def _start_certificate(
    subject: str,
    key: ec.EllipticCurvePrivateKey,
    days: int,
    latest: datetime | None = None,
    issuer: str = "Tacit authority",
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    end = now + timedelta(days=days)
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_TOLERANCE)
        .not_valid_after(end if latest is None else min(end, latest))
    )


def _build_key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
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


def _build_general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _encode_private_key(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _refuse_to_replace(path: Path) -> None:
    if path.exists():
        raise PeerError(
            f"{path} already exists, and others may rely on that key; remove the file first to"
            " replace it"
        )
