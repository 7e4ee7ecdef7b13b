"""All shares together are the sum, to the bit; any one of them missing, they are noise."""

import numpy as np
import pytest

from tacit.codecs.distributions.gaussian_noise import draw_gaussian
from tacit.secure_aggregation import to_signed
from tacit.secure_aggregation.shares import expand_mask
from tests import seeds
from tests.secure_aggregation.parties import Leader, helper, leader_with, numbers_of, terms_for


def plain_sum(leader: Leader, clients) -> np.ndarray:
    return sum(to_signed(numbers_of(client, leader.terms)) for client in clients)


@pytest.mark.parametrize("bits", [16, 32, 64])
@pytest.mark.parametrize("helpers", [1, 2, 3])
def test_exact(bits, helpers) -> None:
    terms = terms_for(bits=bits, helpers=helpers)
    leader = leader_with(terms)
    total = leader.sum.copy()
    for number in range(1, helpers + 1):
        assert not np.array_equal(
            to_signed(total), plain_sum(leader, range(5))
        )  # one part missing: no sum
        total += leader.asks(helper(terms, number))
    np.testing.assert_array_equal(to_signed(total), plain_sum(leader, range(5)))


def test_a_thousand_clients_of_twenty_thousand_numbers_with_three_in_ten_gone() -> None:
    """Clients drop out before the set is named: the sum is that of the others, exact to the bit."""
    terms = terms_for(size=20_000, least=500)
    there = [client for client in range(1000) if client % 10 not in (2, 5, 9)]
    leader = Leader(terms)
    for client in there:
        leader.take(client, numbers_of(client, terms))
    total = leader.sum + leader.asks(helper(terms))
    assert len(there) == 700
    np.testing.assert_array_equal(to_signed(total), plain_sum(leader, there))


def test_post_quantum_seals() -> None:
    terms = terms_for(helpers=2, post_quantum=True)
    leader = leader_with(terms)
    parts = [leader.asks(helper(terms, number, post_quantum=True)) for number in (1, 2)]
    np.testing.assert_array_equal(
        to_signed(leader.sum + parts[0] + parts[1]), plain_sum(leader, range(5))
    )
    assert len(leader.envelopes[0]) == terms.envelope_size == 2 * (1168 + 32) + 64 + 16


def test_every_helper_adds_the_whole_noise_once() -> None:
    terms, drawn = terms_for(helpers=2), []

    def noise(own) -> np.ndarray:
        drawn.append(draw_gaussian(own, terms.size) >> 20)
        return drawn[-1]

    leader = leader_with(terms)
    total = leader.sum.copy()
    for number in (1, 2):
        asked = helper(terms, number, noise)
        first = leader.asks(asked)
        np.testing.assert_array_equal(
            leader.asks(asked), first
        )  # asked again: no fresh noise to average
        total += first
    assert len(drawn) == 2
    assert not np.array_equal(drawn[0], drawn[1])
    np.testing.assert_array_equal(
        to_signed(total) - drawn[0] - drawn[1], plain_sum(leader, range(5))
    )


@pytest.mark.statistical
def test_shares_look_like_noise_whatever_they_hide() -> None:
    """Of 20,000 words the mean of each bit is 1/2; one of 32 is off by more with a probability of 5e-7."""
    terms = terms_for(size=20_000, least=1)
    leader = Leader(terms)
    leader.take(0, np.zeros(terms.size, "<u4"))
    bits = np.unpackbits(leader.sum.view(np.uint8)).reshape(-1, 32).mean(axis=0)
    assert np.abs(bits - 0.5).max() < seeds.deviations(32) * 0.5 / np.sqrt(terms.size)


def test_a_mask_is_the_keystream_of_aes_256() -> None:
    """AES-256 of a block of zeros under a key of zeros, a well-known value."""
    assert expand_mask(bytes(32), 4, 32).tobytes().hex() == "dc95c078a2408989ad48a21492842087"
