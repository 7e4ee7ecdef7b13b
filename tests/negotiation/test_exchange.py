"""The negotiation between sites: what comes out, what each site sees of the others, and parties that deviate."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import AccusationError, WireError
from tacit.negotiation.exchange import (
    AgreedSecret,
    Ends,
    ExchangeTerms,
    RangeGrid,
    SiteParty,
    load_agreed_secret,
    negotiate_together,
)
from tacit.negotiation.exchange.signed_step import SignedStep, sign_step
from tacit.randomness import Draws

LIMIT = 16.0
GRID = RangeGrid(LIMIT)
NOBODY: Ends = (None, None)


def ends(low: float, high: float) -> Ends:
    return GRID.find_index(high), GRID.find_index(-low)


def parties(
    count: int = 3, limit: float | None = LIMIT, seed: int | None = None
) -> list[SiteParty]:
    """Sites of one negotiation; with a seed their randomness repeats."""
    names = tuple(f"site-{number}" for number in range(count))
    keys = [Ed25519PrivateKey.generate() for _ in names]
    public = {
        name: key.public_key().public_bytes_raw() for name, key in zip(names, keys, strict=True)
    }
    terms = ExchangeTerms(run="run", digest="d" * 64, sites=names, keys=public, limit=limit)
    roots = [
        Draws.from_system() if seed is None else Draws.seeded(seed).sealed(name) for name in names
    ]
    return [SiteParty(terms, *one) for one in zip(names, keys, roots, strict=True)]


@given(st.lists(st.tuples(st.floats(-20, 20), st.floats(0, 20)), min_size=3, max_size=6))
@settings(deadline=None, max_examples=25)
def test_the_range_covers_everybodys_and_is_hardly_wider(given: list[tuple[float, float]]) -> None:
    own = [(low, low + size) for low, size in given]
    agreed = negotiate_together(parties(len(own)), [ends(*one) for one in own])
    assert agreed.limits is not None
    least, greatest = min(low for low, _ in own), max(high for _, high in own)
    for found, wanted in ((agreed.limits[1], greatest), (-agreed.limits[0], -least)):
        wanted = min(max(wanted, -LIMIT), LIMIT)
        assert wanted <= found <= wanted + max(abs(wanted) / 30, LIMIT * 2.0**-30)


@pytest.mark.parametrize("count", [3, 4, 5, 9, 20])
def test_any_number_of_sites(count) -> None:
    agreed = negotiate_together(parties(count), [ends(-0.1 * n, 0.2) for n in range(count)])
    assert agreed.limits is not None
    assert agreed.limits[0] <= -0.1 * (count - 1)
    assert len(agreed.secret) == 32


def test_two_sites_are_too_few() -> None:
    with pytest.raises(WireError, match="at least 3 sites, got 2"):
        parties(2)


def test_one_party_under_two_names() -> None:
    key = Ed25519PrivateKey.generate().public_key().public_bytes_raw()
    with pytest.raises(WireError, match="two sites have the same signing key"):
        ExchangeTerms(
            run="run", digest="d", sites=("a", "b", "c"), keys={"a": key, "b": key, "c": bytes(32)}
        )


def test_sites_without_values() -> None:
    agreed = negotiate_together(parties(), [NOBODY, ends(-0.2, 0.3), NOBODY])
    assert agreed.limits is not None
    assert agreed.limits[0] <= -0.2 < 0.3 <= agreed.limits[1]
    with pytest.raises(WireError, match="no site has values"):
        negotiate_together(parties(), [NOBODY] * 3)


def test_a_secret_alone() -> None:
    agreed = negotiate_together(parties(limit=None), [NOBODY] * 3)
    assert agreed.limits is None
    assert agreed.secret != negotiate_together(parties(limit=None), [NOBODY] * 3).secret


def test_the_result_is_stored_privately(tmp_path) -> None:
    agreed = negotiate_together(parties(), [ends(-0.2, 0.3)] * 3)
    path = tmp_path / "agreed"
    assert load_agreed_secret(path) is None
    agreed.save(path)
    assert load_agreed_secret(path) == agreed
    assert path.stat().st_mode & 0o077 == 0
    assert agreed.secret.hex() not in repr(agreed)


# What sites and the server see.

Change = Callable[[str, str, bytes], bytes]


def carry(
    some: list[SiteParty], own: list[Ends], change: Change | None = None
) -> list[list[bytes]]:
    """Carry all steps, changing what a site sends where asked; return what everybody saw, step by step."""
    seen, received = list[list[bytes]](), list[bytes]()
    for step in some[0].terms.steps:
        made = []
        for party, end in zip(some, own, strict=True):
            message = party.answer(step, received, lambda _, end=end: end)  # type: ignore[misc]
            if change is not None:
                message = change(party.site, step, message)
                party._sent[step] = message  # it deviates on purpose
            made.append(message)
        received = made
        seen.append(received)
    return seen


def see_contributions(own: list[Ends], runs: int) -> np.ndarray:
    """The masked contributions of the first of three sites, and the sum, over some negotiations: all that site 2 sees of it."""
    found = []
    for _ in range(runs):
        some = parties()
        carry(some, own)
        words = [np.frombuffer(one._contribution, "<u8") for one in some]
        mask = some[2]._pairs[some[0].site].at("mask").words(len(words[0]))
        found.append(np.stack([words[0] - mask, words[0] + words[1] + words[2]]))
    return np.stack(found)


def test_a_curious_site_sees_no_single_range() -> None:
    """Two inputs with the same common range look alike to the third site: bits of what it sees are even coin tosses in both.

    Counts of 4,000 bits per place; five deviations are exceeded with probability below 1e-6 each.
    """
    one, other = (
        [ends(-0.1, 0.9), ends(-0.5, 0.2), NOBODY],
        [ends(-0.5, 0.2), ends(-0.1, 0.9), NOBODY],
    )
    places = np.array([ends(-0.5, 0.5)[0], GRID.find_index(0.3), GRID.find_index(0.95)]) - 1
    for own in (one, other):
        seen = see_contributions(own, 40)
        for place in places:
            bits = np.unpackbits(seen[:, 0, place].copy().view(np.uint8))
            assert abs(bits.mean() - 0.5) < 5 * 0.5 / np.sqrt(bits.size)
        assert (seen[:, 1, places[:2]] != 0).all()
        assert (seen[:, 1, places[2]] == 0).all()


def test_the_relay_reads_nothing() -> None:
    """Neither words, nor secret, nor contributions occur in what the server carries, and equal inputs give other bytes."""
    some = parties()
    seen = [b"".join(step) for step in carry(some, [ends(-0.1, 0.9)] * 3)]
    assert some[0].agreed is not None
    hidden = [
        some[0].agreed.secret,
        *(one._word for one in some),
        *(one._contribution[:64] for one in some),
    ]
    assert not any(one in step for one in hidden for step in seen)


def test_without_masks_a_curious_site_would_see_ranges() -> None:
    """The test above detects a protocol without masks: a site's contribution is zero beyond its own values."""
    some = parties()
    for party in some:
        party._pairs = {}
    flags = np.concatenate([GRID.mark(end) for end in ends(-0.1, 0.9)])
    bare = np.where(flags, some[0].own.at("contribution").words(len(flags)), np.uint64(0))
    assert (bare[~flags] == 0).all()
    assert (bare[flags] != 0).all()


