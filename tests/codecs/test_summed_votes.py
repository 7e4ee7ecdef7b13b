"""Votes under a secure sum cost a tester what is claimed, all together, and twins with too little noise are caught."""

import numpy as np
import pytest
from scipy.stats import norm

from tacit import plan
from tacit.audit.epsilon import lower_bound
from tacit.codecs import Codec
from tacit.codecs.votes import summed_votes
from tacit.randomness import Draws
from tests import seeds
from tests.measured import least_bound
from tests.roles import encode

CLIENTS, VOTES = 20, 19
EPSILON, DELTA = 2.0, 1e-2
TRIALS = 300_000
UNUSED = Draws(bytes(32))
SPREAD = 2.0**20
"""The standard deviation of the noise on one number, in steps."""


def made(epsilon: float = EPSILON, testers: int | None = None) -> Codec:
    return summed_votes.make(
        plan.Filter(votes_epsilon=epsilon, delta=DELTA, testers=testers), CLIENTS, helpers=2
    )


def steps_of(codec: Codec, vector: np.ndarray) -> np.ndarray:
    """Return a vector of votes as the whole numbers that are added up."""
    payload = encode(codec, vector.astype(np.float32), UNUSED, UNUSED).payload
    return codec.integers.read(payload, len(vector)).view("<i4").astype(np.int64)


def all_votes() -> np.ndarray:
    on = np.arange(1, CLIENTS)
    return summed_votes.build_vote_vector(np.arange(VOTES) % 3 > 0, on, CLIENTS)


def measured(codec: Codec, vector: np.ndarray, trials: int = TRIALS) -> tuple[float, float]:
    """Return what an audit finds at least, and the lower bound on epsilon at delta that it finds.

    It looks at sums with and without one tester, along that tester's own votes. One helper's noise counts, as if the server worked
    together with the other. The event begins at nine tenths of the way to where the loss is the stated one; the noise of a number
    does not depend on how many are drawn together.
    """
    assert codec.sum_noise(CLIENTS) == pytest.approx(codec.sum_noise(CLIENTS * trials), rel=1e-9)
    scores = [
        codec.integers.noise(CLIENTS * trials, seeds.draws(n)).reshape(trials, CLIENTS)
        @ np.sign(vector)
        for n in range(2)
    ]
    moved, spread = (
        float(vector @ np.sign(vector)),
        SPREAD * float(np.sqrt(np.count_nonzero(vector))),
    )
    edge = 0.9 * (EPSILON / (moved / spread) + moved / spread / 2) * spread
    least = least_bound(
        norm.sf((edge - moved) / spread), norm.sf(edge / spread), trials, delta=DELTA
    )
    return least, lower_bound(
        *((score > edge).astype(np.int64) for score in (scores[0] + moved, scores[1])), delta=DELTA
    )


@pytest.mark.statistical
def test_measured_epsilon_is_below_the_stated_one_and_near_it() -> None:
    """300,000 sums on each side; it finds too much with a probability of at most 1e-6, too little with 5e-7."""
    codec = made()
    least, found = measured(codec, steps_of(codec, all_votes()))
    assert 0.8 * EPSILON <= least <= found <= EPSILON


@pytest.mark.statistical
def test_a_twin_with_the_noise_of_a_single_vote_is_caught() -> None:
    """Each vote is hidden at 2 by itself, and 19 of them are sent."""
    single = made(testers=1)
    one = steps_of(single, np.eye(1, CLIENTS, 1, dtype=np.float32)[0])[1]
    least, found = measured(single, one * all_votes().astype(np.int64), 50_000)
    assert EPSILON + 0.5 < least <= found


@pytest.mark.statistical
def test_a_twin_with_half_the_noise_is_caught() -> None:
    codec = made()
    least, found = measured(codec, 2 * steps_of(codec, all_votes()), 100_000)
    assert EPSILON + 0.3 < least <= found


@pytest.mark.statistical
def test_a_twin_whose_votes_weigh_what_the_tester_likes_is_caught() -> None:
    """Without the cut to a tester's length, ten times each vote goes into the sum; with it, the length is the same."""
    codec, votes = made(), all_votes()
    assert np.linalg.norm(steps_of(codec, 10 * votes)) <= np.linalg.norm(steps_of(codec, votes)) * (
        1 + 1e-6
    )
    least, found = measured(codec, 10 * steps_of(codec, votes), 50_000)
    assert EPSILON + 0.5 < least <= found
