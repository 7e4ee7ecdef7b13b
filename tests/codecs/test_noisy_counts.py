"""Noisy counts keep the loss they state, measured from many draws, and twins with less noise are caught."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import beta

from tacit.codecs.stages.integer_updates import Loss
from tacit.codecs.votes.noisy_counts import CountNoise, choose_count_noise
from tacit.errors import ChainError
from tacit.privacy.accounting.gaussian_loss import compute_epsilon
from tacit.privacy.claim import GaussianNoise
from tacit.privacy.ledger.account import Account, Charge, compute_totals
from tacit.randomness import Draws

DRAWS, ALPHA = 400_000, 1e-7
LOSS = Loss(epsilon=1.0, delta=1e-2)
"""A large delta, so that draws come close to the bound. Draws have fixed addresses; a bound is wrong with probability 1e-7."""


def measured_epsilon(
    noise: CountNoise, here: tuple[int, int], there: tuple[int, int], delta: float
) -> float:
    """A lower bound on epsilon at delta from draws of both counts, by the half plane that tells the two data sets apart best."""
    drawn = [
        noise.add(
            np.tile(np.array(counts, np.int64), (DRAWS, 1)), Draws.seeded(5).at("audit", side)
        )
        for side, counts in enumerate((here, there))
    ]
    way = np.array(here) - np.array(there)
    scores = [counts @ way for counts in drawn]
    best = 0.0
    for end in np.quantile(scores[1], [0.8, 0.9, 0.95, 0.98]):
        hits = [int((one > end).sum()) for one in scores]
        low = beta.ppf(ALPHA, hits[0], DRAWS - hits[0] + 1)
        high = beta.ppf(1 - ALPHA, hits[1] + 1, DRAWS - hits[1])
        best = max(best, math.log(max(low - delta, 1e-12) / high))
    return best


NEIGHBOURS = [
    ((120, 70), (117, 67)),
    ((120, 70), (117, 70)),
    ((120, 70), (120, 67)),
    ((3, 3), (0, 0)),
]
"""Counts of rows and of correct predictions with and without a client of three rows, or with it replaced."""


@pytest.mark.parametrize(("here", "there"), NEIGHBOURS)
def test_measured_epsilon_is_below_the_stated_one(here, there) -> None:
    noise = choose_count_noise(LOSS, rows_each=3, releases=1)
    assert compute_epsilon(LOSS.delta, noise.multiplier) <= LOSS.epsilon
    assert measured_epsilon(noise, here, there, LOSS.delta) <= LOSS.epsilon


def test_the_measure_is_not_blind() -> None:
    """For the worst neighbours the draws prove most of what is stated."""
    noise = choose_count_noise(LOSS, rows_each=3, releases=1)
    assert measured_epsilon(noise, *NEIGHBOURS[0], LOSS.delta) > 0.85 * LOSS.epsilon


TWINS = {
    "a sensitivity without the root of two": lambda noise: replace(
        noise, divisor=round(noise.divisor * math.sqrt(2))
    ),
    "noise for one row of a client": lambda noise: replace(noise, divisor=noise.divisor * 3),
    "no noise": lambda noise: replace(noise, divisor=2**40),
}


@pytest.mark.parametrize("twin", TWINS)
def test_broken_twins_are_caught(twin) -> None:
    broken = TWINS[twin](choose_count_noise(LOSS, rows_each=3, releases=1))
    assert measured_epsilon(broken, *NEIGHBOURS[0], LOSS.delta) > LOSS.epsilon


@pytest.mark.parametrize("releases", [1, 7, 100])
@pytest.mark.parametrize("relation", ["replace all rows of one client", "add or remove one client"])
def test_all_releases_of_a_run_together_cost_what_the_owner_allows(releases, relation) -> None:
    noise = choose_count_noise(Loss(epsilon=0.5, delta=1e-5), rows_each=2, releases=releases)
    claim = noise.claim(relation)
    assert isinstance(claim.event, GaussianNoise)
    (total,) = [
        one
        for one in compute_totals(Account((Charge((claim,), releases),)), 1e-5)
        if one.unit == "run"
    ]
    assert total.epsilon is not None
    assert 0.49 < total.epsilon <= 0.5


def test_a_client_moves_both_counts_by_no_more_than_the_stated_sensitivity() -> None:
    """Every two points a client can add, and the origin: under either relation the distance is at most √2 times its rows."""
    rows = 4
    points = np.array([(n, r) for n in range(rows + 1) for r in range(n + 1)])
    replaced = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2)).max()
    removed = np.sqrt((points**2).sum(axis=1)).max()
    assert replaced == removed == pytest.approx(math.sqrt(2) * rows)


def test_draws_have_an_address() -> None:
    noise, counts = choose_count_noise(LOSS, rows_each=1, releases=1), np.array([100, 50])
    one, same, other = (noise.add(counts, Draws.seeded(1).at(place)) for place in ("a", "a", "b"))
    assert one.tolist() == same.tolist() != other.tolist()


def test_too_little_epsilon_is_refused() -> None:
    with pytest.raises(ChainError, match=r"raise measures\.epsilon, or measure more rarely"):
        choose_count_noise(Loss(epsilon=1e-6, delta=1e-9), rows_each=100, releases=10_000)
