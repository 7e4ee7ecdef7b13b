"""Noise on the sum of a Poisson cohort: less of it, as the chance of being asked is unknown; measured below what is stated."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from tacit import codecs, plan
from tacit.audit.epsilon import lower_bound
from tacit.privacy import ledger
from tacit.privacy.accounting import gaussian_loss, sampled_loss
from tacit.privacy.claim import GaussianNoise, Sampled
from tacit.privacy.ledger import Account, charge
from tacit.randomness import ClientDraws, PublicDraws
from tests import seeds
from tests.measured import least_bound

SETTINGS = plan.DPSum(epsilon=2.0, delta=1e-3, clip=0.5)


def claim_for(rate: float, rounds: int = 40):
    (claim,) = codecs.build(SETTINGS, codecs.Extent(rounds=rounds, cohort=10, rate=rate)).claims(
        1000, 10
    )
    return claim


@pytest.mark.parametrize("rounds", [1, 7, 40])
def test_full_participation_is_the_exact_composition_of_noise(rounds) -> None:
    for multiplier in (0.7, 4.0, 30.0):
        exact = gaussian_loss.compute_epsilon(1e-5, multiplier / math.sqrt(rounds))
        assert sampled_loss.compute_epsilon(1e-5, multiplier, 1.0, rounds) == exact
        nearly = sampled_loss.compute_epsilon(1e-5, multiplier, 1 - 1e-9, rounds)
        assert exact * (1 - 1e-6) <= nearly <= exact * 1.01
    wanted = gaussian_loss.calibrate_multiplier(2.0, 1e-5) * math.sqrt(rounds)
    assert sampled_loss.calibrate_multiplier(2.0, 1e-5, 1.0, rounds) == wanted


@pytest.mark.parametrize(("rate", "rounds"), [(0.1, 40), (0.5, 20)])
def test_a_sampled_run_comes_out_at_the_stated_epsilon_with_less_noise(rate, rounds) -> None:
    claim = claim_for(rate, rounds)
    assert isinstance(claim.event, Sampled)
    assert isinstance(claim.event.event, GaussianNoise)
    assert claim.event.rate == rate
    full = claim_for(1.0, rounds).event
    assert (
        claim.event.event.noise_multiplier < (0.2 if rate == 0.1 else 0.6) * full.noise_multiplier
    )
    run = ledger.compute_totals(charge(Account(), (claim,), rounds, uses=rounds), SETTINGS.delta)[
        -1
    ]
    assert 2 * (1 - 1e-3) <= run.epsilon <= 2
    assert "keeps secret who was sampled in a round" in claim.trust[0]


def test_a_smaller_chance_never_asks_for_more_noise() -> None:
    found = [
        sampled_loss.calibrate_multiplier(1.0, 1e-5, rate, 20) for rate in (0.05, 0.2, 0.6, 1.0)
    ]
    assert found == sorted(found)


def test_only_poisson_cohorts_gain() -> None:
    poisson, count, everybody = (
        codecs.Extent.of(
            plan.Plan(server=plan.Server(rounds=9, cohort=cohort, cohort_size=size)), 100
        )
        for cohort, size in (("poisson", 20), ("count", 20), ("all", None))
    )
    assert (poisson.rate, count.rate, everybody.rate) == (0.2, 1.0, 1.0)
    assert (poisson.cohort, count.cohort, everybody.cohort) == (20, 20, 100)


def measured(
    multiplier: float, rate: float, always: bool = False, times: int = 4_000_000
) -> tuple[float, float]:
    """Return what an audit of a client at the clip that may be asked finds at least, and the lower bound on epsilon it finds.

    One client and one coordinate are the worst case; the event begins at nine tenths of the way to where the loss of a release
    passes the stated epsilon.
    """
    random, edge = (
        seeds.generator(3),
        0.9 * (multiplier**2 * math.log((math.exp(1.0) - 1 + rate) / rate) + 0.5),
    )
    asked = np.ones(times, bool) if always else random.random(times) < rate
    with_it, without = (
        asked + random.normal(0, multiplier, times),
        random.normal(0, multiplier, times),
    )
    unlikely, moved = norm.sf(edge / multiplier), norm.sf((edge - 1) / multiplier)
    likely = moved if always else rate * moved + (1 - rate) * unlikely
    found = lower_bound((with_it > edge).astype(int), (without > edge).astype(int), delta=1e-3)
    return least_bound(likely, unlikely, times, delta=1e-3), found


@pytest.mark.statistical
def test_measured_epsilon_is_below_the_stated_one_and_a_twin_that_always_asks_is_caught() -> None:
    """Four million rounds on each side; it finds too much with a probability of at most 1e-6, too little with 5e-7."""
    multiplier = sampled_loss.calibrate_multiplier(1.0, 1e-3, 0.3, 1)
    least, found = measured(multiplier, 0.3)
    assert 0.75 <= least <= found <= 1.0
    least, found = measured(multiplier, 0.3, always=True)
    assert 1.3 < least <= found


def test_no_gain_is_claimed_where_whoever_is_not_trusted_knows_who_was_asked() -> None:
    """A server that reads each message, or leads a secure sum, knows who was."""
    extent = codecs.Extent(rounds=40, cohort=10, rate=0.1)
    local = codecs.build(plan.Gaussian(epsilon=2.0, delta=1e-3, clip=0.5), extent)
    helped = codecs.build(SETTINGS, codecs.Extent(rounds=40, cohort=10, rate=0.1, helpers=1))
    full = claim_for(1.0).event
    assert isinstance(local.claims(1000, 10)[0].event, GaussianNoise)
    assert helped.claims(1000, 10)[0].event.noise_multiplier == pytest.approx(
        full.noise_multiplier, rel=1e-3
    )


@pytest.mark.parametrize("rate", [0.001, 0.1, 0.39])
def test_a_delta_above_the_rate_ends_the_search_at_a_safe_multiplier(rate) -> None:
    """Any noise keeps such a delta, so the search for the smallest multiplier had no end."""
    found = sampled_loss.calibrate_multiplier(50.0, 0.4, rate, 1)
    assert found == 1 / 16
    assert sampled_loss.compute_epsilon(0.4, found, rate, 1) <= 50
    made = codecs.build(
        plan.DPSum(epsilon=50.0, delta=0.4, clip=1.0), codecs.Extent(rounds=1, cohort=10, rate=rate)
    )
    row = np.array([1.0, 0.0], np.float32)
    sent = made.encode(row, {}, own=ClientDraws(b""), public=PublicDraws(b"")).payload.view("<i4")
    assert 0 < sent[0] <= 2**30, "an update fits the 32 bits it is sent in"
