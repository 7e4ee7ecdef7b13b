"""A signed message between a server and a site, around the messages of clients.

It names its run, round, exchange and site, and binds the body by its hash. A site signs its replies
with the key it joined with, since a transport proves only who opened the connection.
"""

from __future__ import annotations

import hashlib
import struct
from typing import Annotated, Literal

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

from tacit.errors import WireError

_MAGIC = b"TAL1"
_LEAD = struct.Struct("<4sI")
_HEADER_LIMIT = 4096
_SIGNED_BY = ec.ECDSA(hashes.SHA256())

NonNegative = Annotated[int, msgspec.Meta(ge=0, le=2**62)]
Word = Annotated[str, msgspec.Meta(min_length=1, max_length=80)]
Digest = Annotated[bytes, msgspec.Meta(min_length=32, max_length=32)]
Kind = Literal[
    "open",
    "begin",
    "counts",
    "tally",
    "negotiate",
    "rows",
    "ask",
    "help",
    "measure",
    "model",
    "end",
]
Status = Literal[
    "",
    "ok",
    "policy",
    "budget",
    "data",
    "rows changed",
    "plan",
    "terms",
    "answered",
    "model",
    "order",
    "negotiation",
    "question",
    "ended",
    "unknown run",
    "ledger",
    "approval",
    "failed",
]
"""Status of a reply; empty in a request. A site that does not respond gives one of the others and no further text:
its reasons stay in its log. "answered" says that it answered this exchange before, to another
request; "model" that it was sent another model for the round; "order" that it answered a later
request; "approval" that its owner has yet to approve the run.
"""


class MessageSubject(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True, kw_only=True
):
    """What a message is about. `rule` names the policy keys by which a site refused, never a value.

    `entries` and `head` say how far the site's ledger had come. A site states it in its replies and
    a request repeats it, so that a site notices if its ledger was replaced by an older copy.
    """

    kind: Kind
    run: Word
    plan: Digest
    site: Word
    round_no: NonNegative
    exchange: Word
    nonce: Annotated[bytes, msgspec.Meta(min_length=16, max_length=16)]
    status: Status = ""
    rule: Annotated[str, msgspec.Meta(max_length=200)] = ""
    entries: NonNegative = 0
    head: Digest = bytes(32)


class _Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    subject: MessageSubject
    body: Digest
    size: NonNegative
    signature: Annotated[bytes, msgspec.Meta(max_length=200)]


class SignedMessage(msgspec.Struct, frozen=True):
    """A message that was read and whose body matches its hash; the reader checks the subject."""

    subject: MessageSubject
    body: memoryview
    digest: bytes
    signature: bytes

    def check_signature(self, key: ec.EllipticCurvePublicKey) -> None:
        """Raise WireError unless the message was signed with this key."""
        try:
            key.verify(self.signature, _bytes_to_sign(self.subject, self.digest), _SIGNED_BY)
        except InvalidSignature:
            raise WireError(
                f"message of site {self.subject.site!r} refused: it is not signed with the site's"
                " key"
            ) from None


def write(
    subject: MessageSubject,
    body: bytes | bytearray | memoryview,
    key: ec.EllipticCurvePrivateKey | None = None,
) -> bytes:
    """Encode a message, signed if a key is given."""
    digest = hashlib.sha256(body).digest()
    signature = key.sign(_bytes_to_sign(subject, digest), _SIGNED_BY) if key is not None else b""
    head = msgspec.msgpack.encode(_Header(subject, digest, len(body), signature))
    return b"".join((_LEAD.pack(_MAGIC, len(head)), head, body))


def read(data: bytes | bytearray | memoryview) -> SignedMessage:
    """Decode a message; raise WireError on anything malformed, before anything is copied."""
    view = memoryview(data).cast("B")
    if len(view) < _LEAD.size:
        raise WireError(
            f"message of {len(view)} bytes refused: it must have at least {_LEAD.size} bytes"
        )
    magic, length = _LEAD.unpack(view[: _LEAD.size])
    if magic != _MAGIC:
        raise WireError(f"not a Tacit message: it must start with {_MAGIC!r}, got {bytes(magic)!r}")
    if length > _HEADER_LIMIT or _LEAD.size + length > len(view):
        raise WireError(
            f"message refused: header of {length} bytes does not fit (limit {_HEADER_LIMIT})"
        )
    try:
        header = msgspec.msgpack.decode(view[_LEAD.size : _LEAD.size + length], type=_Header)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise WireError(f"message refused: its header is malformed ({error})") from None
    body = view[_LEAD.size + length :]
    if len(body) != header.size:
        raise WireError(f"message refused: header says {header.size} bytes, got {len(body)}")
    if hashlib.sha256(body).digest() != header.body:
        raise WireError("message body does not match its SHA-256")
    return SignedMessage(header.subject, body, header.body, header.signature)


def expect(message: SignedMessage, **wanted: object) -> SignedMessage:
    """Check that the subject has the expected values; raise WireError naming the first that
    differs.
    """
    for key, value in wanted.items():
        got = getattr(message.subject, key)
        if got != value:
            shown = (
                (value.hex()[:16], got.hex()[:16])
                if isinstance(value, bytes)
                else (repr(value), repr(got))
            )
            raise WireError(
                f"message of site {message.subject.site!r} refused: {key} must be {shown[0]}, got"
                f" {shown[1]}"
            )
    return message


def _bytes_to_sign(subject: MessageSubject, digest: bytes) -> bytes:
    return b"tacit letter" + msgspec.msgpack.encode(subject) + digest
