"""Skellam noise by shares: its law, the published sizes, certain lengths, and measured losses below what is stated."""

import bisect
import math

import numpy as np
import pytest
from mpmath import mp, mpf
from scipy.special import i0e
from scipy.stats import chisquare, norm, skellam

from tacit import codecs, plan, secure_aggregation
from tacit.audit.epsilon import lower_bound
from tacit.codecs.distributions.skellam_loss import bound_shift
from tacit.codecs.distributions.skellam_noise import (
    DISTANCE,
    PARTS,
    _compute_ends,
    draw_skellam,
    find_ends,
    round_variance_up,
    settle_tie,
)
from tacit.codecs.skellam import (
    IntegerGrid,
    SumFormat,
    _build_integer_coding,
    bound_squares,
    build_grid,
    build_noisy_integers,
    choose_grid,
)
from tacit.codecs.stages.clip import clip_largest
from tacit.codecs.stages.integer_updates import Loss
from tacit.codecs.stages.rotation import rotate
from tacit.codecs.sums import ModularSum
from tacit.codecs.sums.packing import pack_integers
from tacit.errors import ChainError, WireError
from tacit.privacy import ledger
from tacit.privacy.accounting.dominated_loss import compute_epsilon
from tacit.privacy.accounting.gaussian_loss import calibrate_multiplier
from tacit.privacy.accounting.gaussian_loss import compute_epsilon as epsilon_of_gaussian
from tacit.privacy.ledger import Account, charge
from tacit.randomness import Draws
from tests import seeds
from tests.measured import least_bound

CASE = plan.Skellam(epsilon=2.0, delta=1e-3, clip=0.5)


def made_for(case: plan.Skellam = CASE, rounds: int = 1, cohort: int = 100) -> codecs.Codec:
    return codecs.build(case, codecs.Extent(rounds=rounds, cohort=cohort))


# The noise


@pytest.mark.parametrize("variance", [0.25, 3.0, 400.0, 50_000.0])
def test_thresholds_are_those_of_the_difference_of_two_poisson_numbers(variance) -> None:
    ends = _compute_ends(round_variance_up(variance))
    for size in {0, 1, round(math.sqrt(variance)), round(3 * math.sqrt(variance))}:
        exact = skellam.cdf(size, variance / 2, variance / 2) - skellam.cdf(
            -size - 1, variance / 2, variance / 2
        )
        assert float(ends.high[size]) / 2**63 == pytest.approx(exact, abs=1e-12)
    whole = [(int(high) << 64) + int(low) for high, low in zip(ends.high, ends.low, strict=True)]
    assert whole == sorted(whole)
    assert (2**127 - whole[-2]) * 2.0**-127 < 2.0**-100


@pytest.mark.statistical
@pytest.mark.parametrize("variance", [2.0, 400.0])
def test_the_noise_has_its_law_and_shares_add_up_to_it(variance) -> None:
    """200,000 numbers, each the sum of two shares; both checks fail by chance with probabilities of 2e-7 and 5e-7."""
    half = round_variance_up(variance / 2)
    noise = draw_skellam(half, seeds.draws(1), 200_000) + draw_skellam(
        half, seeds.draws(2), 200_000
    )
    reach = round(2.5 * math.sqrt(variance))
    inner = np.arange(-reach, reach + 1)
    chances = np.append(skellam.pmf(inner, variance / 2, variance / 2), 0)
    chances[-1] = 1 - chances.sum()
    counts = np.append([(noise == k).sum() for k in inner], (np.abs(noise) > reach).sum())
    assert chisquare(counts, 200_000 * chances).pvalue > 2e-7
    assert abs(noise.var() - variance) < seeds.deviations() * variance * math.sqrt(
        (2 + 1 / variance) / 200_000
    )


def test_a_word_at_a_threshold_is_decided_by_more_bits() -> None:
    ends = _compute_ends(round_variance_up(3.0))
    words = (ends.high[:4] << np.uint64(1)) | np.array([0, 1, 0, 1], np.uint64)
    block, ties = np.empty(4, np.int64), np.empty(4, np.int64)
    assert find_ends(words, ends.high, ends.begin, block, ties) == 4
    assert block.tolist() == [0, 1, 2, 3]
    beside = np.array(
        [
            (ends.high[2] + np.uint64(1)) << np.uint64(1),
            ((ends.high[2] - np.uint64(1)) << np.uint64(1)) + np.uint64(1),
        ]
    )
    assert find_ends(beside, ends.high, ends.begin, block[:2], ties) == 0
    assert block[:2].tolist() == [3, -2]


