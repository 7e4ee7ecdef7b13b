"""Scores are unbiased whatever noise testers choose, and decisions agree with the binomial law, colluders or not."""

import numpy as np
import pytest
from scipy.stats import binom

from tacit.codecs.rr import compute_flips, compute_kept_signal
from tacit.plan import Filter
from tacit.server import Ballots, assign_testers, decide
from tacit.server.votes import tune_threshold
from tests import seeds


def ballots(truth: np.ndarray, kept: np.ndarray, random: np.random.Generator) -> Ballots:
    """Return noisy votes: truth is (testers, contributors) of ±1, kept how much of each tester's votes is left."""
    turned = random.random(truth.shape) < (1 - kept[:, None]) / 2
    said = np.where(turned, -truth, truth) * kept[:, None]
    ones = np.ones(truth.shape[1])
    return Ballots(
        votes=said.sum(axis=0),
        squares=(kept**2).sum() * ones,
        fourths=(kept**4).sum() * ones,
        count=len(kept) * ones,
    )


@pytest.mark.statistical
@pytest.mark.parametrize(
    "kept", [np.full(60, 0.245), np.tile([0.245, 0.46, 0.9, 1.0], 15)], ids=["one p", "own p"]
)
def test_scores_are_unbiased_and_their_errors_right(kept) -> None:
    """4,000 contributors; the mean of their scores is off by more with a probability of 5e-7, their spread by 1 %."""
    random = seeds.generator(1)
    truth = np.where(random.random((60, 4000)) < 0.7, 1, -1)
    found = ballots(truth, kept, random)
    expected = (truth * (kept**2)[:, None]).sum(axis=0) / (kept**2).sum()
    off = found.scores() - expected
    assert np.mean(off) == pytest.approx(0, abs=seeds.deviations() * np.std(off) / np.sqrt(4000))
    assert np.std(found.scores() - 0.4) == pytest.approx(np.mean(found.errors()), rel=0.15)


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("epsilon", "share", "printed"),
    [
        (0.5, 1.0, 0.0065),
        (0.5, 0.9, 0.024),
        (0.5, 0.8, 0.070),
        (0.5, 0.7, 0.164),
        (1.0, 0.8, 0.0024),
        (1.0, 0.7, 0.031),
    ],
)
def test_false_rejections_agree_with_the_binomial_law(epsilon, share, printed) -> None:
    """20,000 contributors; outside the interval of the exact distribution with a probability of 5e-7."""
    kept = compute_kept_signal(compute_flips(epsilon))
    positive = share * (1 + kept) / 2 + (1 - share) * (1 - kept) / 2
    exact = float(binom.cdf(49, 99, positive))  # 99 votes: rejected with at most 49 in favour
    assert exact == pytest.approx(printed, rel=0.05, abs=2e-4)
    random = seeds.generator(2)
    truth = np.where(random.random((99, 20_000)) < share, 1, -1)
    rejected = decide(
        Filter(max_rejected=1.0), ballots(truth, np.full(99, kept), random)
    ).rejected.sum()
    fewest, most = binom.interval(1 - 5e-7, 20_000, exact)
    assert fewest <= rejected <= most


@pytest.mark.statistical
@pytest.mark.parametrize(("epsilon", "flip"), [(0.5, 0.197), (1.0, 0.316)])
def test_colluders_outweigh_a_unanimous_electorate_from_the_known_share_on(epsilon, flip) -> None:
    """Medians of 50 votes of 2,000 testers are good to .0035 of the share; the steps are .01."""
    kept = compute_kept_signal(compute_flips(epsilon))
    assert kept / (1 + kept) == pytest.approx(flip, abs=1e-3)
    random, testers, found = seeds.generator(3), 2000, []
    for share in np.arange(0.05, 0.5, 0.01):
        bad = int(share * testers)
        honest = np.where(random.random((testers - bad, 50)) < (1 + kept) / 2, 1, -1).sum(axis=0)
        if (honest - bad < 0).mean() > 0.5:
            found.append(share)
    assert found[0] == pytest.approx(flip, abs=0.03)


def test_a_tie_and_a_contributor_without_votes_are_accepted() -> None:
    said = Ballots(
        votes=np.array([0.0, -1.0, 0.0]),
        squares=np.array([4.0, 4.0, 0.0]),
        fourths=np.ones(3),
        count=np.array([4.0, 4.0, 0.0]),
    )
    assert decide(Filter(), said).rejected.tolist() == [False, True, False]


def test_no_more_than_the_allowed_share_is_rejected_lowest_first() -> None:
    votes = np.array([-5.0, -1.0, -3.0, 2.0])
    said = Ballots(
        votes=votes, squares=np.full(4, 9.0), fourths=np.full(4, 9.0), count=np.full(4, 9.0)
    )
    assert decide(Filter(max_rejected=0.5), said).rejected.tolist() == [True, False, True, False]
    assert decide(Filter(max_rejected=1.0), said).rejected.tolist() == [True, True, True, False]


def test_the_self_tuned_threshold_lies_in_a_clear_gap_and_is_zero_without_one() -> None:
    random = np.random.default_rng(4)
    two = np.concatenate([np.full(70, 0.5), np.full(30, 0.1)]) + random.normal(0, 0.02, 100)
    assert 0.15 < tune_threshold(two, np.full(100, 0.03)) < 0.45
    assert tune_threshold(two, np.full(100, 0.3)) == 0, "noise hides the gap"
    one = random.normal(0.4, 0.05, 100)
    assert tune_threshold(one, np.full(100, 0.05)) == 0
    upper = np.concatenate([np.full(70, 0.1), np.full(30, 0.5)])
    assert tune_threshold(upper, np.full(100, 0.01)) == 0, (
        "a few that are better than most are no reason to reject most"
    )


@pytest.mark.parametrize(("clients", "testers"), [(10, 3), (7, None), (5, 4), (3, 9)])
def test_every_contributor_has_as_many_testers_and_nobody_votes_on_itself(clients, testers) -> None:
    cohort = np.sort(np.random.default_rng(5).choice(100, clients, replace=False))
    on = assign_testers(cohort, testers, np.random.default_rng(1))
    count = min(testers or clients, clients - 1)
    assert on.shape == (clients, count)
    assert all(
        len(set(line)) == count and own not in line
        for own, line in zip(cohort.tolist(), on.tolist(), strict=True)
    )
    assert (np.unique(on, return_counts=True)[1] == count).all()