# Parties that deviate.


def resigned(party: SiteParty, message: bytes, content: bytes) -> bytes:
    """The message with another content, signed by its own site."""
    old = msgspec.msgpack.decode(message, type=SignedStep)
    return sign_step(party.terms, party.site, party._key, old.step, old.seen, content)


def test_nobody_chooses_a_word_after_seeing_others() -> None:
    some = parties()

    def change(site: str, step: str, message: bytes) -> bytes:
        if site == some[1].site and step == "words":
            some[1]._word = bytes(32)  # another one than it committed to
            content = msgspec.msgpack.encode(
                [some[1]._seal_word(other) for other in some[1].terms.sites]
            )
            return resigned(some[1], message, content)
        return message

    with pytest.raises(
        AccusationError, match="the word it sent is not the one it had committed to"
    ) as said:
        carry(some, [ends(-0.1, 0.9)] * 3, change)
    assert said.value.site == some[1].site


def test_nobody_chooses_a_range_after_seeing_others() -> None:
    some = parties()

    def change(site: str, step: str, message: bytes) -> bytes:
        if site == some[2].site and step == "open":
            some[2]._contribution = bytes(len(some[2]._contribution))
            return resigned(some[2], message, some[2]._build("open", lambda _: NOBODY))
        return message

    with pytest.raises(
        AccusationError, match="its part of the range is not the one it had committed to"
    ) as said:
        carry(some, [ends(-0.1, 0.9)] * 3, change)
    assert said.value.site == some[2].site


