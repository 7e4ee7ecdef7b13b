"""One bit under a secure sum: its law against exact sums, its bytes, what is stated, and measured losses below it."""

import math
from functools import reduce

import numpy as np
import pytest
from mpmath import mpf
from scipy.stats import binom, norm

from tacit import codecs, plan
from tacit.audit.epsilon import lower_bound
from tacit.codecs.distributions.onebit_loss import (
    _compute_log_moments,
    bound_coin_sums,
    bound_shift,
)
from tacit.codecs.onebit import CoinBiases, build_coin_sum, choose_biases, toss_coins
from tacit.codecs.stages.clip import clip_largest
from tacit.codecs.stages.integer_updates import Loss
from tacit.codecs.stages.rotation import find_block_size, rotate
from tacit.errors import ChainError
from tacit.privacy import ledger
from tacit.privacy.accounting import dominated_loss
from tacit.privacy.accounting.dominated_loss import RATES
from tacit.privacy.accounting.gaussian_loss import calibrate_multiplier
from tacit.privacy.accounting.gaussian_loss import compute_epsilon as gaussian_epsilon_at
from tacit.privacy.claim import GaussianDominated
from tacit.privacy.ledger import Account, charge
from tacit.randomness import Draws
from tests import seeds
from tests.codecs import loss_oracle
from tests.codecs.loss_oracle import least_epsilon
from tests.measured import least_bound

CASE = plan.OneBit(epsilon=2.0, delta=1e-3, clip=0.5)


def made_for(case: plan.OneBit = CASE, rounds: int = 1, cohort: int = 100) -> codecs.Codec:
    return codecs.build(case, codecs.Extent(rounds=rounds, cohort=cohort))


# The bound on what sums reveal


def others_at(others: np.ndarray) -> np.ndarray:
    """Return the distribution of the sum of the others' bits with these probabilities."""
    rest = np.ones(1)
    for probability, count in zip(*np.unique(others, return_counts=True), strict=True):
        rest = np.convolve(rest, binom.pmf(np.arange(count + 1), count, probability))
    return rest


def exact_shift(clients: int, reach: float) -> float:
    """Return c of the bound by plain convolution: for each number of others above one half, the worst threshold."""
    worst = 0.0
    for above in range(clients):
        rest = others_at(0.5 + reach * np.where(np.arange(clients - 1) < above, 1, -1))
        sides = [
            np.convolve(rest, [0.5, 0.5])[::-1].cumsum()[::-1][1:],
            np.convolve(rest, [0.5, 0.5]).cumsum()[:-1],
        ]
        levels = np.where(sides[0] < sides[1], norm.isf(sides[0]), norm.ppf(sides[1]))
        variance = (0.25 - reach**2) * (clients - 1) + 0.25
        skewness = 2 * reach * (0.25 - reach**2) * (clients - 1 - 2 * above) / variance**1.5
        worst = max(
            worst,
            (rest / (norm.pdf(levels) * (1 - skewness / 3 * levels)))[np.abs(levels) < 7].max(),
        )
    return worst


@pytest.mark.parametrize("clients", [1, 2, 7, 50])
@pytest.mark.parametrize("reach", [0.02, 0.125])
def test_the_shift_of_a_sum_is_that_of_plain_convolution(clients, reach) -> None:
    assert bound_shift(clients, reach)[0] == pytest.approx(exact_shift(clients, reach), rel=1e-7)


def test_groups_of_others_are_bounded_from_above_and_closely() -> None:
    """600 clients are grouped; the tails of plain convolution are exact to 7 standard deviations."""
    exact = exact_shift(600, 0.1)
    assert exact <= bound_shift(600, 0.1)[0] <= exact * 1.0015


