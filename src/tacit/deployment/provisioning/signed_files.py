"""The two files that people carry between a server and a site: an invitation, and the site's request
for admission.

Both are short JSON texts. Signatures cover the decoded content, so blanks and line ends do not
matter. A reader treats such a file as an attacker's until signatures and fingerprints agree.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, TypeVar

import msgspec
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from tacit.deployment.access.roles import Role
from tacit.deployment.transport.certificates import (
    check_client_certificate,
    format_node_key,
    parse_node_key,
)
from tacit.errors import PeerError

LARGEST_FILE = 65_536
"""Largest invitation or request in bytes; usual ones have about 2,000."""

SiteName = Annotated[str, msgspec.Meta(pattern=r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")]
Hex32 = Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{64}\Z")]
Hex64 = Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{128}\Z")]
HexSignature = Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{2,400}\Z")]
KeyLine = Annotated[
    str, msgspec.Meta(pattern=r"\Aecdsa-sha2-nistp384 [A-Za-z0-9+/]{1,400}={0,2}\Z")
]
Seconds = Annotated[int, msgspec.Meta(ge=0, le=2**40)]
"""Seconds since 1970, UTC."""
_SIGNED_BY = ec.ECDSA(hashes.SHA256())


class _CarriedFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    pass


class InvitationContent(_CarriedFile, frozen=True, kw_only=True, omit_defaults=True):
    """What a server tells a site: its address, the certificate of its authority (PEM; None without
    TLS), the key that signs this, the site's name, a token that admits it once, and when it ends.

    With a role it is an invitation for a person, and `site` is the person's name. The role only
    tells the person; the server remembers for which one it made the token.
    """

    server: Annotated[str, msgspec.Meta(max_length=300)]
    authority: Annotated[str, msgspec.Meta(max_length=8192)] | None
    server_key: Hex32
    site: SiteName
    token: Hex32
    expires: Seconds
    role: Role | None = None


class Invitation(_CarriedFile, frozen=True, kw_only=True):
    """An invitation, signed with the server's signing key."""

    tacit: Literal["invitation"] = "invitation"
    format: Literal[1] = 1
    content: InvitationContent
    signature: Hex64

    def check_signature(self) -> None:
        """Raise PeerError unless the content is signed with the key that it names."""
        if not _is_signed(self.content.server_key, self.signature, _signed(self.content)):
            raise PeerError(
                "invitation refused: it was changed after the server signed it; ask the server's"
                " operator for a new one"
            )


class SiteKeys(_CarriedFile, frozen=True, kw_only=True):
    """Public keys of a site: the one it joins with, and the one that signs terms for other sites."""

    node_key: KeyLine
    signing_key: Hex32


class KeyProof(_CarriedFile, frozen=True, kw_only=True):
    """Signatures with both keys of a site on the content of its request."""

    node_key: HexSignature
    signing_key: Hex64


class RequestContent(_CarriedFile, frozen=True, kw_only=True):
    """What a site asks: to be admitted under its name with these keys, by a token, or in place of
    keys that the server knows.
    """

    site: SiteName
    keys: SiteKeys
    token: Hex32 | None = None
    replaces: SiteKeys | None = None


class AdmissionRequest(_CarriedFile, frozen=True, kw_only=True):
    """A site's request for admission, signed with its keys, and with its former ones if it replaces
    them.
    """

    tacit: Literal["request"] = "request"
    format: Literal[1] = 1
    content: RequestContent
    proof: KeyProof
    old_proof: KeyProof | None = None

    def check_signatures(self) -> None:
        """Raise PeerError unless the request is signed with each key that it names."""
        signed, content = _signed(self.content), self.content
        if not _is_proved(content.keys, self.proof, signed) or (
            content.replaces is not None
            and not (self.old_proof and _is_proved(content.replaces, self.old_proof, signed))
        ):
            raise PeerError(
                f"request of site {content.site} refused: it is not signed with the keys in it; ask"
                " the site's owner to send the file again"
            )


class AccessRequestContent(_CarriedFile, frozen=True, kw_only=True):
    """What a person asks: access under a name with a certificate (PEM), by the token of an
    invitation.
    """

    name: SiteName
    certificate: Annotated[str, msgspec.Meta(max_length=4096)]
    token: Hex32


