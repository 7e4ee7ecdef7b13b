"""The server's side of provisioning: inviting sites, and admitting them by their requests.

An invitation holds a token that admits one site once. The server keeps the token's hash until the
invitation is used, replaced or too old. The token only keeps out requests that nobody asked for:
what identifies a site is its fingerprint, which the operator compares with its owner.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding

from tacit.deployment.access.people import (
    read_people,
    register_person,
    require_free_name,
    require_no_person,
)
from tacit.deployment.access.roles import Role
from tacit.deployment.provisioning.fingerprint import (
    fingerprint_person,
    fingerprint_server,
    fingerprint_site,
    format_fingerprint,
)
from tacit.deployment.provisioning.signed_files import (
    AccessRequest,
    AdmissionRequest,
    Hex32,
    Invitation,
    InvitationContent,
    RequestContent,
    Seconds,
    SiteName,
    read_file,
    sign_invitation,
)
from tacit.deployment.transport.certificates import AUTHORITY, make_private_folder, read_private
from tacit.deployment.transport.server.endpoint import read_endpoint
from tacit.deployment.transport.server.registry import (
    lock_registry,
    read_registry,
    refuse_similar_name,
    register,
)
from tacit.errors import PeerError, PlanError
from tacit.files import replace_file

SIGNING_KEY = "signing.key"
"""The server's signing key in its folder."""
_INVITATIONS = "invitations.json"
_DAY = 86_400


