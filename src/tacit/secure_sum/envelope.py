"""What a client sends to helpers through the leader: its seed for each of them, sealed, and its site's signature on all of it."""

from __future__ import annotations

from collections.abc import Sequence

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from tacit.errors import WireError
from tacit.secure_sum.seal import HelperKey, Seal, sealed_size
from tacit.secure_sum.terms import SEED, SIGNATURE, Terms


def make_envelope(context: bytes, seeds: Sequence[bytes], seals: Sequence[Seal], site: Ed25519PrivateKey) -> bytes:
    """Return a client's seeds, each sealed to its helper, signed with the key of the client's site."""
    sealed = b"".join(seal(seed, context) for seal, seed in zip(seals, seeds, strict=True))
    return sealed + site.sign(context + sealed)


def open_envelope(terms: Terms, number: int, key: HelperKey, site: bytes, context: bytes, envelope: bytes) -> bytes:
    """Return the seed for helper `number` (from 1); raise WireError if site, context or helper are not those it was made with."""
    sealed, signature = envelope[:-SIGNATURE], envelope[-SIGNATURE:]
    try:
        Ed25519PublicKey.from_public_bytes(site).verify(signature, context + sealed)
    except (InvalidSignature, ValueError):
        raise WireError("needs the signature of the client's site on this run, round and client, got another or none") from None
    start = sum(SEED + sealed_size(public) for public in terms.helpers[: number - 1])
    seed = key.opened(sealed[start : start + SEED + sealed_size(terms.helpers[number - 1])], context)
    if len(seed) != SEED:
        raise WireError(f"needs a seed of {SEED} bytes, got {len(seed)}")
    return seed
