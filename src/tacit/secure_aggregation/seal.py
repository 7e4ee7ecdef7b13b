"""Keys sealed to helpers: HPKE in base mode, with X25519 or with the hybrid of ML-KEM-768 and
X25519.

The hybrid remains secure while either of the two is unbroken, also against somebody who records
messages now and has a quantum computer later.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hpke
from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey, MLKEM768PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from tacit.errors import WireError
from tacit.randomness import Draws

Seal = Callable[[bytes, bytes], bytes]
"""Seals a key, in its context, to one helper."""

_X25519, _LATTICE, _TAG = 32, 1184, 16
_CLASSIC = hpke.Suite(hpke.KEM.X25519, hpke.KDF.HKDF_SHA256, hpke.AEAD.AES_256_GCM)
_HYBRID = hpke.Suite(hpke.KEM.MLKEM768_X25519, hpke.KDF.HKDF_SHA256, hpke.AEAD.AES_256_GCM)


@dataclass(frozen=True)
class HelperKey:
    """A helper's private key; with `lattice` it is a hybrid one."""

    curve: X25519PrivateKey
    lattice: MLKEM768PrivateKey | None = None

    @staticmethod
    def draw(own: Draws, post_quantum: bool = False) -> HelperKey:
        """Draw a key at an address of the helper's own randomness."""
        curve = X25519PrivateKey.from_private_bytes(own.sealed("helper key", 0).key)
        if not post_quantum:
            return HelperKey(curve)
        halves = [own.sealed("helper key", part).key for part in (1, 2)]
        return HelperKey(curve, MLKEM768PrivateKey.from_seed_bytes(b"".join(halves)))

    def public(self) -> bytes:
        """The public key to seal with."""
        lattice = self.lattice.public_key().public_bytes_raw() if self.lattice else b""
        return lattice + self.curve.public_key().public_bytes_raw()

    def open(self, sealed: bytes, context: bytes) -> bytes:
        """Decrypt what was sealed to this key in this context; raise WireError if it was not."""
        try:
            if self.lattice is None:
                return _CLASSIC.decrypt(sealed, self.curve, info=context)
            return _HYBRID.decrypt(
                sealed, hpke.MLKEM768X25519PrivateKey(self.lattice, self.curve), info=context
            )
        except (InvalidTag, ValueError):
            raise WireError(
                "its key is not sealed to this helper for this run, sum and client"
            ) from None


def build_sealer(public: bytes) -> Seal:
    """Build the function that seals to a helper's public key; raise WireError if the key is
    invalid.

    It seals once as a test: a point of low order parses as a key, but nothing can be sealed to it.
    """
    if len(public) not in (_X25519, _LATTICE + _X25519):
        raise WireError(
            f"helper's key refused: a public key has {_X25519} or {_LATTICE + _X25519:,} bytes, got"
            f" {len(public):,}"
        )
    try:
        seal = _seal_classic(public) if len(public) == _X25519 else _seal_hybrid(public)
        seal(b"", b"")
    except ValueError:
        raise WireError(
            "helper's key refused: nothing can be sealed to it; the helper must send a valid"
            " public key"
        ) from None
    return seal


def _seal_classic(public: bytes) -> Seal:
    curve = X25519PublicKey.from_public_bytes(public)
    return lambda key, context: _CLASSIC.encrypt(key, curve, info=context)


def _seal_hybrid(public: bytes) -> Seal:
    lattice = MLKEM768PublicKey.from_public_bytes(public[:_LATTICE])
    both = hpke.MLKEM768X25519PublicKey(
        lattice, X25519PublicKey.from_public_bytes(public[_LATTICE:])
    )
    return lambda key, context: _HYBRID.encrypt(key, both, info=context)


def is_post_quantum(public: bytes) -> bool:
    """Whether a public key, by its size, is a hybrid one."""
    return len(public) == _LATTICE + _X25519


def count_seal_bytes(public: bytes) -> int:
    """Number of bytes that sealing adds."""
    kem = hpke.KEM.X25519 if len(public) == _X25519 else hpke.KEM.MLKEM768_X25519
    return kem.enc_length() + _TAG
