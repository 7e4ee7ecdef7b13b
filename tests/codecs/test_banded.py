"""Noise that goes together over rounds: its table, its law, its cost, and a client that answers too soon is caught."""

import math

import numpy as np
import pytest

from tacit import codecs, plan
from tacit.codecs.distributions.banded import (
    BandedNoise,
    choose_coefficients,
    compute_column_norm,
    compute_relative_noise,
)
from tacit.codecs.distributions.gaussian_noise import STEPS
from tacit.privacy import ledger
from tacit.privacy.accounting.gaussian_loss import calibrate_multiplier, compute_delta
from tacit.privacy.ledger import Account, charge
from tacit.randomness import Draws
from tests import seeds

SETTINGS = plan.DPSum(epsilon=2.0, delta=1e-5, clip=0.5, noise="banded")
EXTENT = codecs.Extent(rounds=40, cohort=10, participations=10, separation=4)


@pytest.mark.parametrize(
    ("bands", "independent", "banded"), [(2, 1.41, 1.04), (4, 2.00, 1.12), (8, 2.83, 1.28)]
)
def test_the_table_of_noise_in_the_last_model(bands, independent, banded) -> None:
    """Relative to full participation: a client answers 40 / bands times, and 1 / bands of them a round."""
    alone = bands * math.sqrt(40 / bands) / math.sqrt(40)
    whole = choose_coefficients(40, bands)
    assert alone == pytest.approx(independent, abs=0.005)
    assert alone * compute_column_norm(whole) * compute_relative_noise(whole, 40) == pytest.approx(
        banded, abs=0.005
    )


def matrix(whole: tuple[int, ...], rounds: int) -> np.ndarray:
    return sum(
        (np.diag(np.full(rounds - k, c / 256), -k) for k, c in enumerate(whole, start=1)),
        np.eye(rounds),
    )


def noise(rounds: int, count: int, draws: Draws) -> np.ndarray:
    made = BandedNoise(choose_coefficients(40, 4))
    return np.stack(
        [made.at(draws.for_server(), round_no, count) for round_no in range(1, rounds + 1)]
    )


@pytest.mark.statistical
def test_taken_apart_the_noise_is_independent_again() -> None:
    """C w is z to within a step of rounding: 6 rounds of 30,000 numbers, 21 covariances; one is off with a probability of 5e-7."""
    apart = matrix(choose_coefficients(40, 4), 6) @ noise(6, 30_000, seeds.draws(2)) / (STEPS >> 8)
    found = np.cov(apart)
    assert np.abs(found - np.eye(6)).max() < seeds.deviations(21) * math.sqrt(2 / 30_000)


def test_noise_is_the_same_in_whatever_round_one_begins() -> None:
    whole = choose_coefficients(40, 4)
    straight = noise(7, 50, Draws.seeded(2))
    for round_no in (1, 5, 7):
        assert (
            BandedNoise(whole).at(Draws.seeded(2).for_server(), round_no, 50)
            == straight[round_no - 1]
        ).all()
    other = BandedNoise(whole)
    assert (other.at(Draws.seeded(3).for_server(), 7, 50) != straight[6]).any()


def test_ten_answers_cost_the_stated_epsilon() -> None:
    (claim,) = codecs.build(SETTINGS, EXTENT).claims(1000, 10)
    run = ledger.compute_totals(charge(Account(), (claim,), 10, uses=10), 1e-5)[-1]
    assert 2 * (1 - 1e-3) <= run.epsilon <= 2
    assert (
        claim.trust[1]
        == "the client's own ledger, which limits it to 10 responses, at least 4 rounds apart"
    )


def lost(rounds: tuple[int, ...]) -> float:
    """Return the exact delta, at the stated epsilon, of a client at the clip that answers in these rounds, in the worst directions.

    All answers in one direction are worst where columns overlap. What is released is C g + z with noise of the codec's scale.
    """
    (claim,) = codecs.build(SETTINGS, EXTENT).claims(1000, 10)
    whole = choose_coefficients(40, 4)
    step = 1 / (
        claim.event.noise_multiplier * compute_column_norm(whole)
    )  # the clip, in standard deviations of z
    moved = matrix(whole, 40)[:, [one - 1 for one in rounds]].sum(axis=1) * step
    return compute_delta(2.0, 1 / float(np.linalg.norm(moved)))


def test_answers_that_are_apart_stay_within_the_loss_and_too_many_or_too_near_ones_are_caught() -> (
    None
):
    assert lost(tuple(range(1, 41, 4))) <= 1e-5
    assert lost((1, 6, 10, 15, 20, 24, 28, 33, 37)) <= 1e-5
    assert lost(tuple(range(1, 38, 3))[:10]) > 2e-5
    assert lost(tuple(range(1, 11))) > 1e-3


def test_independent_noise_for_few_answers_needs_no_more_than_for_those() -> None:
    few = codecs.build(plan.DPSum(epsilon=2.0, delta=1e-5, clip=0.5), EXTENT)
    assert few.sum_noise(3) == pytest.approx(
        0.5 * calibrate_multiplier(2.0, 1e-5) * math.sqrt(10), rel=1e-3
    )
