"""One site's message in one step: signed, and bound to what the site was sent in the step before.

The server forwards these messages. It cannot change one, and it cannot show two sites different
ones without both noticing: each message lists the hashes of the messages that its sender received.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Annotated, NoReturn

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from tacit.errors import AccusationError
from tacit.negotiation.exchange.terms import ExchangeTerms, Step

MOST_BYTES = 4 << 20
"""Bytes of one message. The largest carry a contribution to the range, some 31 kB, or a sealed word
for each of the other sites.
"""

Digest = Annotated[bytes, msgspec.Meta(min_length=32, max_length=32)]


class SignedStep(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True, kw_only=True
):
    """A step, the hashes of the messages of the step before in the order of sites, a content, and a
    signature on all of it.
    """

    step: Step
    seen: Annotated[list[Digest], msgspec.Meta(max_length=10_000)]
    content: bytes
    signature: Annotated[bytes, msgspec.Meta(min_length=64, max_length=64)]


def sign_step(
    terms: ExchangeTerms,
    site: str,
    key: Ed25519PrivateKey,
    step: Step,
    seen: Sequence[bytes],
    content: bytes,
) -> bytes:
    """Build and sign a site's message."""
    signature = key.sign(_bytes_to_sign(terms, site, step, seen, content))
    made = SignedStep(step=step, seen=list(seen), content=content, signature=signature)
    return msgspec.msgpack.encode(made)


def read_step(terms: ExchangeTerms, site: str, step: Step, data: bytes) -> SignedStep:
    """Decode a site's message; raise AccusationError unless that site signed it for this step of
    this negotiation.
    """
    try:
        if len(data) > MOST_BYTES:
            raise ValueError("too long")
        message = msgspec.msgpack.decode(data, type=SignedStep)
        signed = _bytes_to_sign(terms, site, message.step, message.seen, message.content)
        Ed25519PublicKey.from_public_bytes(terms.keys[site]).verify(message.signature, signed)
        if message.step != step:
            raise ValueError("another step")
    except (msgspec.MsgspecError, UnicodeDecodeError, InvalidSignature, ValueError):
        accuse(
            site,
            f"its message of step {step!r} is not signed with its key for this step, this run and"
            " these sites: the server sent another one, or the key under [peers] in site.toml is"
            " not its signing key",
        )
    return message


def check_seen(terms: ExchangeTerms, site: str, message: SignedStep, seen: Sequence[bytes]) -> None:
    """Raise AccusationError unless a site received the same messages as this one in the step
    before.
    """
    if len(message.seen) != len(seen):
        accuse(site, f"its message of step {message.step!r} lists other messages than there were")
    for other, theirs, ours in zip(terms.sites, message.seen, seen, strict=False):
        if theirs != ours:
            accuse(
                other,
                f"it signed two messages in the step before {message.step!r}, one that this site"
                f" received and one that site {site!r} says it received",
            )


def digest_messages(received: Sequence[bytes]) -> list[bytes]:
    """SHA-256 of each message."""
    return [hashlib.sha256(data).digest() for data in received]


def accuse(site: str, what: str) -> NoReturn:
    """Stop the negotiation because of a site."""
    raise AccusationError(
        site,
        f"negotiation stopped because of site {site!r}: {what}; nothing was agreed; ask its owner,"
        " then start the plan as a new run",
    )


def _bytes_to_sign(
    terms: ExchangeTerms, site: str, step: str, seen: Sequence[bytes], content: bytes
) -> bytes:
    return msgspec.msgpack.encode(
        ("tacit negotiation step", terms.binding, site, step, list(seen), content)
    )
