"""Signatures on a record's head: whoever rewrites a record without the run's key is found out.

The key is made with the run's folder. Its public half stands in the first entry and goes to the
sites; the private half is deleted when the run ends. A signature shows that the record is the one
the key's holder wrote, not that it is true.
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
        """Return whether it was made with the private half of a public key of 64 hexadecimal
        digits.
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
    """Return the signature on a head, as hexadecimal digits."""
    return key.sign(_message(head)).hex()


def _message(head: str) -> bytes:
    return _WHAT + bytes.fromhex(head)
