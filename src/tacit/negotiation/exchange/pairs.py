"""What two sites share: a key from X25519, from which seals and masks are derived.

Both public keys were signed for this negotiation, so the server is neither of the two. Each derived
key seals one message.
"""

from __future__ import annotations

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from tacit.negotiation.exchange.signed_step import accuse
from tacit.randomness import Draws

_ONE_MESSAGE = bytes(12)
"""The nonce of a key that seals one message."""


def derive_pair_key(own: X25519PrivateKey, site: str, public: bytes, context: bytes) -> Draws:
    """The key that this site shares with another one; raise AccusationError if its public key is
    not valid.
    """
    try:
        shared = own.exchange(X25519PublicKey.from_public_bytes(public))
    except ValueError:
        accuse(site, "its public key is not valid")
    ends = sorted([own.public_key().public_bytes_raw(), public])
    info = b"tacit negotiation pair" + context + b"".join(ends)
    return Draws(HKDF(hashes.SHA256(), 32, salt=None, info=info).derive(shared))


def seal_message(key: Draws, content: bytes, context: bytes) -> bytes:
    """Encrypt the one message of a key with AES-256-GCM."""
    return AESGCM(key.sealed("seal").key).encrypt(_ONE_MESSAGE, content, context)


def open_message(key: Draws, site: str, sealed: bytes, context: bytes) -> bytes:
    """Decrypt a site's message; raise AccusationError if it is not the one that this key sealed."""
    try:
        return AESGCM(key.sealed("seal").key).decrypt(_ONE_MESSAGE, sealed, context)
    except (InvalidTag, ValueError):
        accuse(site, "what it sent cannot be decrypted")
