"""One bit under a secure sum: its law against exact sums, its bytes, what is stated, and measured losses below it."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from tacit import codec, ledger, plan
from tacit.audit.epsilon import lower_bound
from tacit.codec.clip import clip_largest
from tacit.codec.onebit import Coins, coin_sum, coins_for, tossed
from tacit.codec.onebit_law import _excess, sum_curve
from tacit.codec.rotation import block_of, rotated
from tacit.codec.whole_run import Loss
from tacit.draws import Draws
from tacit.errors import ChainError
from tacit.gaussian_loss import multiplier_for
from tacit.ledger import Account, charge
from tacit.renyi_loss import ORDERS, epsilon_at
from tests import seeds
from tests.measured import least_bound

CASE = plan.OneBit(epsilon=2.0, delta=1e-3, clip=0.5)


def made_for(case: plan.OneBit = CASE, rounds: int = 1, cohort: int = 100) -> codec.Codec:
    return codec.build(case, codec.Extent(rounds=rounds, cohort=cohort))


# The law


def laws_of_sum(others: np.ndarray, off: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the law of the sum with a client's chance off one half, and with a fair coin, for others with such chances."""
    rest = np.ones(1)
    for chance, count in zip(*np.unique(others, return_counts=True), strict=True):
        rest = np.convolve(rest, binom.pmf(np.arange(count + 1), count, chance))
    return tuple(np.convolve(rest, [0.5 - t, 0.5 + t]) for t in (off, 0.0))


def excess(others: np.ndarray, off: float, order: float) -> float:
    """Return the larger of both directions of E ratio^order - 1, without losing digits where the ratio is near 1."""
    with_it, without = laws_of_sum(others, off)
    kept = without > 1e-280
    ratio, without = (with_it[kept] - without[kept]) / without[kept], without[kept]
    powers = [np.expm1(power * np.log1p(ratio)) - power * ratio for power in (order, 1 - order)]
    return max(float(without @ power) for power in powers)


@pytest.mark.parametrize("clients", [1, 2, 7, 50, 400])
@pytest.mark.parametrize("reach", [0.02, 0.125])
def test_no_sum_says_more_than_the_law_allows_whatever_the_others_send(clients, reach) -> None:
    """Others at both ends in every proportion, and at random chances between; chances of the client up to the reach."""
    bounds, rng = np.maximum(*_excess(clients, reach)), np.random.default_rng(clients)
    counts = sorted({round(share * (clients - 1)) for share in (0, 0.1, 0.25, 0.5, 0.75, 1)})
    mixtures = [0.5 + reach * np.where(np.arange(clients - 1) < count, 1, -1) for count in counts]
    mixtures += [0.5 + reach * rng.choice(np.linspace(-1, 1, 7), clients - 1) for _ in range(3)]
    for place in range(0, len(ORDERS), 12):
        for others in mixtures:
            for share in (1.0, -1.0, 0.3):
                assert math.log1p(excess(others, share * reach, ORDERS[place])) <= bounds[place] * share**2 * (1 + 1e-9)


def test_beside_gaussian_noise_the_exact_divergence_is_the_published_one_and_the_bound_is_near_it() -> None:
    """5,000 clients: 1.0065 at |p - 1/2| = .04 and 1.042 at .1 times that of Gaussian noise, by exact sums."""
    for reach, published in ((0.04, 1.0065), (0.1, 1.042)):
        for order in (2.0, 11.0):
            place = ORDERS.index(order)
            gaussian = order * (order - 1) / 2 * 4 * reach**2 / 5000
            exact = max(excess(np.full(4999, 0.5 + reach), side * reach, order) for side in (1, -1))
            assert exact / gaussian == pytest.approx(published, abs=1.5e-3)
            assert exact <= np.maximum(*_excess(5000, reach))[place] <= exact * (1 + 5 * reach**2)


def test_a_law_that_forgets_that_others_lean_too_is_caught() -> None:
    """All others fair: the curve of N fair coins, as often taken, is below the exact one of others that lean."""
    place, reach = ORDERS.index(11.0), 0.1
    fair = excess(np.full(399, 0.5), reach, 11.0)
    leaning = max(excess(np.full(399, 0.5 + reach), side * reach, 11.0) for side in (1, -1))
    assert fair * 1.03 < leaning <= np.maximum(*_excess(400, reach))[place]


