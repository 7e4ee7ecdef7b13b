"""A site confirms one plan and one set of terms: the digest and what is signed are fixed, and no other signature is taken."""

from __future__ import annotations

import hashlib

import msgspec
import pytest

from tacit.deployment.bodies import Offer
from tacit.deployment.confirmation import check_confirmations, run_digest, sign_digest
from tacit.errors import WireError
from tests.deployment.agreements import peers, signer, terms_of

DIGEST = "d" * 64


def test_the_digest_of_a_run() -> None:
    offer = Offer(plan="plan", simulated_noise=True)
    content = b"\x95\xa9tacit run\xa5job-1\xa4plan\xc3\xc4\x05terms"
    assert run_digest("job-1", offer, b"terms") == hashlib.sha256(content).hexdigest()
    others = [
        run_digest("job-2", offer, b"terms"), run_digest("job-1", Offer(plan="nalp", simulated_noise=True), b"terms"),
        run_digest("job-1", Offer(plan="plan"), b"terms"), run_digest("job-1", offer, b"smret"),
    ]  # fmt: skip
    assert len({run_digest("job-1", offer, b"terms"), *others}) == 5


def test_what_is_signed() -> None:
    signer("a").public_key().verify(
        sign_digest(signer("a"), "a", DIGEST), msgspec.msgpack.encode(("tacit terms", "a", DIGEST))
    )


CONFIRMED = {site: sign_digest(signer(site), site, DIGEST) for site in "abc"}
OTHERS = (
    "terms refused: site 'b' did not confirm the plan and terms that this site was sent; the server"
    " sent it others, or the key under [peers] in site.toml is not its signing key"
)


def test_every_known_peer_confirms() -> None:
    check_confirmations(terms_of(), DIGEST, CONFIRMED, peers())
    check_confirmations(terms_of(), DIGEST, {"a": CONFIRMED["a"]}, peers("a", "z"))
    with pytest.raises(WireError) as error:
        check_confirmations(terms_of(), DIGEST, {site: CONFIRMED[site] for site in "ab"}, peers())
    assert (
        str(error.value)
        == "terms refused: site 'c' has not confirmed this run's plan and terms; its signature is"
        " missing"
    )


@pytest.mark.parametrize(
    "signature",
    [
        sign_digest(signer("b"), "b", "e" * 64), sign_digest(signer("b"), "a", DIGEST), sign_digest(signer("z"), "b", DIGEST),
        CONFIRMED["a"], bytes(64),
    ],
)  # fmt: skip
def test_no_other_signature_is_taken(signature: bytes) -> None:
    with pytest.raises(WireError) as error:
        check_confirmations(terms_of(), DIGEST, {**CONFIRMED, "b": signature}, peers())
    assert str(error.value) == OTHERS


def test_a_peers_key_that_is_none() -> None:
    with pytest.raises(WireError, match="is not its signing key"):
        check_confirmations(terms_of(), DIGEST, CONFIRMED, {**peers(), "b": b"short"})