def test_a_copied_commitment_is_refused() -> None:
    """A site that repeats another one's commitment and contribution is not taken for it."""
    some, kept = parties(), dict[str, bytes]()

    def change(site: str, step: str, message: bytes) -> bytes:
        content = msgspec.msgpack.decode(message, type=SignedStep).content if message else b""
        if site == some[0].site:
            kept[step] = content
        if site == some[1].site and step in ("range", "open"):
            return resigned(some[1], message, kept[step])
        return message

    with pytest.raises(AccusationError) as said:
        carry(some, [ends(-0.1, 0.9)] * 3, change)
    assert said.value.site == some[1].site


def test_a_site_that_misstates_its_values_widens_the_range_to_the_limit_at_most() -> None:
    agreed = negotiate_together(parties(), [ends(-0.1, 0.2), ends(-1e9, 1e9), ends(-0.2, 0.1)])
    assert agreed.limits == (-LIMIT, LIMIT)


@pytest.mark.parametrize("seed", range(5))
def test_no_contribution_narrows_the_range(seed) -> None:
    """Whatever a site contributes, committed beforehand, the result covers the others' values, or there is none."""
    some, draw = parties(), np.random.default_rng(seed)
    size = 2 * (len(GRID.values) - 1)
    honest = SiteParty._mask

    def mask(party: SiteParty, own: Ends) -> np.ndarray:
        if party is not some[0]:
            return honest(party, own)
        words = honest(party, NOBODY)
        at = draw.choice(size, 50, replace=False)
        words[at] += draw.integers(1, 2**63, 50).astype(np.uint64)
        return words

    for party in some:
        party._mask = lambda own, party=party: mask(party, own)  # type: ignore[method-assign,misc]
    with pytest.raises(WireError, match="at least one site did not follow the protocol"):
        carry(some, [NOBODY, ends(-0.3, 0.2), ends(-0.1, 0.25)])


def test_a_site_that_computes_another_result_is_named() -> None:
    some = parties()

    def change(site: str, step: str, message: bytes) -> bytes:
        if site == some[1].site and step == "confirm":
            return resigned(some[1], message, bytes(32))
        return message

    with pytest.raises(AccusationError, match="it computed another result") as said:
        carry(some, [ends(-0.1, 0.9)] * 3, change)
    assert said.value.site == some[1].site


MALFORMED = {
    "no message": lambda message: b"",
    "not msgpack": lambda message: b"\xc1" * 10,
    "cut": lambda message: message[:-1],
    "one byte changed": lambda message: message[:40] + bytes([message[40] ^ 1]) + message[41:],
    "very long": lambda message: bytes(5 << 20),
}


@pytest.mark.parametrize("what", MALFORMED)
@pytest.mark.parametrize("step", ["keys", "words", "range", "open", "confirm"])
def test_malformed_messages_name_their_site(what, step) -> None:
    some, received = parties(), list[bytes]()
    for name in some[0].terms.steps:
        if received and some[0].terms.steps[len(some[0]._sent) - 1] == step:
            received[2] = MALFORMED[what](received[2])
            with pytest.raises(AccusationError) as said:
                some[0].answer(name, received, lambda _: ends(-0.1, 0.2))
            assert said.value.site == some[2].site
            return
        received = [one.answer(name, received, lambda _: ends(-0.1, 0.2)) for one in some]


@pytest.mark.parametrize("content", [b"", bytes(32), bytes(64), b"\x01" + bytes(63)])
def test_a_public_key_that_is_none_names_its_site(content) -> None:
    """Among them points of low order, with which everybody would know the key of the pair."""
    some = parties()

    def change(site: str, step: str, message: bytes) -> bytes:
        return (
            resigned(some[2], message, content)
            if (site, step) == (some[2].site, "keys")
            else message
        )

    with pytest.raises(AccusationError) as said:
        carry(some, [ends(-0.1, 0.9)] * 3, change)
    assert said.value.site == some[2].site


def test_equal_randomness_gives_equal_messages() -> None:
    """A restarted site repeats its messages to the bit, so nothing is sealed twice under one key."""
    one, other = parties(seed=4), parties(seed=4)
    for party, twin in zip(one, other, strict=True):
        twin.terms, twin._key = party.terms, party._key
    own = [ends(-0.1, 0.9)] * 3
    assert carry(one, own) == carry(other, own)


def test_results_compare_by_value() -> None:
    some = parties()
    found = negotiate_together(some, [ends(-0.1, 0.9)] * 3)
    assert isinstance(found, AgreedSecret)
    assert found in {one.agreed for one in some}
