"""A client's envelope to the helpers, passed on by the leader: sealed and signed keys of the run, a
salt and tokens of the round.

A client shares a key with each helper. It is sealed once per run, under the site's signature. The
seed and the token of a round are derived from it by HMAC-SHA256, so that no round needs public-key
cryptography. The seed stays with client and helper. The token passes through the leader and proves
to the helper that the client takes part in this round. Both depend on a salt derived from the
masked numbers: a site that is restored to an earlier state and trains again never masks other
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
from tacit.secure_aggregation.terms import KEY, SALT, SIGNATURE, AggregationTerms


class RoundSecrets(NamedTuple):
    """Secrets of one client and one helper for one round."""

    seed: bytes
    token: bytes


def derive_round_secrets(
    terms: AggregationTerms, key: bytes, round_no: int, salt: bytes
) -> RoundSecrets:
    """Derive seed and token of a round. Neither reveals the other, or those of another round, sum
    or salt.
    """
    when = terms.binding + round_no.to_bytes(8, "little") + salt
    return RoundSecrets(
        hmac.digest(key, b"seed " + when, "sha256"), hmac.digest(key, b"token " + when, "sha256")
    )


def derive_salt(terms: AggregationTerms, secret: bytes, round_no: int, numbers: Words) -> bytes:
    """Salt under which a client masks these numbers in a round. No helper knows the client's
    `secret`.

    Equal numbers get an equal salt, so a response can be repeated to the bit. Nobody without
    `secret` can test a guess of the numbers. The salt is HMAC-SHA256 over a universal hash of the
    numbers (Poly1305 under a key used for nothing else, its value never shown): two vectors of n
    bytes get the same salt with probability at most n / 2^107 + 2^-128.
    """
    hashed = Poly1305.generate_tag(
        hmac.digest(secret, b"hash " + terms.binding, "sha256"), numbers.data.cast("B")
    )
    return hmac.digest(
        secret, b"salt " + terms.binding + round_no.to_bytes(8, "little") + hashed, "sha256"
    )[:SALT]


def seal_keys(
    context: bytes, keys: Sequence[bytes], seals: Sequence[Seal], site: Ed25519PrivateKey
) -> bytes:
    """Seal each of a client's keys to its helper, and sign them with the key of the client's site."""
    sealed = b"".join(seal(key, context) for seal, key in zip(seals, keys, strict=True))
    return sealed + site.sign(context + sealed)


def split_envelope(
    terms: AggregationTerms, number: int, envelope: bytes
) -> tuple[bytes, bytes, bytes]:
    """Split an envelope into sealed keys, salt, and the token for helper `number` (from 1)."""
    tokens = len(envelope) - KEY * len(terms.helpers)
    cut = tokens - SALT
    return (
        envelope[:cut],
        envelope[cut:tokens],
        envelope[tokens + KEY * (number - 1) : tokens + KEY * number],
    )


def open_key(
    terms: AggregationTerms, number: int, own: HelperKey, site: bytes, client: int, sealed: bytes
) -> bytes:
    """Open the key that a client shares with helper `number`.

    Raises WireError if the envelope was made for another site, run, client or helper.
    """
    context, sizes = terms.context(client), terms.sealed_sizes
    keys, signature = sealed[:-SIGNATURE], sealed[-SIGNATURE:]
    try:
        Ed25519PublicKey.from_public_bytes(site).verify(signature, context + keys)
    except (InvalidSignature, ValueError):
        raise WireError(
            "its site's signature is not valid: the site signed for another plan, other terms,"
            " another sum or another client, or somebody else signed"
        ) from None
    start = sum(sizes[: number - 1])
    key = own.open(keys[start : start + sizes[number - 1]], context)
    if len(key) != KEY:
        raise WireError(f"its key must have {KEY} bytes, got {len(key)}")
    return key