class AccessRequest(_CarriedFile, frozen=True, kw_only=True):
    """A person's request for access, signed with the key of the certificate in it."""

    tacit: Literal["access request"] = "access request"
    format: Literal[1] = 1
    content: AccessRequestContent
    proof: HexSignature

    def check_signature(self) -> bytes:
        """The certificate as DER; raise PeerError unless it can identify a person and its key signed
        the request.
        """
        der = check_client_certificate(self.content.certificate)
        key = x509.load_der_x509_certificate(der).public_key()
        try:
            assert isinstance(key, ec.EllipticCurvePublicKey)
            key.verify(bytes.fromhex(self.proof), _signed(self.content), _SIGNED_BY)
        except (InvalidSignature, ValueError):
            raise PeerError(
                f"request of {self.content.name} refused: it is not signed with the key of the"
                " certificate in it; ask for the file again"
            ) from None
        return der


Carried = TypeVar("Carried", Invitation, AdmissionRequest, AccessRequest)
_WANTED: dict[type, str] = {
    Invitation: "an invitation",
    AdmissionRequest: "a request for admission",
    AccessRequest: "a request for access",
}


def sign_invitation(content: InvitationContent, key: Ed25519PrivateKey) -> Invitation:
    """Sign an invitation with the server's signing key."""
    return Invitation(content=content, signature=key.sign(_signed(content)).hex())


def prove_keys(
    content: RequestContent, node_key: ec.EllipticCurvePrivateKey, signing_key: Ed25519PrivateKey
) -> KeyProof:
    """Sign the content of a request with both keys of a site."""
    signed = _signed(content)
    return KeyProof(
        node_key=node_key.sign(signed, _SIGNED_BY).hex(), signing_key=signing_key.sign(signed).hex()
    )


def prove_certificate(content: AccessRequestContent, key: ec.EllipticCurvePrivateKey) -> str:
    """Sign the content of a request for access with the key of its certificate."""
    return key.sign(_signed(content), _SIGNED_BY).hex()


def encode_file(carried: Invitation | AdmissionRequest | AccessRequest) -> bytes:
    """The text of a file to carry."""
    return msgspec.json.format(msgspec.json.encode(carried), indent=1) + b"\n"


def read_file(path: Path, kind: type[Carried]) -> Carried:
    """Read a carried file; raise PeerError if it is too large or not of that kind. Signatures are
    not checked here.
    """
    return decode_file(read_bytes(path, _WANTED[kind]), kind, str(path))


def read_request(path: Path) -> AdmissionRequest | AccessRequest:
    """Read the request of a site or of a person. Signatures are not checked here."""
    return decode_request(read_bytes(path, "a request"), str(path))


def decode_request(data: bytes, shown: str) -> AdmissionRequest | AccessRequest:
    """The request of a site or of a person in a file that `shown` names."""
    try:
        is_access = msgspec.json.decode(data, type=_Kind).tacit == "access request"
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        is_access = False
    if is_access:
        return decode_file(data, AccessRequest, shown)
    return decode_file(data, AdmissionRequest, shown)


class _Kind(msgspec.Struct):
    tacit: str


def read_bytes(path: Path, wanted: str) -> bytes:
    """The bytes of a carried file, which holds `wanted`."""
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise PeerError(
            f"{path} cannot be read ({error.strerror}); give the file that holds {wanted}"
        ) from None
    if len(data) > LARGEST_FILE:
        raise PeerError(
            f"{path} has more than {LARGEST_FILE:,} bytes and is not {wanted}; ask for the file again"
        )
    return data


def decode_file(data: bytes, kind: type[Carried], shown: str) -> Carried:
    """Decode a carried file; raise PeerError if it is not of that kind."""
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise PeerError(
            f"{shown} is not {_WANTED[kind]} that this version of Tacit can read ({error}); ask for"
            " the file again, or update Tacit"
        ) from None


def _signed(content: InvitationContent | RequestContent | AccessRequestContent) -> bytes:
    kind = _SIGNED_KINDS[type(content)]
    return msgspec.msgpack.encode(("tacit file", kind, content))


_SIGNED_KINDS: dict[type, str] = {
    InvitationContent: "invitation",
    RequestContent: "request",
    AccessRequestContent: "access request",
}


def _is_proved(keys: SiteKeys, proof: KeyProof, signed: bytes) -> bool:
    try:
        key = parse_node_key(keys.node_key)
        if format_node_key(key) != keys.node_key:
            return False  # one key has one name: it is compared as text later
        key.verify(bytes.fromhex(proof.node_key), signed, _SIGNED_BY)
    except (InvalidSignature, ValueError):
        return False
    return _is_signed(keys.signing_key, proof.signing_key, signed)


def _is_signed(key: str, signature: str, signed: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(key)).verify(
            bytes.fromhex(signature), signed
        )
    except (InvalidSignature, ValueError):
        return False
    return True
