"""The sequential test keeps its error rate, finds harmful clients, and takes back those whose evidence turns."""

import numpy as np
import pytest

from tacit.codecs.rr import compute_flips, compute_kept_signal
from tacit.server import Ballots, Evidence, compute_needed_evidence
from tests import seeds

CLIENTS = 20_000


def vote(mean: float, testers: int, epsilon: float, random: np.random.Generator) -> Ballots:
    """A round of randomised votes on many clients that a tester finds helpful with probability (1 + mean)/2."""
    kept = compute_kept_signal(compute_flips(epsilon))
    helped = random.binomial(testers, (1 + kept * mean) / 2, CLIENTS)
    ones = np.ones(CLIENTS)
    return Ballots(
        votes=kept * (2.0 * helped - testers),
        squares=testers * kept**2 * ones,
        fourths=testers * kept**4 * ones,
        count=testers * ones,
    )


def summed(mean: float, testers: int, deviation: float, random: np.random.Generator) -> Ballots:
    """A round of votes under secure aggregation."""
    ones = np.ones(CLIENTS)
    votes = 2.0 * random.binomial(testers, (1 + mean) / 2, CLIENTS) - testers
    noise = deviation * random.standard_normal(CLIENTS)
    return Ballots(
        votes=votes + noise,
        squares=testers * ones,
        fourths=testers * ones,
        count=testers * ones,
        noise=deviation**2 * ones,
    )


@pytest.mark.statistical
@pytest.mark.parametrize("rounds", [1, 20])
@pytest.mark.parametrize("kind", ["randomised", "summed"])
def test_a_client_on_the_boundary_is_ever_rejected_at_most_at_the_stated_rate(kind, rounds) -> None:
    """20,000 clients that exactly half of the testers find helpful; the rate is below .05 by more than the sample's error."""
    random, evidence, ever = seeds.generator(1), Evidence.none(CLIENTS), np.zeros(CLIENTS, bool)
    needed = compute_needed_evidence(0.05, rounds)
    for _ in range(rounds):
        new = vote(0.0, 5, 1.6, random) if kind == "randomised" else summed(0.0, 99, 20.0, random)
        evidence = evidence.add(new, 0.0, needed)
        ever |= evidence.rejected
    assert ever.mean() <= 0.05


def test_a_harmful_client_is_found_and_comes_back_when_its_votes_turn() -> None:
    random, evidence = seeds.generator(2), Evidence.none(CLIENTS)
    needed = compute_needed_evidence(0.01, 20)
    for _ in range(10):
        evidence = evidence.add(summed(-0.8, 99, 20.0, random), 0.0, needed)
    assert evidence.rejected.mean() > 0.999
    for _ in range(10):
        evidence = evidence.add(summed(0.8, 99, 20.0, random), 0.0, needed)
    assert evidence.rejected.mean() < 0.001


def test_votes_that_say_nothing_change_no_decision() -> None:
    random, needed = seeds.generator(3), compute_needed_evidence(0.01, 20)
    evidence = Evidence.none(CLIENTS).add(summed(-1.0, 99, 5.0, random), 0.0, needed)
    assert evidence.rejected.all()
    for _ in range(19):
        evidence = evidence.add(summed(0.0, 99, 20.0, random), 0.0, needed)
    assert evidence.rejected.mean() > 0.98
    nobody = evidence.add(Ballots.none(CLIENTS), 0.0, needed)
    assert (nobody.rejected == evidence.rejected).all()
