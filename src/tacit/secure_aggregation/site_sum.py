"""One sum of a vector per site that every site can verify, with a server that only passes on
messages.

Each site splits its vector into additive shares modulo 2^64, one for each helper, seals them and
signs the sealed shares. A helper opens its share of every site, adds them up and signs its part.
The parts of all helpers add up to the sum. Parts and shares are bound to the run's digest, which
covers the members and the helpers' keys, so a server can neither add a site nor leave one out.

Guarantees: nobody sees a single site's vector unless all helpers collude, or all other sites do. A
sum that a site accepts is the one that the helpers signed, no matter who carried it. What is not
guaranteed: that the vectors of other sites are honest, or a helper's part is.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import msgspec
import numpy as np
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from numpy.typing import NDArray

from tacit.errors import WireError
from tacit.secure_aggregation.seal import HelperKey, build_sealer
from tacit.secure_aggregation.shares import expand_mask, subtract_masks
from tacit.secure_aggregation.terms import KEY

_BITS = 64
Vector64 = NDArray[np.uint64]
Signature64 = Annotated[bytes, msgspec.Meta(min_length=64, max_length=64)]


class SealedVector(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A site's vector as one sealed share for each helper, with the site's signature on them."""

    shares: Annotated[list[bytes], msgspec.Meta(min_length=2, max_length=100)]
    signature: Signature64


class SumPart(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A helper's part of a sum, as little-endian 64-bit words, with the helper's signature."""

    numbers: bytes
    signature: Signature64


@dataclass(frozen=True, kw_only=True)
class SiteSumTerms:
    """What all parties know of a sum: the run's digest, the name of the sum, how many numbers it
    has, the sites that contribute, and which of them help, with their public keys in order.
    """

    digest: str
    name: str
    size: int
    sites: tuple[str, ...]
    helpers: tuple[str, ...]
    keys: tuple[bytes, ...]

    @cached_property
    def binding(self) -> bytes:
        """SHA-256 of all fields."""
        content = ("tacit site sum", self.digest, self.name, self.size)
        lists = [list(self.sites), list(self.helpers), list(self.keys)]
        return hashlib.sha256(msgspec.msgpack.encode((*content, *lists))).digest()

    def context(self, site: str, number: int) -> bytes:
        """Context to which a site's share for helper `number` (from 0) is sealed."""
        return msgspec.msgpack.encode(("tacit sealed share", self.binding, site, number))

    def signed_shares(self, site: str, shares: Sequence[bytes]) -> bytes:
        """The bytes that a site signs."""
        hashes = [hashlib.sha256(share).digest() for share in shares]
        return msgspec.msgpack.encode(("tacit sealed shares", self.binding, site, hashes))

    def signed_part(self, number: int, numbers: bytes) -> bytes:
        """The bytes that helper `number` signs."""
        digest = hashlib.sha256(numbers).digest()
        return msgspec.msgpack.encode(("tacit part of a site sum", self.binding, number, digest))


def seal_vector(
    terms: SiteSumTerms, site: str, numbers: Vector64, secret: bytes, key: Ed25519PrivateKey
) -> SealedVector:
    """Split a site's vector into shares and seal each to its helper.

    All but the last share are seeds, derived from the site's `secret` and the vector: a site that
    is restored and counts again never masks other numbers with the same seed.
    """
    about = terms.binding + hashlib.sha256(numbers.tobytes()).digest()
    seeds = [
        hmac.digest(secret, b"site share " + number.to_bytes(4, "little") + about, "sha256")
        for number in range(len(terms.keys) - 1)
    ]
    pieces = [*seeds, subtract_masks(numbers, seeds).tobytes()]
    shares = [
        build_sealer(public)(piece, terms.context(site, number))
        for number, (public, piece) in enumerate(zip(terms.keys, pieces, strict=True))
    ]
    return SealedVector(shares=shares, signature=key.sign(terms.signed_shares(site, shares)))


def add_vectors(
    terms: SiteSumTerms,
    helper: str,
    own: HelperKey,
    vectors: Mapping[str, SealedVector],
    peers: Mapping[str, bytes],
) -> Vector64:
    """A helper's part: the sum of its shares of every site's vector.

    Raise WireError unless there is exactly one vector of each member, signed with a key that the
    helper knows. A sum over fewer sites would show the difference.
    """
    if set(vectors) != set(terms.sites):
        others = sorted(set(vectors) ^ set(terms.sites))
        raise WireError(
            f"sum refused: it needs one vector of each member of the run, no more and no fewer;"
            f" {', '.join(others)} differ"
        )
    number, total = terms.helpers.index(helper), np.zeros(terms.size, np.uint64)
    for site in terms.sites:
        shares = vectors[site].shares
        if len(shares) != len(terms.keys):
            raise WireError(f"sum refused: site {site!r} made shares for other helpers")
        _verify(peers, site, vectors[site].signature, terms.signed_shares(site, shares))
        total += _open_share(terms, site, number, own, shares[number])
    return total


def sign_part(
    terms: SiteSumTerms, helper: str, numbers: Vector64, key: Ed25519PrivateKey
) -> SumPart:
    """Sign a helper's part."""
    content = numbers.astype("<u8").tobytes()
    signed = terms.signed_part(terms.helpers.index(helper), content)
    return SumPart(numbers=content, signature=key.sign(signed))


def read_sum(terms: SiteSumTerms, parts: Sequence[SumPart], peers: Mapping[str, bytes]) -> Vector64:
    """The sum of all helpers' parts; raise WireError unless every helper signed its own."""
    if len(parts) != len(terms.helpers):
        raise WireError(
            f"sum refused: it needs a part of each of {len(terms.helpers)} helpers, got"
            f" {len(parts):,}"
        )
    total = np.zeros(terms.size, np.uint64)
    for number, (helper, part) in enumerate(zip(terms.helpers, parts, strict=True)):
        if len(part.numbers) != 8 * terms.size:
            raise WireError(
                f"sum refused: the part of helper {helper!r} has {len(part.numbers):,} bytes, not"
                f" {8 * terms.size:,}"
            )
        _verify(peers, helper, part.signature, terms.signed_part(number, part.numbers))
        total += np.frombuffer(part.numbers, "<u8")
    return total


def _open_share(
    terms: SiteSumTerms, site: str, number: int, own: HelperKey, sealed: bytes
) -> Vector64:
    share = own.open(sealed, terms.context(site, number))
    is_last = number == len(terms.keys) - 1
    if len(share) != (8 * terms.size if is_last else KEY):
        raise WireError(f"sum refused: the share of site {site!r} has {len(share):,} bytes")
    if is_last:
        return np.frombuffer(share, "<u8")
    return np.asarray(expand_mask(share, terms.size, _BITS))


def _verify(peers: Mapping[str, bytes], site: str, signature: bytes, content: bytes) -> None:
    key = peers.get(site)
    if key is None:
        raise WireError(f"sum refused: site {site!r} is not in [peers] of site.toml")
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, content)
    except (InvalidSignature, ValueError):
        raise WireError(
            f"sum refused: the signature of site {site!r} is not valid for this run and sum"
        ) from None
