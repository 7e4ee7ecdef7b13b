"""One-run audits: known values, sound on noise of the claimed size, and noise that is too small is flagged."""

import numpy as np
import pytest

from tacit.gaussian_loss import multiplier_for
from tacit.ledger.one_run import audited, gaussian_bound, steinke_bound


def scores(epsilon: float, count: int, factor: float = 1.0, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return scores of canaries under noise for an epsilon, made smaller by a factor, and which of them took part."""
    random = np.random.default_rng(seed)
    inside = random.random(count) < 0.5
    return random.normal(size=count) * factor * multiplier_for(epsilon, 1e-5) + inside, inside


def test_bounds_on_all_right_guesses_have_their_known_values() -> None:
    """Pure privacy: 100 right guesses of 100 rule out every epsilon with sigmoid(epsilon)^100 <= 0.05."""
    assert steinke_bound(100, 100, 100, 0.0) == pytest.approx(-np.log(0.05 ** (-1 / 100) - 1), abs=2e-3)
    assert steinke_bound(1000, 100, 50, 1e-5) == 0.0
    assert gaussian_bound(1000, 100, 50, 1e-5) == 0.0
    assert steinke_bound(2000, 200, 200, 1e-5) < gaussian_bound(2000, 200, 200, 1e-5)


@pytest.mark.parametrize("epsilon", [1.0, 8.0])
def test_noise_of_the_claimed_size_passes_and_shows_most_of_it(epsilon) -> None:
    found = [audited(*scores(epsilon, 2000, seed=seed), epsilon, 1e-5) for seed in range(4)]
    assert not any(one.flagged for one in found)
    for place in range(3):
        mean = np.mean([one.shown[place].epsilon for one in found])
        assert mean == pytest.approx(found[0].shown[place].at_claim, rel=0.1, abs=0.15)
    if epsilon == 8:
        estimate, by_noise, _ = (np.mean([one.shown[place].epsilon for one in found]) for place in range(3))
        assert estimate >= 0.85 * 8
        assert by_noise >= 0.55 * 8


@pytest.mark.parametrize("epsilon", [1.0, 8.0])
def test_half_the_noise_is_flagged(epsilon) -> None:
    for seed in range(3):
        found = audited(*scores(epsilon, 2000, factor=0.5, seed=seed), epsilon, 1e-5)
        assert found.flagged
        assert "shows more than it claims" in found.sentences[0]