class _OpenInvitation(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    token: Hex32
    expires: Seconds
    role: Role | None = None


@dataclass(frozen=True)
class ServerIdentity:
    """By what sites know a server: its signing key, and the certificate of its authority (PEM; None
    without TLS).
    """

    key: Ed25519PrivateKey
    authority: str | None

    @property
    def fingerprint(self) -> str:
        """Fingerprint that the server's operator reads to owners of sites."""
        der = (
            x509.load_pem_x509_certificate(self.authority.encode()).public_bytes(Encoding.DER)
            if self.authority
            else b""
        )
        return fingerprint_server(self.key.public_key().public_bytes_raw(), der)


def load_identity(folder: Path, *, tls: bool) -> ServerIdentity:
    """Load the identity of a server; a missing signing key is made."""
    make_private_folder(folder)
    path = folder / SIGNING_KEY
    if not path.exists():
        replace_file(path, Ed25519PrivateKey.generate().private_bytes_raw())
    key = Ed25519PrivateKey.from_private_bytes(read_private(path))
    return ServerIdentity(key, (folder / AUTHORITY).read_text() if tls else None)


def invite(
    folder: Path, site: str, address: str, days: int, role: Role | None = None
) -> Invitation:
    """Make an invitation for a site, or with a role for a person, valid for some days; one made
    before for the same name is no longer valid.
    """
    try:
        msgspec.convert(site, SiteName)
    except msgspec.ValidationError:
        raise PlanError(
            f"{'site' if role is None else role} {site!r}: a name must have 1 to 64 letters, digits, dots, dashes or underscores,"
            " and begin with a letter or digit"
        ) from None
    registered, tls = read_registry(folder), read_endpoint(folder).tls
    refuse_similar_name([*registered, *read_people(folder)], site)
    known = registered.get(site)
    if role is not None:
        require_free_name(folder, site)
        if not tls:
            raise PeerError(
                "people reach a server from other machines by TLS only; start it without --plain"
            )
    elif site in read_people(folder):
        raise PeerError(f"{site} is the name of a person; choose another name for the site")
    elif known is not None and "revoked" not in known:
        raise PeerError(
            f"site {site} is already admitted; for new keys its owner runs `tacit site rekey`, and a"
            f" new folder needs `tacit server revoke {site}` first"
        )
    identity, token = load_identity(folder, tls=tls), secrets.token_bytes(32)
    content = InvitationContent(
        server=address,
        authority=identity.authority,
        server_key=identity.key.public_key().public_bytes_raw().hex(),
        site=site,
        token=token.hex(),
        expires=int(time.time()) + days * _DAY,
        role=role,
    )
    with _open_invitations(folder) as waiting:
        waiting[site] = _OpenInvitation(hashlib.sha256(token).hexdigest(), content.expires, role)
    return sign_invitation(content, identity.key)


def examine_request(folder: Path, path: Path) -> tuple[AdmissionRequest, str]:
    """Read a request for admission; return it with the site's fingerprint, which a person compares.

    Raise PeerError unless it is signed with its keys, and comes with the token of an open
    invitation or replaces the keys that the site has now.
    """
    request = read_file(path, AdmissionRequest)
    return request, check_request(folder, request)


def check_request(folder: Path, request: AdmissionRequest) -> str:
    """The fingerprint of a site whose request is in order; PeerError as in `examine_request`."""
    request.check_signatures()
    content = request.content
    _check_admissible(folder, content)
    return fingerprint_site(content.site, content.keys.node_key, content.keys.signing_key)


def _check_admissible(folder: Path, content: RequestContent) -> None:
    """Raise PeerError unless a request comes with the token of an open invitation, or replaces the
    keys that the site has now.
    """
    known = read_registry(folder).get(content.site)
    if known is not None and known["public_key"] == content.keys.node_key:
        raise PeerError(
            f"site {content.site} was admitted with these keys before; `tacit server sites` shows"
            f" whether it is revoked, and `tacit server restore {content.site}` undoes that"
        )
    if content.replaces is not None:
        if (
            known is None
            or "revoked" in known
            or (content.replaces.node_key, content.replaces.signing_key)
            != (known["public_key"], known.get("signing_key"))
        ):
            raise PeerError(
                f"request of site {content.site} refused: it replaces keys that this server does not"
                f" admit now; invite the site again with `tacit server invite {content.site}`"
            )
    else:
        _check_token(folder, content.site, content.token)


def check_access_request(folder: Path, request: AccessRequest) -> tuple[Role, str]:
    """The role that a person was invited for, and the fingerprint of the certificate, which people
    compare.

    Raise PeerError unless the request is signed with the key of its certificate, and comes with the
    token of an open invitation for a person.
    """
    content, der = request.content, request.check_signature()
    require_free_name(folder, content.name)
    role = _check_token(folder, content.name, content.token, for_person=True)
    assert role is not None
    return role, fingerprint_person(content.name, der)


def admit_person(folder: Path, request: AccessRequest) -> Role:
    """Admit the person of a request that is in order; the invitation is used up."""
    with lock_registry(folder):
        role, _ = check_access_request(folder, request)
        register_person(folder, request.content.name, role, request.content.certificate)
        with _open_invitations(folder) as waiting:
            waiting.pop(request.content.name, None)
    return role


def _check_token(
    folder: Path, site: str, token: str | None, *, for_person: bool = False
) -> Role | None:
    """The role that an open invitation is for (None: a site); raise PeerError unless the token is
    that of an open one of the right kind.

    A server without TLS, which is for trials on one machine, admits sites without a token.
    """
    if token is None and not read_endpoint(folder).tls:
        return None
    remedy = f"invite again with `tacit server invite {'--role ROLE ' if for_person else ''}{site}`"
    with _open_invitations(folder) as waiting:
        found = waiting.get(site)
    if found is None:
        raise PeerError(
            f"request of {site} refused: there is no open invitation for that name, it was used"
            f" before or never made; {remedy}"
        )
    if (found.role is not None) != for_person:
        kinds = ("a person", "a site") if for_person else ("a site", "a person")
        raise PeerError(
            f"request of {site} refused: it is the request of {kinds[0]}, and the invitation is for"
            f" {kinds[1]}; {remedy}"
        )
    if token is None or hashlib.sha256(bytes.fromhex(token)).hexdigest() != found.token:
        raise PeerError(
            f"request of {site} refused: its token is not that of the last invitation for this"
            f" name; {remedy}"
        )
    if found.expires < time.time():
        raise PeerError(
            f"request of {site} refused: its invitation ended on"
            f" {time.strftime('%Y-%m-%d', time.gmtime(found.expires))}; {remedy}"
        )
    return found.role


def admit(folder: Path, request: AdmissionRequest) -> None:
    """Admit the site of an examined request. Its invitation is used up, and keys that it replaces
    are revoked for good.

    The request is checked once more, since a person compared its fingerprint in the meantime:
    another command may have used its token, or revoked the site.
    """
    content = request.content
    with lock_registry(folder):
        _check_admissible(folder, content)
        require_no_person(folder, content.site, content.keys.node_key)
        register(
            folder,
            content.site,
            content.keys.node_key.encode(),
            signing_key=content.keys.signing_key,
            replaces=content.replaces.node_key if content.replaces else None,
        )
        with _open_invitations(folder) as waiting:
            waiting.pop(content.site, None)


def describe_fingerprint(whose: str, fingerprint: str) -> str:
    """A line with a fingerprint for a person."""
    return f"fingerprint of {whose}:\n  {format_fingerprint(fingerprint)}"


@contextmanager
def _open_invitations(folder: Path) -> Iterator[dict[str, _OpenInvitation]]:
    """The open invitations by site; what the block changes is stored."""
    path = folder / _INVITATIONS
    with lock_registry(folder):
        try:
            waiting = msgspec.json.decode(path.read_bytes(), type=dict[str, _OpenInvitation])
        except FileNotFoundError:
            waiting = {}
        except (OSError, msgspec.MsgspecError) as error:
            raise PeerError(
                f"{path} cannot be read ({type(error).__name__}); delete it and invite sites again"
            ) from None
        before = dict(waiting)
        yield waiting
        if waiting != before:
            replace_file(path, json.dumps(msgspec.to_builtins(waiting), indent=1).encode())
