"""A vote costs what it claims, the same question gets the same answer, and broken votes are caught."""

import math

import numpy as np
import pytest

from tacit.audit.epsilon import lower_bound
from tacit.codecs.rr import WORD, compute_bit_epsilon, compute_flips, compute_kept_signal
from tacit.codecs.votes import single_vote
from tacit.errors import WireError
from tacit.randomness import Draws
from tests import seeds
from tests.measured import least_bound

OWN = Draws.seeded(7).for_client()
CHOSEN = seeds.draws(8).for_client()
MANY = 100_000


def sent(helped: bool, epsilon: float | None, count: int = MANY, first: int = 0) -> np.ndarray:
    asked = [number.to_bytes(8, "little") for number in range(first, first + count)]
    votes, _ = single_vote.decode_votes(
        single_vote.encode_votes(np.full(count, helped), asked, epsilon, CHOSEN), count
    )
    return (votes > 0).astype(int)


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_the_measured_loss_of_a_vote_is_below_its_claim_and_near_it(epsilon) -> None:
    """It finds too much with a probability of at most 1e-6, too little with 5e-7."""
    claimed = compute_bit_epsilon(compute_flips(epsilon))
    assert claimed <= epsilon * (1 + 1e-9)
    flipped = compute_flips(epsilon) / WORD
    least, found = (
        least_bound(1 - flipped, flipped, MANY),
        lower_bound(sent(True, epsilon), sent(False, epsilon, first=MANY)),
    )
    assert 0.85 * claimed < least <= found <= claimed


def test_a_vote_by_the_printed_formula_loses_half_of_what_it_says() -> None:
    p = 0.7551  # what the publication calls epsilon = 1
    assert math.log((1 - p / 2) / (p / 2)) == pytest.approx(0.5, abs=1e-3)
    assert (1 + compute_kept_signal(compute_flips(0.5))) / 2 == pytest.approx(0.6225, abs=1e-4)
    assert (1 + compute_kept_signal(compute_flips(1.0))) / 2 == pytest.approx(0.7311, abs=1e-4)


@pytest.mark.statistical
def test_a_broken_vote_that_forgets_half_of_its_flips_is_caught() -> None:
    broken, flipped = compute_bit_epsilon(compute_flips(0.5) // 2), compute_flips(0.5) / 2 / WORD
    found = lower_bound(sent(True, broken), sent(False, broken, first=MANY))
    assert (
        compute_bit_epsilon(compute_flips(0.5))
        < least_bound(1 - flipped, flipped, MANY) * 0.999
        <= found
    )


@pytest.mark.statistical
def test_the_same_question_gets_the_same_answer_and_another_one_a_new_coin() -> None:
    """Two coins of 400 differ with a probability of 0.47: between 100 and 300 times, except with one below 1e-15."""
    helped, asked = (
        np.ones(400, bool),
        [bytes([number % 256, number // 256]) for number in range(400)],
    )
    first = single_vote.encode_votes(helped, asked, 0.5, CHOSEN)
    assert (single_vote.encode_votes(helped, asked, 0.5, CHOSEN) == first).all()
    assert (single_vote.encode_votes(helped[:3], asked[:3], 0.5, CHOSEN)[4] & 7) == (
        first[4] & 7
    ), "whatever else is asked with it"
    other = single_vote.encode_votes(helped, [question + b"!" for question in asked], 0.5, CHOSEN)
    assert 100 < np.unpackbits(other[4:] ^ first[4:]).sum() < 300


def test_votes_as_they_are_and_malformed_ones() -> None:
    votes, kept = single_vote.decode_votes(
        single_vote.encode_votes(np.array([True, False, True]), [b"a", b"b", b"c"], None, OWN), 3
    )
    assert votes.tolist() == [1, -1, 1]
    assert kept == 1
    with pytest.raises(WireError, match="3 votes take 5 bytes, got 4"):
        single_vote.decode_votes(np.zeros(4, np.uint8), 3)
    with pytest.raises(WireError, match="words flip a vote, which leaves no signal"):
        single_vote.decode_votes(np.array([0, 0, 0, 255, 1], np.uint8), 3)
