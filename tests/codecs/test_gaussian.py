"""Gaussian noise for a whole run: its law, its stated loss, certain lengths, and measured losses below what is stated."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.stats import kstest, norm

from tacit import codecs, plan
from tacit.audit.epsilon import lower_bound
from tacit.codecs import dp_sum, gaussian
from tacit.codecs.distributions.gaussian_noise import LARGEST, STEPS, _compute_ends, draw_gaussian
from tacit.codecs.stages.clip import clip_largest
from tacit.codecs.stages.integer_updates import Loss, Scale, choose_scale_for_run
from tacit.codecs.sums import IntegerSum
from tacit.errors import ChainError, WireError
from tacit.privacy import ledger
from tacit.privacy.claim import GaussianNoise
from tacit.privacy.ledger import Account, charge
from tacit.privacy.statement import prose
from tacit.randomness import Draws
from tests import seeds
from tests.measured import least_bound
from tests.roles import decode, encode

SETTINGS = [
    plan.Gaussian(epsilon=2.0, delta=1e-3, clip=0.5),
    plan.DPSum(epsilon=2.0, delta=1e-3, clip=0.5),
    plan.Gaussian(epsilon=8.0, delta=1e-5, clip=0.5),
    plan.DPSum(epsilon=0.5, delta=1e-5, clip=0.5),
]
both = pytest.mark.parametrize("case", SETTINGS, ids=lambda case: f"{case.name}-{case.epsilon}")


def made_for(case: plan.Codec, rounds: int = 1, cohort: int = 1) -> codecs.Codec:
    return codecs.build(case, codecs.Extent(rounds=rounds, cohort=cohort))


# The noise


def test_cells_have_the_probabilities_of_a_gaussian() -> None:
    ends = _compute_ends()
    whole = [(int(high) << 64) + int(low) for high, low in ends]
    for place in (0, 1, 63, 64, 200, 500):
        x = (place + 1) / 64
        assert whole[place] / 2**127 == pytest.approx(1 - 2 * norm.sf(x), abs=1e-15)
        assert 1 - whole[place] / 2**127 == pytest.approx(2 * norm.sf(x), rel=1e-9, abs=1e-15)
    assert (2**127 - whole[500]) / 2**127 == pytest.approx(
        2 * norm.sf(501 / 64), rel=1e-12
    )  # far out, where floats see nothing
    assert whole == sorted(whole)
    assert whole[-1] == 2**127
    assert len(ends) / 64 < LARGEST / STEPS


@pytest.mark.statistical
def test_the_noise_is_gaussian_and_smooth_within_its_cells() -> None:
    """400,000 numbers; each of four checks fails by chance with a probability of about 2e-7."""
    noise = draw_gaussian(seeds.draws(5), 400_000)
    values = (noise + 0.5) / STEPS
    assert kstest(values, "norm").pvalue > 2e-7
    assert abs(values.var() - 1) < seeds.deviations(3) * math.sqrt(2 / 400_000)
    inside = np.where(noise < 0, ~noise, noise) % (STEPS // 64) / (STEPS // 64)
    near, far = np.abs(values) < 8 / 64, (np.abs(values) >= 1.5) & (np.abs(values) < 2.5)
    assert kstest(inside[near], "uniform").pvalue > 2e-7
    tilt = (
        0.5 - np.abs(values[far]).mean() / 64 / 12
    )  # where the density falls, the inner end of a cell is likelier
    assert abs(inside[far].mean() - tilt) < seeds.deviations(3) * math.sqrt(1 / 12 / far.sum())


def test_the_same_address_gives_the_same_noise_however_much_is_drawn_at_once() -> None:
    assert (
        draw_gaussian(Draws.seeded(1), 20_000).tolist()
        == draw_gaussian(Draws.seeded(1), 20_000).tolist()
    )
    assert len(set(draw_gaussian(Draws.seeded(1), 20_000).tolist())) > 19_900


# What is stated


@both
@pytest.mark.parametrize("rounds", [1, 40])
def test_the_whole_run_comes_out_at_the_stated_epsilon(case, rounds) -> None:
    (claim,) = made_for(case, rounds).claims(506_451, 10)
    assert isinstance(claim.event, GaussianNoise)
    account = charge(Account(), (claim,), rounds, uses=rounds)
    run = ledger.compute_totals(account, case.delta)[-1]
    assert (run.unit, run.delta, run.basis) == (
        "run",
        case.delta,
        "exact" if rounds == 1 else "exact composition of Gaussian noise",
    )
    assert case.epsilon * (1 - 1e-6) <= run.epsilon <= case.epsilon
    assert prose.format_bound(run.epsilon) == f"{case.epsilon:g}"


def test_noise_is_that_of_the_analytic_calibration() -> None:
    """For one round and (2, 1e-3) per run: 1.445 times the clip on the sum, and of twice the clip at each client."""
    at_client, at_server = (made_for(case) for case in SETTINGS[:2])
    assert math.sqrt(at_client.variance(np.zeros(3, np.float32))[0]) == pytest.approx(
        2 * 0.5 * 1.4452, rel=1e-4
    )
    assert at_server.sum_noise is not None
    assert at_server.sum_noise(3) == pytest.approx(0.5 * 1.4452, rel=1e-4)
    assert made_for(SETTINGS[1], rounds=49).sum_noise(3) == pytest.approx(
        7 * 0.5 * 1.4452, rel=1e-4
    )


def test_without_the_extent_of_the_run_or_a_bound_nothing_is_built() -> None:
    with pytest.raises(ChainError, match="depends on the length of the run"):
        codecs.build(SETTINGS[0])
    with pytest.raises(ChainError, match="clip_l2 before it"):
        codecs.chain(
            last=gaussian.build_noisy(
                Loss(epsilon=1.0, delta=1e-5), codecs.Extent(rounds=1, cohort=1)
            )
        )
    with pytest.raises(ChainError, match=r"raise codec\.delta"):
        made_for(plan.DPSum(epsilon=50.0, delta=1e-12, clip=1.0), rounds=40).claims(10**6, 1)
    with pytest.raises(ChainError, match=r"lower server\.rounds"):
        made_for(plan.Gaussian(epsilon=1e-3, delta=1e-9, clip=1.0), rounds=10**9).claims(10, 1)


# Certain lengths


@given(
    update=hnp.arrays(np.float32, 300, elements=st.floats(-10, 10, width=32)),
    radius=st.integers(1, 2**29),
)
@settings(max_examples=60, deadline=None)
def test_no_update_is_longer_than_the_radius_in_whole_numbers(update, radius) -> None:
    length = float(np.linalg.norm(update.astype(np.float64)))
    wide = update.astype(np.float64)  # float32 would round the norm of subnormal numbers
    near = (wide / (length / 0.999999 if length else 1)).astype(np.float32)  # norm about 1
    steps = Scale(clip=1.0, radius=radius).round_to_integers(near)
    assert sum(int(step) ** 2 for step in steps.tolist()) <= radius**2
    assert np.abs(steps - near.astype(np.float64) * radius).max() <= 1 + 300**0.5 / 2


def test_the_server_refuses_what_no_clipped_update_can_be() -> None:
    made, loss, extent = (
        made_for(SETTINGS[1], cohort=2),
        Loss(epsilon=2.0, delta=1e-3),
        codecs.Extent(rounds=1, cohort=2),
    )
    radius = choose_scale_for_run(loss, extent, 0.5, 1, 2).radius
    total = made.empty(2)
    for row in ([radius, 2], [-radius - 1, 0]):
        with pytest.raises(WireError, match="update refused"):
            total.add(np.array(row, "<i4").view(np.uint8), 1, Draws.seeded(0))
    total.add(np.array([radius, 0], "<i4").view(np.uint8), 1, Draws.seeded(0))
    for wrong in (np.array([2 * radius + 1, 0], "<i8"), np.array([1], "<i8")):
        with pytest.raises(WireError, match="sum of integers refused"):
            total.add_packed(wrong.view(np.uint8), 2)
    with pytest.raises(WireError, match="total weight"):
        IntegerSum(1, 2**30).add(np.zeros(4, np.uint8), 2**40, Draws.seeded(0))
    assert (total.weight, total.value().tolist()) == (1, [radius, 0])


def test_the_sum_is_divided_by_the_agreed_number_of_clients_whoever_answered() -> None:
    """A mean over those who answered would show how many they were, beside the noise."""
    made = made_for(SETTINGS[1], cohort=10)
    one, nobody = made.empty(4), made.empty(4)
    one.add(
        encode(
            made, np.array([0.3, 0, 0, 0], np.float32), Draws.seeded(0), Draws.seeded(0)
        ).payload,
        1,
        Draws.seeded(0),
    )
    with_one, with_nobody = (
        decode(made, total, Draws.seeded(0), Draws.seeded(7)) for total in (one, nobody)
    )
    np.testing.assert_allclose(with_one - with_nobody, [0.03, 0, 0, 0], atol=1e-7)
    assert with_nobody.all()


# Measured losses


def scale_of(case: plan.Codec) -> Scale:
    loss, extent = Loss(epsilon=case.epsilon, delta=case.delta), codecs.Extent(rounds=1, cohort=1)
    return choose_scale_for_run(
        loss, extent, case.clip, 1 if isinstance(case, plan.DPSum) else 2, 1
    )


def inputs(case: plan.Codec) -> tuple[float, float]:
    """Return the worst pair of neighbours: the two opposite updates, or one update and none."""
    return (0.0, case.clip) if isinstance(case, plan.DPSum) else (-case.clip, case.clip)


def measured(case: plan.Codec, low: int, high: int, times: int) -> tuple[float, float]:
    """Return what an audit finds at least, and the lower bound on epsilon at the case's delta that it finds.

    A release in one dimension is a number of steps and `draw_gaussian`, drawn here for many at once; a test below ties that to the
    codec. The event begins at nine tenths of the way to where the loss is the stated one: there it is seen often enough.
    """
    away = 1 / made_for(case).claims(1, 1)[0].event.noise_multiplier
    edge = int(low + 0.9 * (case.epsilon / away + away / 2) * STEPS)
    sides = [
        (place + draw_gaussian(seeds.draws(side), times) > edge).astype(np.int64)
        for side, place in enumerate((low, high))
    ]
    unlikely, likely = (float(norm.sf((edge - place) / STEPS)) for place in (low, high))
    return least_bound(likely, unlikely, times, delta=case.delta), lower_bound(
        *sides, delta=case.delta
    )


@pytest.mark.statistical
@pytest.mark.parametrize("case", SETTINGS[:2], ids=lambda case: case.name)
def test_measured_epsilon_is_below_the_stated_one_and_near_it(case) -> None:
    """Four million releases on each side; it finds too much with a probability of at most 1e-6, too little with 5e-7."""
    ends = (
        int(scale_of(case).round_to_integers(np.array([value], np.float32))[0])
        for value in inputs(case)
    )
    least, found = measured(case, *ends, 4_000_000)
    assert 0.85 * case.epsilon <= least <= found <= case.epsilon


@pytest.mark.statistical
@pytest.mark.parametrize("case", SETTINGS[:2], ids=lambda case: case.name)
@pytest.mark.parametrize("broken", ["half the noise", "no clip"])
def test_twins_with_half_the_noise_or_without_a_clip_are_caught(case, broken) -> None:
    """Half the noise is also what comes out if the sensitivity of a replaced update is taken for that of a removed one."""
    radius, (low, high) = scale_of(case).radius, inputs(case)
    twin = (2 * radius, 2 * radius) if broken == "half the noise" else (radius, 3 * radius)
    ends = (
        round(value / case.clip * reach) for value, reach in zip((low, high), twin, strict=True)
    )
    least, found = measured(case, *ends, 300_000)
    assert case.epsilon + 0.5 < least <= found


def test_a_release_in_one_dimension_is_what_the_codecs_release() -> None:
    for number in range(20):
        own = Draws.seeded(3).at(number)
        local, central = (made_for(case) for case in SETTINGS[:2])
        message = encode(local, np.array([7.0], np.float32), own, Draws.seeded(0)).payload.view(
            "<i4"
        )[0]
        radii = [
            choose_scale_for_run(
                Loss(epsilon=2.0, delta=1e-3), codecs.Extent(rounds=1, cohort=1), 0.5, n, 1
            ).radius
            for n in (2, 1)
        ]
        assert message == radii[0] + draw_gaussian(own, 1)[0]
        total = central.empty(1)
        total.add(
            encode(central, np.array([7.0], np.float32), own, Draws.seeded(0)).payload,
            1,
            Draws.seeded(0),
        )
        noisy = radii[1] + draw_gaussian(own, 1)[0] + 0.5
        assert decode(central, total, Draws.seeded(0), own)[0] == np.float32(
            noisy * (0.5 / radii[1])
        )


def test_a_chain_that_bounds_no_length_is_refused_by_dp_sum_too() -> None:
    with pytest.raises(ChainError, match="does not bound the l2 norm of a client's update"):
        codecs.chain(
            clip_largest(1.0),
            last=dp_sum.build_noisy_sum(
                Loss(epsilon=1.0, delta=1e-5), codecs.Extent(rounds=1, cohort=1)
            ),
        )
