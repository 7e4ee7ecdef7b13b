"""Attacks on updates: hand-worked cases, and where each of them lies beside honest updates."""

import numpy as np
import pytest

from tacit.training import attacks
from tests import seeds

OWN = np.array([3.0, 0.0, -4.0], np.float32)
SEEN = np.array([[1, 0, 2], [3, 0, 2], [2, 3, 2], [2, 1, 2]], np.float32)
"""Mean (2, 1, 2), standard deviations (√½, √1.5, 0)."""


def test_single_attackers() -> None:
    assert attacks.free_rider(OWN).tolist() == [0, 0, 0]
    assert attacks.sign_flip(OWN).tolist() == [-3, 0, 4]
    assert attacks.sign_flip(OWN, 2).tolist() == [-6, 0, 8]


@pytest.mark.statistical
def test_gaussian_noise_is_as_long_as_the_update_and_has_an_address() -> None:
    """20,000 numbers; their mean or length is off by more with a probability of 5e-7."""
    own = np.full(20_000, 0.3, np.float32)
    one, again, other = (attacks.gaussian(own, seeds.draws(n), 2.0) for n in (1, 1, 2))
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)
    off = seeds.deviations(2) / np.sqrt(20_000)
    assert np.linalg.norm(one) == pytest.approx(2 * np.linalg.norm(own), rel=off / np.sqrt(2))
    assert abs(one.mean()) < off * 0.6


def test_inner_product_manipulation_turns_the_mean_round() -> None:
    np.testing.assert_allclose(attacks.ipm(SEEN, 0.1), [-0.2, -0.1, -0.2], rtol=1e-6)


def test_a_little_is_enough_by_hand() -> None:
    np.testing.assert_allclose(
        attacks.alie(SEEN, 10, 4, spread=2), [2 - np.sqrt(2), 1 - np.sqrt(6), 2], rtol=1e-6
    )


@pytest.mark.parametrize(
    ("clients", "attackers", "spread"),
    # Baruch et al. 2019, section 4.1: 50 clients, 24 attackers, so 2 supporters of 26, and z(24/26) = 1.43.
    [(50, 24, 1.426), (100, 30, 0.524), (10, 1, 0.0), (10, 6, 0.674)],
)
def test_a_little_is_enough_chooses_its_distance(clients, attackers, spread) -> None:
    seen = np.array([[1.0], [-1.0]], np.float32)
    assert -attacks.alie(seen, clients, attackers)[0] == pytest.approx(spread, abs=1e-3)


def test_alie_stays_within_the_honest_spread() -> None:
    honest = np.random.default_rng(0).standard_normal((70, 500)).astype(np.float32)
    sent = attacks.alie(honest[:30], 100, 30)
    assert (
        np.linalg.norm(sent - honest.mean(axis=0))
        < np.linalg.norm(honest - honest.mean(axis=0), axis=1).min()
    )


def test_mimic_copies_one_honest_update_whatever_the_order() -> None:
    random = np.random.default_rng(1)
    seen = random.standard_normal((12, 40)).astype(np.float32)
    seen[7] += 30
    assert np.array_equal(attacks.mimic(seen), seen[7])
    assert np.array_equal(attacks.mimic(seen[::-1]), seen[7])
    assert np.array_equal(attacks.mimic(seen[:1]), seen[0])


def test_a_single_attacker_sees_only_itself() -> None:
    assert np.array_equal(attacks.alie(OWN[None], 10, 1), OWN)
    np.testing.assert_allclose(attacks.ipm(OWN[None], 1.0), -OWN)