def test_the_curve_grows_with_the_length_and_never_falls_with_the_order() -> None:
    one, twice = (np.array(sum_curve(1000, 0.05, squares)) for squares in (1.0, 2.0))
    np.testing.assert_allclose(twice, 2 * one)
    assert (np.diff(one) >= 0).all()
    assert sum_curve(1000, 0.05, 1e-4) < tuple(one / 9999)  # shorter than the reach: no chance is farther off than that


# What is stated


@pytest.mark.parametrize(("epsilon", "bits"), [(0.5, 1), (1.0, 1), (2.0, 1), (8.0, 7)])
def test_noise_for_a_whole_run_is_near_that_of_a_gaussian_and_bits_are_few(epsilon, bits) -> None:
    """5,000 clients, 40 rounds, 16,384 parameters at delta 1e-5. What is lost is that Rényi curves do not compose exactly."""
    coins = coins_for(Loss(epsilon=epsilon, delta=1e-5), 40, 5000, 1.0, block_of(16_384))
    gaussian = multiplier_for(epsilon, 1e-5) * math.sqrt(40)
    assert gaussian < coins.stddev * math.sqrt(5000) < 1.13 * gaussian
    assert coins.bits == bits
    assert epsilon * (1 - 2e-3) <= epsilon_at(1e-5, coins.curve, 40) <= epsilon


def test_one_bit_per_parameter_whatever_their_number() -> None:
    made = made_for(plan.OneBit(epsilon=1.0, delta=1e-5, clip=1.0), rounds=40, cohort=5000)
    for dim in (10_000, 16_384, 20_001):
        assert 8 * made.payload_size(dim) / dim <= 1.001


def test_the_whole_run_comes_out_at_the_stated_epsilon() -> None:
    (claim,) = made_for(rounds=40).claims(5001, 100)
    account = charge(Account(), (claim,), 40, uses=40)
    run = ledger.totals(account, CASE.delta)[-1]
    assert (run.unit, run.basis) == ("run", "Rényi composition of numerical curves")
    assert CASE.epsilon * 0.99 <= run.epsilon <= CASE.epsilon * (1 + 1e-9)
    assert claim.trust == ("that the server sees the sum of the bits alone, of at least 100 clients whose bits it does not know",)
    assert claim.relation == "add or remove one client"


def test_fewer_reporters_are_paid_for_with_noise() -> None:
    all_of_them, half = (made_for(plan.OneBit(**{**CASE.__dict__, "reporters": share})) for share in (1.0, 0.5))
    assert (all_of_them.fewest, half.fewest) == (100, 50)
    assert half.known_noise(5001) / all_of_them.known_noise(5001) == pytest.approx(math.sqrt(2), rel=0.04)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ChainError, match="finite l2 bound"):
        codec.chain(clip_largest(1.0), last=coin_sum(CASE, codec.Extent(rounds=1, cohort=10)))
    with pytest.raises(ChainError, match="at most 255 bits"):
        made_for(plan.OneBit(epsilon=50.0, delta=1e-5, clip=1.0), cohort=100_000).claims(10, 1)
    with pytest.raises(ChainError, match="no use there"):
        made_for(plan.OneBit(epsilon=0.001, delta=1e-5, clip=1.0)).claims(1000, 1)


# What is sent


def test_chances_are_whole_numbers_whose_squares_add_up_to_no_more_than_agreed() -> None:
    coins = coins_for(Loss(epsilon=2.0, delta=1e-3), 1, 100, 0.5, 256)
    radius = coins.slope * coins.clip * 2**32
    rows = [rotated(row.astype(np.float32)) for row in (np.eye(1, 256)[0], np.ones(256) / 32, np.full(256, 0.03125 * 1.0000001))]
    for row in rows:
        steps = coins.steps(row)
        assert (steps == np.rint(steps)).all()
        assert sum(int(step) ** 2 for step in steps) <= radius**2
        assert np.abs(steps).max() <= coins.largest * 2**32


