"""The people whom a server admits: name, role, certificate, and whether the access is revoked."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from tacit.deployment.access.roles import Role
from tacit.deployment.transport.server.registry import (
    lock_registry,
    read_registry,
    refuse_similar_name,
)
from tacit.errors import AccessError, PeerError, did_you_mean
from tacit.files import replace_file

PEOPLE = "people.json"
"""Every person that was admitted: {name: {role, certificate}}, with the time `revoked` if the access
is revoked.
"""


class Person(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A person who may reach the server from another machine. `certificate` is PEM."""

    role: Role
    certificate: str
    revoked: str | None = None

    @property
    def der(self) -> bytes:
        """The certificate as TLS shows it."""
        return x509.load_pem_x509_certificate(self.certificate.encode()).public_bytes(Encoding.DER)


@dataclass(frozen=True)
class KnownPerson:
    """A person found by certificate (DER): name, role, and until when the certificate is valid."""

    name: str
    role: Role
    ends: datetime
    revoked: str | None
    certificate: bytes

    def explain_refusal(self) -> str | None:
        """Why nothing is allowed at the moment; None if the access is in order."""
        if self.revoked is not None:
            return f"the access of {self.name} was revoked on {self.revoked[:10]}"
        if self.ends <= datetime.now(UTC):
            return f"the certificate of {self.name} ended on {self.ends:%Y-%m-%d}"
        return None


def read_people(folder: Path) -> dict[str, Person]:
    """All people of a server's folder by name, the revoked ones included."""
    try:
        return msgspec.json.decode((folder / PEOPLE).read_bytes(), type=dict[str, Person])
    except FileNotFoundError:
        return {}
    except (OSError, msgspec.MsgspecError) as error:
        raise PeerError(
            f"{folder / PEOPLE} cannot be read ({type(error).__name__}); restore it, or delete it and"
            " invite people again"
        ) from None


def register_person(folder: Path, name: str, role: Role, certificate: str) -> None:
    """Admit a person. A certificate takes the place of a revoked one of the same name, and of no
    other.
    """
    with lock_registry(folder):
        known = read_people(folder)
        require_free_name(folder, name, known)
        _require_new_certificate(folder, certificate, known)
        known[name] = Person(role=role, certificate=certificate)
        _write_people(folder, known)


def require_free_name(folder: Path, name: str, known: dict[str, Person] | None = None) -> None:
    """Raise PeerError if a site, or an admitted person, has the name: a name stands for one of
    them.
    """
    people, sites = read_people(folder) if known is None else known, read_registry(folder)
    refuse_similar_name([*people, *sites], name)
    if name in sites:
        raise PeerError(f"{name} is the name of a site; choose another name for the person")
    if name in people and people[name].revoked is None:
        raise PeerError(
            f"{name} is already admitted as {people[name].role}; for another role or a new key run"
            f" `tacit server revoke {name}` first"
        )


def require_no_person(folder: Path, site: str, node_key: str) -> None:
    """Raise PeerError if a person has the name of a new site, or its key."""
    known = read_people(folder)
    refuse_similar_name(known, site)
    if site in known:
        raise PeerError(f"{site} is the name of a person; choose another name for the site")
    key = _read_ssh_key(node_key)
    for name, person in known.items():
        if _read_key(person.certificate) == key:
            raise PeerError(
                f"the key of site {site} is known already as that of {name}; the site makes a key of"
                " its own with `tacit site init`"
            )


def replace_certificate(folder: Path, name: str, certificate: str, present: bytes) -> None:
    """Give an admitted person a new certificate; the old one is refused from now on.

    `present` (DER) is the certificate by which the person asks. If the person was revoked, or has
    another one by now, AccessError is raised: the holder of an old key must not undo a renewal.
    """
    with lock_registry(folder):
        known = read_people(folder)
        person = _find_person(known, name)
        if person.revoked is not None or person.der != present:
            raise AccessError(
                f"the certificate of {name} was replaced or revoked in the meantime; ask the"
                " server's operator"
            )
        _require_new_certificate(folder, certificate, known)
        known[name] = msgspec.structs.replace(person, certificate=certificate)
        _write_people(folder, known)