@pytest.mark.parametrize("variance", [1.0, 400.0, 8192.0**2])
def test_words_in_the_tail_are_decided_by_all_127_bits(variance) -> None:
    """Far out several sizes share the 63 bits of a word. Every such size is drawn with its probability."""
    ends = _compute_ends(round_variance_up(variance))
    whole = [(int(high) << 64) + int(low) for high, low in zip(ends.high, ends.low, strict=True)]
    shared = [
        size
        for size in range(1, len(whole) - 1)
        if ends.high[size] == ends.high[size - 1] and whole[size] > whole[size - 1]
    ]
    assert shared
    assert whole[-1] == 1 << 127
    for size in {shared[0], shared[len(shared) // 2], shared[-1]}:
        high, low = divmod(
            whole[size - 1], 1 << 64
        )  # the first word of a size is where the one before it ends
        first = int(np.searchsorted(ends.high, np.uint64(high)))
        assert settle_tie(first, low, ends) == bisect.bisect_right(whole, (high << 64) + low)
        assert settle_tie(first, (1 << 64) - 1, ends) == bisect.bisect_right(
            whole, (high << 64) + (1 << 64) - 1
        )
    lost = sum(whole[size] - whole[size - 1] for size in shared) / 2**127
    assert lost > DISTANCE, "one step at a tie would miss more than the distance that is stated"


# What the server sees


@pytest.mark.parametrize("bits", [8, 12, 16, 18, 24, 31, 32])
def test_under_secure_aggregation_the_server_sees_the_sum_modulo_two_to_the_bits_and_nothing_else(
    bits,
) -> None:
    """Two sets of clients with the same sum give the same numbers, also if one set has many negative numbers and the other none."""
    adder = _build_integer_coding(bits)
    positive = np.array([3, 4, 0, 1], np.int64)
    width, kind = adder.bits(1), np.dtype(f"<u{adder.bits(1) // 8}")
    sums = []
    for numbers in (
        positive,
        np.array([-2, -3, 12, 1]),
        np.array([-(1 << (bits - 1)), 7, 1, -(1 << (bits - 1))]),
    ):
        total = np.zeros(1, kind)
        for number in numbers.tolist():
            total += adder.read(pack_integers(np.array([number & ((1 << bits) - 1)]), bits), 1)
        sums.append(int(total[0]))
    assert sums == [8 << (width - bits)] * 3
    lifted = secure_aggregation.to_signed(np.array(sums[:1], kind))
    assert adder.build_sum(lifted, 4).value().tolist() == [8]


def test_sums_below_zero_come_back_below_zero() -> None:
    adder = _build_integer_coding(18)
    total = sum(
        adder.read(pack_integers(np.array([number & ((1 << 18) - 1)]), 18), 1)
        for number in (-5, -70_000, 3)
    )
    assert adder.build_sum(
        secure_aggregation.to_signed(np.asarray(total, "<u4")), 3
    ).value().tolist() == [-70_002]


# What is stated


def test_scales_are_the_published_ones_and_losses_hardly_above_those_of_gaussian_noise() -> None:
    """d = 5,001, 250 clients, 16 bits: epsilon at 1e-5 of one round and of 25 for noise of 1, 2, 4, 8 clips.

    The publication's Rényi bound states 4.75, 2.17, 1.01, 0.478 for one round and 35.1, 14.2, 6.16, 2.78 for 25.
    """
    for multiplier in (1, 2, 4, 8):
        grid = build_grid(
            multiplier, SumFormat(min_clients=250, max_clients=250, bits=16, rounds=25), 1.0, 5001
        )
        for rounds in (1, 25):
            gaussian = epsilon_of_gaussian(1e-5, multiplier / math.sqrt(rounds))
            assert gaussian < compute_epsilon(1e-5, grid.event, rounds) < 1.002 * gaussian
    grid = build_grid(4, SumFormat(min_clients=250, max_clients=250, bits=16, rounds=25), 1.0, 5001)
    assert grid.scale == pytest.approx(1535, abs=1)
    assert math.sqrt(grid.squares) / grid.scale < 1.001
    assert build_grid(
        4, SumFormat(min_clients=250, max_clients=250, bits=18, rounds=25), 1.0, 506_451
    ).scale == pytest.approx(8161, abs=1)


@pytest.mark.parametrize("variance", [0.05, 0.5, 3.0, 10.0, 100.0, 999.0, 1001.0, 20_000.0])
def test_every_shift_is_dominated_by_its_gaussian(variance) -> None:
    """Exact ROC curves in one dimension, for shifts of 1, 2 and 5 and every threshold out to 1e-100."""
    reach = math.ceil(30 * math.sqrt(variance)) + 60
    beyond = skellam.pmf(np.arange(reach), variance / 2, variance / 2)[::-1].cumsum()[::-1]
    edges = norm.isf(
        np.concatenate(
            [
                1 - beyond[:0:-1],
                [1 - beyond[0] + skellam.pmf(0, variance / 2, variance / 2)],
                beyond[1:],
            ]
        )
    )
    known = np.abs(edges) < 6  # beyond, 1 less a tail has lost its digits
    edges = np.concatenate(
        [edges[known], norm.isf(beyond[1:][(norm.isf(beyond[1:]) >= 6) & (beyond[1:] > 1e-100)])]
    )
    for shift in (1, 2, 5):
        assert (edges[shift:] - edges[:-shift]).max(initial=0.0) <= shift * bound_shift(
            variance
        ) * (1 + 1e-6)


@pytest.mark.parametrize("variance", [1000.0, 1234.5, 5e4, 2e6, 1e9, 3e12])
def test_large_variances_cost_hardly_more_than_their_gaussian(variance) -> None:
    """The curvature bound: never below the gap at 0, and at most 1 + 2/v above 1/v."""
    gap = 2 * norm.isf(0.5 - i0e(variance) / 2)
    assert (
        gap * (1 - 1e-9)
        <= bound_shift(variance)
        <= (1 + 1.1 / variance + 1e-8) / math.sqrt(variance)
    )


def test_the_curvature_of_skellam_noise_is_largest_at_zero() -> None:
    """K(z) <= K(0), the last step of the proof, from Bessel functions to 40 digits."""
    with mp.workdps(40):
        for variance in (mpf("0.01"), mpf("0.5"), mpf(3), mpf(40), mpf(1000)):
            logs = [mp.log(mp.besseli(size, variance)) for size in range(60)]
            curvatures = [
                2 * (logs[0] - logs[1]),
                *(2 * logs[z] - logs[z - 1] - logs[z + 1] for z in range(1, 59)),
            ]
            assert max(curvatures) == curvatures[0]


@pytest.mark.parametrize("variance", [0.3, 5.0, 300.0])
def test_a_bound_that_takes_skellam_noise_for_gaussian_is_caught(variance) -> None:
    """The total variation distance of a shift by 1 is p(0): above that of a Gaussian of that variance, not above the bound."""
    exact, bounded = skellam.pmf(0, variance / 2, variance / 2), bound_shift(variance)
    assert (
        2 * norm.cdf(0.5 / math.sqrt(variance)) - 1
        < exact * (1 - 1e-4)
        < exact
        <= 2 * norm.cdf(bounded / 2) - 1
    )


def test_the_whole_run_comes_out_at_the_stated_epsilon_with_hardly_more_noise_than_a_gaussian() -> (
    None
):
    (claim,) = made_for(rounds=40).claims(5001, 100)
    run = ledger.compute_totals(charge(Account(), (claim,), 40, uses=40), CASE.delta)[-1]
    assert (run.unit, run.basis) == ("run", "composition of dominating Gaussian noise")
    assert CASE.epsilon * 0.999 <= run.epsilon <= CASE.epsilon * (1 + 1e-9)
    assert claim.trust == (
        (
            "that the server sees only the sum of a round, with the noise of at least 100 clients"
            " in it"
        ),
    )
    for epsilon in (1.0, 2.0):
        grid = choose_grid(
            Loss(epsilon=epsilon, delta=1e-5),
            SumFormat(min_clients=5000, max_clients=5000, bits=18, rounds=40),
            1.0,
            16_384,
        )
        gaussian = calibrate_multiplier(epsilon, 1e-5) * math.sqrt(40)
        assert gaussian < grid.stddev * math.sqrt(5000) < 1.01 * gaussian


def test_fewer_reporters_are_paid_for_with_noise() -> None:
    all_of_them, half = (
        made_for(plan.Skellam(**{**CASE.__dict__, "reporters": share})) for share in (1.0, 0.5)
    )
    assert (all_of_them.min_clients, half.min_clients) == (100, 50)
    assert half.known_noise(5001) / all_of_them.known_noise(5001) == pytest.approx(
        math.sqrt(2), rel=0.01
    )


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ChainError, match="does not bound the l2 norm of a client's update"):
        codecs.chain(
            clip_largest(1.0), last=build_noisy_integers(CASE, codecs.Extent(rounds=1, cohort=10))
        )
    with pytest.raises(ChainError, match=r"raise codec\.bits"):
        made_for(plan.Skellam(epsilon=2.0, delta=1e-3, clip=1.0, bits=8), cohort=100_000).claims(
            1000, 1
        )
    with pytest.raises(WireError, match="bytes"):
        ModularSum(3, 18).add_packed(np.zeros(8, np.uint8), 1)


# What is sent


@pytest.mark.statistical
@pytest.mark.parametrize("clip", [1.0, 1e-3])
def test_no_rounded_update_is_longer_than_agreed_and_none_is_moved_on_average(clip) -> None:
    """200 roundings of one update of 300 numbers, one of which is off by more with a probability of 5e-7.

    Then updates at and just beyond the clip, down to steps coarser than their values.
    """
    grid = choose_grid(
        Loss(epsilon=2.0, delta=1e-3),
        SumFormat(min_clients=100, max_clients=100, bits=12, rounds=1),
        clip,
        300,
    )
    unit = np.sin(np.arange(300)).astype(np.float32)
    unit *= np.float32(clip * (1 + 1e-7) / np.linalg.norm(unit))
    rows = np.stack([grid.round_randomly(rotate(unit), seeds.draws(0).at(n)) for n in range(200)])
    assert max(sum(int(step) ** 2 for step in row) for row in rows) <= grid.squares
    off = rows.mean(axis=0) - rotate(unit).astype(np.float64) * grid.scale
    assert np.abs(off).max() < seeds.deviations(300) * 0.5 / math.sqrt(200)
    assert grid.squares == bound_squares(grid.scale * clip, 300)


def test_sums_wrap_around_and_are_read_nearest_to_zero() -> None:
    total = ModularSum(2, 12)
    for _ in range(3):
        total.add(np.array([0xFF, 0x0F, 0x00], np.uint8), 1, Draws.seeded(0))  # 4095 is -1, then 0
    assert total.value().tolist() == [-3, 0]
    assert ModularSum.of(np.array([4093, 1 << 20]), 3, 12).value().tolist() == [-3, 0]


# Measured losses

CLIENTS, EPSILON, DELTA = 10, 3.0, 1e-3


def releases(grid: IntegerGrid, value: float, times: int, place: int) -> np.ndarray:
    """Return sums of one parameter: one client at a value, everybody's noise; drawn for many rounds at once."""
    steps = np.rint(value * grid.scale * grid.clip)
    own = seeds.draws(place)
    return steps.astype(np.int64) + sum(
        draw_skellam(grid.parts, own.at(n), times) for n in range(CLIENTS)
    )


def measured(grid: IntegerGrid, times: int) -> tuple[float, float]:
    """Return what an audit finds at least, and the lower bound on epsilon at the delta that it finds.

    The event begins at nine tenths of the way to where Gaussian noise of that size loses the most.
    """
    noise = math.sqrt(CLIENTS * grid.parts / PARTS)
    away = grid.scale * grid.clip / noise
    edge = 0.9 * (min(EPSILON + 1, epsilon_of_gaussian(DELTA, 1 / away)) / away + away / 2) * noise
    found = [
        (releases(grid, value, times, place) > edge).astype(np.int64)
        for place, value in enumerate((0.0, 1.0))
    ]
    unlikely, likely = (
        skellam.sf(math.floor(edge) - steps, noise**2 / 2, noise**2 / 2)
        for steps in (0, round(grid.scale * grid.clip))
    )
    return least_bound(likely, unlikely, times, delta=DELTA), lower_bound(*found, delta=DELTA)


def grid_of_one() -> IntegerGrid:
    return choose_grid(
        Loss(epsilon=EPSILON, delta=DELTA),
        SumFormat(min_clients=CLIENTS, max_clients=CLIENTS, bits=16, rounds=1),
        1.0,
        1,
    )


@pytest.mark.statistical
def test_measured_epsilon_is_below_the_stated_one_and_not_far_from_it() -> None:
    """3,000,000 sums on each side, ten clients; it finds too much with a probability of at most 1e-6, too little with 5e-7."""
    least, found = measured(grid_of_one(), 3_000_000)
    assert 0.6 * EPSILON <= least <= found <= EPSILON


@pytest.mark.statistical
def test_twins_with_the_noise_of_a_quarter_of_the_clients_or_without_a_clip_are_caught() -> None:
    sound = grid_of_one()
    for broken in ({"parts": sound.parts // 4}, {"clip": 2 * sound.clip}):
        least, found = measured(IntegerGrid(**{**sound.__dict__, **broken}), 100_000)
        assert EPSILON + 0.3 < least <= found
