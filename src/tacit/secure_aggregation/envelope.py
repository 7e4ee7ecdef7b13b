"""What a client sends to helpers through the leader: keys for the run, sealed and signed, and a
salt and tokens for the round.

A client shares a key with each helper. It is sealed once per run, under the site's signature. A
round's seed and token follow from it by HMAC-SHA256, so that no round needs public-key
cryptography: the seed stays with client and helper, the token passes through the leader and shows
the helper that the client is in this round. Both depend on a salt, which the client derives from
the numbers it masks: a site that is set back to an earlier state and trains again never masks other
numbers with the same seed.
"""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from typing import NamedTuple

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.poly1305 import Poly1305

from tacit.errors import WireError
from tacit.secure_aggregation.seal import HelperKey, Seal
from tacit.secure_aggregation.shares import Words
from tacit.secure_aggregation.terms import KEY, SALT, SIGNATURE, Terms


class OfRound(NamedTuple):
    """What follows from a key for one round."""

    seed: bytes
    token: bytes


def of_round(terms: Terms, key: bytes, round_no: int, salt: bytes) -> OfRound:
    """Return the seed and the token of a round; from one nobody learns the other, or those of
    another round, sum or salt.
    """
    when = terms.binding + round_no.to_bytes(8, "little") + salt
    return OfRound(
        hmac.digest(key, b"seed " + when, "sha256"), hmac.digest(key, b"token " + when, "sha256")
    )


def salt_for(terms: Terms, secret: bytes, round_no: int, numbers: Words) -> bytes:
    """Return the salt under which a client masks these numbers in a round. `secret` is the client's
    own; no helper has it.

    Equal numbers get an equal salt, so an answer can be made again to the bit. Nobody without
    `secret` can test a guess of them. It is HMAC-SHA256 over a universal hash of the numbers
    (Poly1305 under a key that is used for nothing else, its value never shown): two vectors of n
    bytes get the same salt with a probability of at most n / 2^107 + 2^-128.
    """
    hashed = Poly1305.generate_tag(
        hmac.digest(secret, b"hash " + terms.binding, "sha256"), numbers.data.cast("B")
    )
    return hmac.digest(
        secret, b"salt " + terms.binding + round_no.to_bytes(8, "little") + hashed, "sha256"
    )[:SALT]


def sealed_keys(
    context: bytes, keys: Sequence[bytes], seals: Sequence[Seal], site: Ed25519PrivateKey
) -> bytes:
    """Return a client's keys, each sealed to its helper, signed with the key of the
    client's site.
    """
    sealed = b"".join(seal(key, context) for seal, key in zip(seals, keys, strict=True))
    return sealed + site.sign(context + sealed)


def split_envelope(terms: Terms, number: int, envelope: bytes) -> tuple[bytes, bytes, bytes]:
    """Return an envelope's sealed keys, its salt, and its token for helper `number` (from 1)."""
    tokens = len(envelope) - KEY * len(terms.helpers)
    cut = tokens - SALT
    return (
        envelope[:cut],
        envelope[cut:tokens],
        envelope[tokens + KEY * (number - 1) : tokens + KEY * number],
    )


def opened_key(
    terms: Terms, number: int, own: HelperKey, site: bytes, client: int, sealed: bytes
) -> bytes:
    """Return the key a client shares with helper `number`; raise WireError if site, run, client or
    helper are others.
    """
    context, sizes = terms.context(client), terms.sealed_sizes
    keys, signature = sealed[:-SIGNATURE], sealed[-SIGNATURE:]
    try:
        Ed25519PublicKey.from_public_bytes(site).verify(signature, context + keys)
    except (InvalidSignature, ValueError):
        raise WireError(
            "its site's signature does not fit: the site signed for another plan, other terms,"
            " another sum or another client, or somebody else signed"
        ) from None
    start = sum(sizes[: number - 1])
    key = own.opened(keys[start : start + sizes[number - 1]], context)
    if len(key) != KEY:
        raise WireError(f"its key must have {KEY} bytes, got {len(key)}")
    return key