@pytest.mark.statistical
@pytest.mark.parametrize("bits", [1, 3, 15])
def test_counts_of_ones_have_their_chances(bits) -> None:
    """40,000 coordinates at each of three probabilities; one is off by more with a probability of 5e-7."""
    coins = Coins(clip=1.0, clients=10, bits=bits, slope=1.0, largest=0.125, curve=())
    for chance in (-0.125, 0.0, 0.1):
        payload = tossed(np.full(40_000, np.rint(chance * 2**32)), coins, seeds.draws(bits))
        width = bits.bit_length()
        counts = np.unpackbits(payload, bitorder="little")[: 40_000 * width].reshape(-1, width) @ (1 << np.arange(width))
        assert counts.max() <= bits
        assert abs(counts.mean() / bits - 0.5 - chance) < seeds.deviations(3) * 0.5 / math.sqrt(40_000 * bits)


# Measured losses

CLIENTS, DIM = 12, 64
DELTA, EPSILON = 1e-2, 2.0
SOUND = Loss(epsilon=EPSILON, delta=DELTA)


def heads(coins: Coins, value: float, others: float, times: int, draws: Draws) -> np.ndarray:
    """Return how many of all bits lie on the side of one client's update, which is `value` times the longest there is.

    Probabilities of all others are `others` times as far off one half as they may be, in the same direction. The update is spread
    evenly: it moves every bit by as much, so that this count is all that tells it apart.
    """
    towards = rotated(np.eye(1, DIM, dtype=np.float32)[0]) > 0
    width, sent = coins.bits.bit_length(), tossed(np.tile(steps_of(coins, value), times), coins, draws)
    bits = np.unpackbits(sent, bitorder="little")
    own = bits[: times * DIM * width].reshape(times, DIM, width) @ (1 << np.arange(width))
    probabilities = 0.5 + others * coins.largest * np.where(towards, 1, -1)
    rest = draws.at("others").generator().binomial((CLIENTS - 1) * coins.bits, probabilities, (times, DIM))
    return np.where(towards, own + rest, CLIENTS * coins.bits - own - rest).sum(axis=1)


def steps_of(coins: Coins, value: float) -> np.ndarray:
    direction = rotated(np.eye(1, DIM, dtype=np.float32)[0])
    return coins.steps(np.float32(value * coins.clip) * direction)


def tail(coins: Coins, value: float, others: float) -> np.ndarray:
    """Return the exact probability of more heads than 0, 1, 2, …: two binomial numbers together."""
    own, rest = DIM * coins.bits, DIM * (CLIENTS - 1) * coins.bits
    (moved,) = set(np.abs(steps_of(coins, value)))
    parts = ((own, 0.5 + moved / 2**32), (rest, 0.5 + others * coins.largest))
    exact = np.convolve(*(binom.pmf(np.arange(count + 1), count, chance) for count, chance in parts))
    return np.clip(1 - exact.cumsum(), 0, 1)


def measured(coins: Coins, others: float, times: int, place: int) -> tuple[float, float]:
    """Return what an audit at the best threshold finds at least, and the lower bound on epsilon at the delta that it finds."""
    here, there = tail(coins, 1.0, others), tail(coins, 0.0, others)
    edges = np.flatnonzero((here > 2 * DELTA) & (here < 0.9))[::8]
    least, edge = max((least_bound(here[at], there[at], times, delta=DELTA), at) for at in edges)
    found = [heads(coins, value, others, times, seeds.draws(place).at(side)) > edge for side, value in enumerate((1.0, 0.0))]
    return least, lower_bound(*(side.astype(np.int64) for side in found), delta=DELTA)


@pytest.mark.statistical
@pytest.mark.parametrize("others", [0.0, 1.0])
def test_measured_epsilon_is_below_the_stated_one_and_not_far_from_it(others) -> None:
    """50,000 sums on each side, 64 parameters, 12 clients. It finds too much with at most 1e-6, too little with 5e-7."""
    least, found = measured(coins_for(SOUND, 1, CLIENTS, 1.0, DIM), others, 50_000, 1)
    assert 0.4 * EPSILON <= least <= found <= EPSILON


@pytest.mark.statistical
def test_a_twin_with_half_the_noise_is_caught() -> None:
    """Chances twice as far off one half, as if four times as many clients had sent coins; missed with 5e-7."""
    sound = coins_for(SOUND, 1, CLIENTS, 1.0, DIM)
    twin = Coins(**{**sound.__dict__, "slope": 2 * sound.slope, "largest": 2 * sound.largest})
    least, found = measured(twin, 0.0, 50_000, 2)
    assert EPSILON + 0.3 < least <= found