@pytest.mark.parametrize("clients", [1, 2, 7, 30])
@pytest.mark.parametrize("reach", [0.01, 0.03, 0.125])
def test_few_sums_reveal_no_more_than_the_bound_whatever_the_others_send(clients, reach) -> None:
    """Others at both ends in several proportions and at random probabilities between; one to three coordinates, both directions.

    delta is exact: all outcomes of the sums are enumerated.
    """
    sums, random = bound_coin_sums(clients, reach), np.random.default_rng(clients)
    mixtures = [
        0.5 + reach * np.where(np.arange(clients - 1) < count, 1, -1)
        for count in sorted({0, clients // 2, clients - 1})
    ]
    mixtures += [0.5 + reach * random.choice(np.linspace(-1, 1, 7), clients - 1) for _ in range(2)]
    for others in mixtures:
        with_it, without = (
            np.convolve(others_at(others), [0.5 - bias, 0.5 + bias]) for bias in (reach, 0.0)
        )
        for bits in (1, 2, 3):
            here, there = (
                reduce(np.multiply.outer, [one] * bits).ravel() for one in (with_it, without)
            )
            event = sums.dominated(squares=bits * reach**2, bits=bits)
            for delta in (1e-2, 1e-4, 1e-6):
                stated = dominated_loss.compute_epsilon(delta, event)
                for one, other in ((here, there), (there, here)):
                    assert np.maximum(one - math.exp(stated) * other, 0).sum() <= delta


def test_the_energy_of_the_drift_is_within_its_bound() -> None:
    """Step 4 of the proof: 2,000 paths of 100 coordinates with the largest h, for both signs of κ, under P and under Q; seeded."""
    steepest, skew, count, steps = 0.02, 0.014, 100, 32
    bound = np.array(_compute_log_moments(steepest, skew))
    for kappa in (skew, -skew):
        for drifts in (False, True):
            random = np.random.default_rng(1)
            x, energy = np.zeros((2_000, count), np.float32), np.zeros(2_000)
            for step in range(steps):
                ratio = 1 + steepest * (x + kappa * (x**2 - step / steps))
                drift = steepest * (1 + 2 * kappa * x) / ratio
                energy += np.square(drift, dtype=np.float64).sum(axis=1) / steps
                x += random.standard_normal(x.shape, np.float32) / math.sqrt(steps) + (
                    drift / steps if drifts else 0
                )
            excess = energy - count * steepest**2
            for place, rate in enumerate(RATES):
                if rate * excess.std() < 2.5:
                    assert (
                        np.log(np.exp(rate * excess).mean())
                        <= count * steepest**2 * bound[place] + 1e-12
                    )


def test_an_account_that_forgets_that_others_lean_too_is_caught() -> None:
    """With all others fair, as often assumed, c is 2 / sqrt(N). An exact lower bound on epsilon for leaning others lies above."""
    clients, reach, bits, delta = 400, 0.1, 4000, 1e-5
    others = loss_oracle.Coins(bits * (clients - 1), mpf("0.5") + mpf(reach))
    own = [loss_oracle.Coins(bits, mpf("0.5") + mpf(bias)) for bias in (reach, 0.0)]
    least = least_epsilon([others, own[0]], [others, own[1]], delta)
    assert (
        gaussian_epsilon_at(delta, math.sqrt(clients) / (2 * reach * math.sqrt(bits)))
        < 0.985 * least
    )
    event = bound_coin_sums(clients, reach).dominated(squares=bits * reach**2, bits=bits)
    assert least <= dominated_loss.compute_epsilon(delta, event) <= 1.01 * least


def test_few_clients_send_up_to_two_bits_more_and_none_is_refused() -> None:
    """Six clients at 20 per run need 31 coins and send the count of 127; with one client each coordinate is bounded by itself."""
    for clients, epsilon, bits, alone in (
        (6, 20.0, 127, False),
        (1, 12.0, 15, True),
        (500, 2.0, 127, False),
    ):
        coins = choose_biases(Loss(epsilon=epsilon, delta=1e-3), 2, clients, 0.5, 256)
        assert (coins.bits, not coins.event.rates) == (bits, alone)
        assert dominated_loss.compute_epsilon(1e-3, coins.event, 2) == pytest.approx(
            epsilon, rel=1e-3
        )


def test_the_loss_grows_with_the_length_of_an_update() -> None:
    sums = bound_coin_sums(1000, 0.05)
    one, twice = (sums.dominated(squares=squares, bits=100) for squares in (1.0, 4.0))
    assert one.noise_multiplier == pytest.approx(2 * twice.noise_multiplier)
    assert np.allclose(np.array(twice.excess), 4 * np.array(one.excess))


# What is stated


@pytest.mark.parametrize(("epsilon", "bits"), [(0.5, 1), (1.0, 1), (2.0, 1), (8.0, 7)])
def test_noise_for_a_whole_run_is_near_that_of_a_gaussian_and_bits_are_few(epsilon, bits) -> None:
    """5,000 clients, 40 rounds, 16,384 parameters at delta 1e-5. Others that lean cost 0.3 to 3 %, the proof 0.2 %."""
    coins = choose_biases(Loss(epsilon=epsilon, delta=1e-5), 40, 5000, 1.0, find_block_size(16_384))
    gaussian = calibrate_multiplier(epsilon, 1e-5) * math.sqrt(40)
    assert gaussian < coins.stddev * math.sqrt(5000) < 1.04 * gaussian
    assert coins.bits == bits
    assert epsilon * (1 - 1e-3) <= dominated_loss.compute_epsilon(1e-5, coins.event, 40) <= epsilon


def test_one_bit_per_parameter_whatever_their_number() -> None:
    made = made_for(plan.OneBit(epsilon=1.0, delta=1e-5, clip=1.0), rounds=40, cohort=5000)
    for dim in (10_000, 16_384, 20_001):
        assert 8 * made.payload_size(dim) / dim <= 1.001


def test_the_whole_run_comes_out_at_the_stated_epsilon() -> None:
    (claim,) = made_for(rounds=40).claims(5001, 100)
    account = charge(Account(), (claim,), 40, uses=40)
    run = ledger.compute_totals(account, CASE.delta)[-1]
    assert (run.unit, run.basis) == ("run", "composition of dominating Gaussian noise")
    assert CASE.epsilon * 0.999 <= run.epsilon <= CASE.epsilon * (1 + 1e-9)
    assert claim.trust == (
        (
            "that the server sees only the sum of the bits of at least 100 clients whose single bits it"
            " does not know"
        ),
    )
    assert claim.relation == "add or remove one client"


def test_fewer_reporters_are_paid_for_with_noise() -> None:
    all_of_them, half = (
        made_for(plan.OneBit(**{**CASE.__dict__, "reporters": share})) for share in (1.0, 0.5)
    )
    assert (all_of_them.min_clients, half.min_clients) == (100, 50)
    assert half.known_noise(5001) / all_of_them.known_noise(5001) == pytest.approx(
        math.sqrt(2), rel=0.04
    )


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ChainError, match="does not bound the l2 norm of a client's update"):
        codecs.chain(
            clip_largest(1.0), last=build_coin_sum(CASE, codecs.Extent(rounds=1, cohort=10))
        )
    with pytest.raises(ChainError, match="bits per parameter, more than 255"):
        made_for(plan.OneBit(epsilon=50.0, delta=1e-5, clip=1.0), cohort=100_000).claims(10, 1)
    with pytest.raises(ChainError, match=r"is not bounded closely enough .* raise codec\.delta"):
        made_for(plan.OneBit(epsilon=1.0, delta=1e-25, clip=1.0)).claims(1000, 1)


# What is sent


def test_chances_are_whole_numbers_whose_squares_add_up_to_no_more_than_agreed() -> None:
    coins = choose_biases(Loss(epsilon=2.0, delta=1e-3), 1, 100, 0.5, 256)
    radius = coins.slope * coins.clip * 2**32
    rows = [
        rotate(row.astype(np.float32))
        for row in (np.eye(1, 256)[0], np.ones(256) / 32, np.full(256, 0.03125 * 1.0000001))
    ]
    for row in rows:
        steps = coins.compute_steps(row)
        assert (steps == np.rint(steps)).all()
        assert sum(int(step) ** 2 for step in steps) <= radius**2
        assert np.abs(steps).max() <= coins.largest * 2**32


@pytest.mark.statistical
@pytest.mark.parametrize("bits", [1, 3, 15])
def test_counts_of_ones_have_their_chances(bits) -> None:
    """40,000 coordinates at each of three probabilities; one is off by more with a probability of 5e-7."""
    coins = CoinBiases(
        clip=1.0, clients=10, bits=bits, slope=1.0, largest=0.125, event=GaussianDominated(1.0)
    )
    for chance in (-0.125, 0.0, 0.1):
        payload = toss_coins(np.full(40_000, np.rint(chance * 2**32)), coins, seeds.draws(bits))
        width = bits.bit_length()
        counts = np.unpackbits(payload, bitorder="little")[: 40_000 * width].reshape(-1, width) @ (
            1 << np.arange(width)
        )
        assert counts.max() <= bits
        assert abs(counts.mean() / bits - 0.5 - chance) < seeds.deviations(3) * 0.5 / math.sqrt(
            40_000 * bits
        )


# Measured losses

CLIENTS, DIM = 12, 64
DELTA, EPSILON = 1e-2, 1.0
SOUND = Loss(epsilon=EPSILON, delta=DELTA)


def heads(coins: CoinBiases, value: float, others: float, times: int, draws: Draws) -> np.ndarray:
    """Return how many of all bits lie on the side of one client's update, which is `value` times the longest there is.

    Probabilities of all others are `others` times as far off one half as they may be, in the same direction. The update is spread
    evenly: it moves every bit by as much, so that this count is all that tells it apart.
    """
    towards = rotate(np.eye(1, DIM, dtype=np.float32)[0]) > 0
    width, sent = (
        coins.bits.bit_length(),
        toss_coins(np.tile(steps_of(coins, value), times), coins, draws),
    )
    bits = np.unpackbits(sent, bitorder="little")
    own = bits[: times * DIM * width].reshape(times, DIM, width) @ (1 << np.arange(width))
    probabilities = 0.5 + others * coins.largest * np.where(towards, 1, -1)
    rest = (
        draws.at("others")
        .generator()
        .binomial((CLIENTS - 1) * coins.bits, probabilities, (times, DIM))
    )
    return np.where(towards, own + rest, CLIENTS * coins.bits - own - rest).sum(axis=1)


def steps_of(coins: CoinBiases, value: float) -> np.ndarray:
    direction = rotate(np.eye(1, DIM, dtype=np.float32)[0])
    return coins.compute_steps(np.float32(value * coins.clip) * direction)


def tail(coins: CoinBiases, value: float, others: float) -> np.ndarray:
    """Return the exact probability of more heads than 0, 1, 2, …: two binomial numbers together."""
    own, rest = DIM * coins.bits, DIM * (CLIENTS - 1) * coins.bits
    (moved,) = set(np.abs(steps_of(coins, value)))
    parts = ((own, 0.5 + moved / 2**32), (rest, 0.5 + others * coins.largest))
    exact = np.convolve(
        *(binom.pmf(np.arange(count + 1), count, chance) for count, chance in parts)
    )
    return np.clip(1 - exact.cumsum(), 0, 1)


def measured(coins: CoinBiases, others: float, times: int, place: int) -> tuple[float, float]:
    """Return what an audit at the best threshold finds at least, and the lower bound on epsilon at the delta that it finds."""
    here, there = tail(coins, 1.0, others), tail(coins, 0.0, others)
    edges = np.flatnonzero((here > 2 * DELTA) & (here < 0.9))[::8]
    least, edge = max((least_bound(here[at], there[at], times, delta=DELTA), at) for at in edges)
    found = [
        heads(coins, value, others, times, seeds.draws(place).at(side)) > edge
        for side, value in enumerate((1.0, 0.0))
    ]
    return least, lower_bound(*(side.astype(np.int64) for side in found), delta=DELTA)


@pytest.mark.statistical
@pytest.mark.parametrize("others", [0.0, 1.0])
def test_measured_epsilon_is_below_the_stated_one_and_not_far_from_it(others) -> None:
    """50,000 sums on each side, 64 parameters, 12 clients. It finds too much with at most 1e-6, too little with 5e-7."""
    least, found = measured(choose_biases(SOUND, 1, CLIENTS, 1.0, DIM), others, 50_000, 1)
    assert 0.4 * EPSILON <= least <= found <= EPSILON


@pytest.mark.statistical
def test_a_twin_with_half_the_noise_is_caught() -> None:
    """Chances twice as far off one half, as if four times as many clients had sent coins; missed with 5e-7."""
    sound = choose_biases(SOUND, 1, CLIENTS, 1.0, DIM)
    twin = CoinBiases(**{**sound.__dict__, "slope": 2 * sound.slope, "largest": 2 * sound.largest})
    least, found = measured(twin, 0.0, 50_000, 2)
    assert EPSILON + 0.3 < least <= found
