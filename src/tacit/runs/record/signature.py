"""Signatures on a record's head, which detect a record that was rewritten without the run's key.

The key is created with the run's folder. Its public half is in the first entry and is sent to the
sites; the private half is deleted when the run ends. A signature shows that the key's owner wrote the
record, not that the record is true.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # loaded only where something is signed or checked: it takes a moment
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

_WHAT = b"tacit record 1\0"


@dataclass(frozen=True, kw_only=True)
class SignedHead:
    """A signature on a record: `head` is the checksum of the line that ends after `length`
    bytes.
    """

    length: int
    head: str
    signature: str

    def is_by(self, key: str) -> bool:
        """Whether the signature was made with the private half of this public key (64 hexadecimal
        digits).
        """
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        try:
            signature, public = (
                bytes.fromhex(self.signature),
                Ed25519PublicKey.from_public_bytes(bytes.fromhex(key)),
            )
            public.verify(signature, _message(self.head))
        except (InvalidSignature, ValueError):
            return False
        return True


def sign(key: Ed25519PrivateKey, head: str) -> str:
    """Sign a head; the signature is in hexadecimal digits."""
    return key.sign(_message(head)).hex()


def _message(head: str) -> bytes:
    return _WHAT + bytes.fromhex(head)
