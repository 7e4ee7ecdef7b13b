"""One-run audits: known values, sound on noise of the claimed size, and noise that is too small is flagged."""

import numpy as np
import pytest
from scipy.stats import t as student

from tacit.privacy.accounting.gaussian_loss import calibrate_multiplier
from tacit.privacy.accounting.one_run import (
    OneRunAudit,
    audit_scores,
    compute_gaussian_bound,
    compute_steinke_bound,
)
from tests import seeds

RUNS = 20
"""Audits of a test. One alone flags sound noise with a probability of about 0.005, and misses half the noise with less."""


def audits(epsilon: float, factor: float = 1.0) -> list[OneRunAudit]:
    """Return audits of 2,000 canaries under noise for an epsilon, made smaller by a factor."""
    found = []
    for place in range(RUNS):
        random = seeds.generator(place)
        inside = random.random(2000) < 0.5
        scores = random.normal(size=2000) * factor * calibrate_multiplier(epsilon, 1e-5) + inside
        found.append(audit_scores(scores, inside, epsilon, 1e-5))
    return found


def test_bounds_on_all_right_guesses_have_their_known_values() -> None:
    """Pure privacy: 100 right guesses of 100 rule out every epsilon with sigmoid(epsilon)^100 <= 0.05."""
    assert compute_steinke_bound(100, 100, 100, 0.0) == pytest.approx(
        -np.log(0.05 ** (-1 / 100) - 1), abs=2e-3
    )
    assert compute_steinke_bound(1000, 100, 50, 1e-5) == 0.0
    assert compute_gaussian_bound(1000, 100, 50, 1e-5) == 0.0
    assert compute_steinke_bound(2000, 200, 200, 1e-5) < compute_gaussian_bound(
        2000, 200, 200, 1e-5
    )


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", [1.0, 8.0])
def test_noise_of_the_claimed_size_passes_and_shows_most_of_it(epsilon) -> None:
    """More than five of 20 sound runs are flagged with a probability below 1e-8; a mean is off by more with 5e-7."""
    found = audits(epsilon)
    assert sum(one.flagged for one in found) <= 5
    shown = np.array([[one.epsilon for one in run.shown] for run in found])
    off = student.isf(5e-7 / 6, RUNS - 1) * shown.std(axis=0, ddof=1) / np.sqrt(RUNS)
    at_claim = np.array([one.at_claim for one in found[0].shown])
    assert (
        np.abs(shown.mean(axis=0) - at_claim) < off + 0.1
    ).all()  # at the claim, guesses are rounded to whole ones
    if epsilon == 8:
        assert (shown.mean(axis=0)[:2] >= np.array([0.85, 0.45]) * 8).all()


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", [1.0, 8.0])
def test_half_the_noise_is_flagged(epsilon) -> None:
    """More than five of 20 are missed with a probability below 1e-8."""
    flagged = [one for one in audits(epsilon, factor=0.5) if one.flagged]
    assert len(flagged) >= RUNS - 5
    assert all("reveals more than it claims" in one.sentences[0] for one in flagged)
