"""Sums of vectors of sites over a server that may change, drop, repeat and mix every message."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit.errors import WireError
from tacit.randomness import Draws
from tacit.secure_aggregation import HelperKey
from tacit.secure_aggregation.site_sum import (
    SealedVector,
    SiteSumTerms,
    SumPart,
    add_vectors,
    read_sum,
    seal_vector,
    sign_part,
)

SITES, HELPERS = ("a", "b", "c"), ("a", "c")
SIGNERS = {site: Ed25519PrivateKey.from_private_bytes(site.encode() * 32) for site in SITES}
PEERS = {site: key.public_key().public_bytes_raw() for site, key in SIGNERS.items()}
KEYS = {site: HelperKey.draw(Draws(site.encode() * 32)) for site in SITES}
VECTORS = {
    site: np.arange(50, dtype=np.uint64) * np.uint64(number + 1)
    for number, site in enumerate(SITES)
}


def terms(digest: str = "d", **changes: object) -> SiteSumTerms:
    given: dict[str, object] = {
        "digest": digest, "name": "class counts", "size": 50, "sites": SITES, "helpers": HELPERS,
        "keys": tuple(KEYS[site].public() for site in HELPERS),
    }  # fmt: skip
    return SiteSumTerms(**{**given, **changes})  # type: ignore[arg-type]


def sealed(about: SiteSumTerms, *sites: str) -> dict[str, SealedVector]:
    return {
        site: seal_vector(about, site, VECTORS[site], site.encode() * 32, SIGNERS[site])
        for site in sites or SITES
    }


def part(about: SiteSumTerms, helper: str, vectors: dict[str, SealedVector]) -> SumPart:
    numbers = add_vectors(about, helper, KEYS[helper], vectors, PEERS)
    return sign_part(about, helper, numbers, SIGNERS[helper])


def test_parts_add_up_to_the_sum_and_each_looks_random() -> None:
    vectors = sealed(terms())
    parts = [part(terms(), helper, vectors) for helper in HELPERS]
    np.testing.assert_array_equal(
        read_sum(terms(), parts, PEERS), np.sum([*VECTORS.values()], axis=0)
    )
    for one in parts:
        assert (np.frombuffer(one.numbers, "<u8") > 2**40).mean() > 0.9


def test_shares_of_one_site_are_sealed_and_never_masked_twice_alike() -> None:
    """A site that counts other rows after a restore uses other seeds."""
    one = seal_vector(terms(), "b", VECTORS["b"], b"s" * 32, SIGNERS["b"])
    opened = [
        KEYS[helper].open(share, terms().context("b", number))
        for number, (helper, share) in enumerate(zip(HELPERS, one.shares, strict=True))
    ]
    other = seal_vector(terms(), "b", VECTORS["a"], b"s" * 32, SIGNERS["b"])
    assert opened[0] != KEYS["a"].open(other.shares[0], terms().context("b", 0))
    with pytest.raises(WireError, match="not sealed to this helper"):
        KEYS["c"].open(one.shares[0], terms().context("b", 0))


@pytest.mark.parametrize("left_out", SITES)
def test_a_sum_over_fewer_sites_is_refused(left_out: str) -> None:
    """The difference to the whole sum would be that site's vector."""
    vectors = sealed(terms())
    del vectors[left_out]
    for helper in HELPERS:
        with pytest.raises(WireError, match="one vector of each member"):
            part(terms(), helper, vectors)


def test_vectors_of_another_run_site_or_sum_are_refused() -> None:
    vectors = sealed(terms())
    others = {
        "another run": sealed(terms(digest="e"))["b"],
        "another sum": sealed(terms(name="other"))["b"],
        "another site": sealed(terms())["a"],
        "torn": SealedVector(shares=vectors["b"].shares[::-1], signature=vectors["b"].signature),
        "unsigned": SealedVector(shares=vectors["b"].shares, signature=bytes(64)),
    }
    for vector in others.values():
        with pytest.raises(WireError, match="signature of site 'b' is not valid"):
            part(terms(), "a", {**vectors, "b": vector})


def test_a_site_that_nobody_knows_is_refused() -> None:
    """A server that invents all other members would read the one real site off the sum."""
    invented = terms(sites=(*SITES, "x"))
    vectors = {**sealed(invented), "x": sealed(invented)["a"]}
    with pytest.raises(WireError, match="site 'x' is not in \\[peers\\]"):
        part(invented, "a", vectors)


def test_a_part_that_its_helper_did_not_sign_is_refused() -> None:
    """A server that could write the sum would call every class large."""
    vectors = sealed(terms())
    parts = [part(terms(), helper, vectors) for helper in HELPERS]
    large = np.full(50, 10**6, "<u8").tobytes()
    for forged in (
        [parts[0], msgspec.structs.replace(parts[1], numbers=large)],
        parts[::-1],
        parts[:1],
        [parts[0], parts[0]],
        [parts[0], msgspec.structs.replace(parts[1], numbers=large[:-8])],
    ):
        with pytest.raises(WireError, match="sum refused"):
            read_sum(terms(), forged, PEERS)
    with pytest.raises(WireError, match="sum refused"):
        read_sum(replace(terms(), digest="e"), parts, PEERS)


def test_shares_of_the_wrong_size_are_refused() -> None:
    short = seal_vector(terms(size=49), "b", VECTORS["b"][:49], b"s" * 32, SIGNERS["b"])
    about = terms()
    shares = [short.shares[0], KEYS["c"].public()]
    signed = SealedVector(
        shares=shares, signature=SIGNERS["b"].sign(about.signed_shares("b", shares))
    )
    for helper in HELPERS:
        with pytest.raises(WireError):
            part(about, helper, {**sealed(about), "b": signed})