def revoke_person(folder: Path, name: str) -> None:
    """Revoke the access of a person: the running server refuses the next call. `restore_person`
    undoes it.
    """
    with lock_registry(folder):
        known = read_people(folder)
        moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        known[name] = msgspec.structs.replace(_find_person(known, name), revoked=moment)
        _write_people(folder, known)


def restore_person(folder: Path, name: str) -> None:
    """Admit a revoked person again, with the certificate they had."""
    with lock_registry(folder):
        known = read_people(folder)
        person = _find_person(known, name)
        if person.revoked is None:
            raise PeerError(f"{name} is not revoked; nothing was changed")
        known[name] = msgspec.structs.replace(person, revoked=None)
        _write_people(folder, known)


def _find_person(known: dict[str, Person], name: str) -> Person:
    if name not in known:
        raise PeerError(f"{name!r} is not admitted.{did_you_mean(name, list(known))}")
    return known[name]


def _require_new_certificate(folder: Path, certificate: str, known: dict[str, Person]) -> None:
    """Raise PeerError if somebody else, or a site, holds the key: a key identifies one of them."""
    key = _read_key(certificate)
    taken = {_read_key(person.certificate): name for name, person in known.items()}
    taken |= {_read_ssh_key(facts["public_key"]): name for name, facts in _list_sites(folder)}
    if key in taken:
        raise PeerError(
            f"the key is known already as that of {taken[key]}; a person makes a key of their own with"
            " `tacit server connect`"
        )


def _list_sites(folder: Path) -> list[tuple[str, dict[str, str]]]:
    return list(read_registry(folder).items())


def _read_key(certificate: str) -> bytes:
    from cryptography.hazmat.primitives.serialization import PublicFormat

    found = x509.load_pem_x509_certificate(certificate.encode()).public_key()
    return found.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def _read_ssh_key(line: str) -> bytes:
    from cryptography.hazmat.primitives.serialization import PublicFormat

    from tacit.deployment.transport.certificates import parse_node_key

    return parse_node_key(line).public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def _write_people(folder: Path, known: dict[str, Person]) -> None:
    replace_file(folder / PEOPLE, msgspec.json.format(msgspec.json.encode(known), indent=1))


class AdmittedPeople:
    """The people of a running server, read again when their file changes: a revocation holds from
    the next call on.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._version: tuple[int, int] | None = None
        self._people: dict[bytes, KnownPerson] = {}
        self._certificates = ""

    def find(self, der: bytes) -> KnownPerson | None:
        """The person with a certificate, the revoked ones included."""
        with self._lock:
            self._refresh()
            return self._people.get(der)

    def read_certificates(self) -> str:
        """The certificates of all people (PEM), for TLS to check that a caller holds the key of
        one.
        """
        with self._lock:
            self._refresh()
            return self._certificates

    @property
    def version(self) -> tuple[int, int] | None:
        """A value that changes with the file."""
        try:
            found = os.stat(self._folder / PEOPLE)
        except FileNotFoundError:
            return None
        return found.st_mtime_ns, found.st_ino

    def _refresh(self) -> None:
        version = self.version
        if version == self._version and version is not None:
            return
        people = read_people(self._folder)
        found = {}
        for name, person in people.items():
            certificate = x509.load_pem_x509_certificate(person.certificate.encode())
            found[certificate.public_bytes(Encoding.DER)] = KnownPerson(
                name,
                person.role,
                certificate.not_valid_after_utc,
                person.revoked,
                certificate.public_bytes(Encoding.DER),
            )
        self._people, self._version = found, version
        self._certificates = "".join(person.certificate for person in people.values())
