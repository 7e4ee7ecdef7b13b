"""A vector that leans towards an update: the law's check values, its error beside other codecs', and measured losses."""

import math

import numpy as np
import pytest
from scipy.stats import kstest, norm
from scipy.stats import t as student

from tacit import codecs, plan
from tacit.audit.epsilon import lower_bound
from tacit.codecs.distributions.privunit import (
    STEP,
    bound_rounding,
    choose_bias,
    draw_biased_vector,
)
from tacit.codecs.projunit import build_biased_vector, choose_shape
from tacit.codecs.stages.clip import clip_largest
from tacit.codecs.stages.rotation import rotate
from tacit.errors import ChainError, WireError
from tacit.privacy import ledger
from tacit.privacy.ledger import Account, charge
from tacit.randomness import Draws
from tests import seeds
from tests.measured import least_bound
from tests.roles import decode, encode


def unit_vector(dim: int, seed: int = 0) -> np.ndarray:
    row = np.random.default_rng(seed).standard_normal(dim)
    return (row / np.linalg.norm(row)).astype(np.float32)


# The law


@pytest.mark.parametrize(
    ("epsilon", "chance", "over_mean"),
    [(1, 0.589, 2.516), (2, 0.670, 1.271), (4, 0.791, 0.660), (8, 0.901, 0.365)],
)
def test_the_best_lean_has_the_published_values(epsilon, chance, over_mean) -> None:
    lean = choose_bias(float(epsilon))
    assert lean.chance == pytest.approx(chance, abs=5e-4)
    assert 1 / lean.mean == pytest.approx(over_mean, abs=5e-4)


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 4.0, 8.0, 16.0])
def test_no_side_is_more_than_e_to_the_epsilon_likelier(epsilon) -> None:
    lean, free = choose_bias(epsilon), norm.sf(choose_bias(epsilon).edge)
    ratio = math.log(lean.chance / free) - math.log((1 - lean.chance) / (1 - free))
    assert ratio == pytest.approx(epsilon, rel=1e-9)
    assert lean.mean > 0


@pytest.mark.statistical
def test_parts_along_and_across_the_direction_follow_the_law() -> None:
    """10,000 vectors of 5 numbers; each of four checks fails by chance with a probability of about 2e-7."""
    lean, direction = choose_bias(2.0), np.array([0.6, -0.8, 0, 0, 0])
    drawn = (
        np.stack([draw_biased_vector(direction, lean, seeds.draws(3).at(n)) for n in range(10_000)])
        * STEP
    )
    along, across = drawn @ direction, drawn @ np.array([0.8, 0.6, 0, 0, 0])
    jitter = STEP * (seeds.generator(0).random(10_000) - 0.5)

    def cumulative(x: np.ndarray) -> np.ndarray:
        low = norm.cdf(np.minimum(x, lean.edge)) / norm.cdf(lean.edge) * (1 - lean.chance)
        return (
            low
            + np.maximum(0, norm.cdf(x) - norm.cdf(lean.edge)) / norm.sf(lean.edge) * lean.chance
        )

    assert kstest(along, cumulative).pvalue > 2e-7
    assert kstest(across + jitter, "norm").pvalue > 2e-7
    off = seeds.deviations(3) / math.sqrt(10_000)
    assert abs(along.mean() - lean.mean) < off * along.std()
    assert abs(np.square(along).mean() - lean.second_moment) < off * np.square(along).std()


def test_all_parameters_may_be_sent_and_then_the_error_is_that_of_the_law() -> None:
    """The mean squared error of a unit vector is (d - 1 + E t²) / m² - 1."""
    lean = choose_bias(4.0 - bound_rounding(4.0, 256))
    exact = (255 + lean.second_moment) / lean.mean**2 - 1
    assert exact == pytest.approx(111.0, rel=5e-3)
    shape = choose_shape(plan.ProjUnit(epsilon=4.0, clip=1.0, coordinates=256), 256)
    assert shape.variance(1.0) * 256 == pytest.approx(exact, rel=1e-4)


# Its error beside others'


def error(settings: plan.Codec, update: np.ndarray, times: int) -> tuple[float, float]:
    """Return the mean squared error of one message, measured, and how far that may be off, relatively, except with 2e-7."""
    made, found = codecs.build(settings), []
    for n in range(times):
        total, public = made.empty(len(update)), seeds.draws(1).at("public", n)
        total.add(encode(made, update, seeds.draws(1).at("own", n), public).payload, 1, public)
        found.append(
            float(np.square(decode(made, total, public, public).astype(np.float64) - update).sum())
        )
    return float(np.mean(found)), float(
        student.isf(1e-7, times - 1) * np.std(found, ddof=1) / math.sqrt(times) / np.mean(found)
    )


@pytest.mark.statistical
def test_at_4_per_update_it_beats_bits_by_the_ratios_of_the_theory() -> None:
    """5,001 parameters, unit updates, rotated for the bits; errors are within what their spread allows, and that is below 10 %."""
    dim, epsilon = 5001, 4.0
    update = unit_vector(dim)
    clip = math.sqrt(2 * math.log(2 * dim) / dim)
    for settings, row, theory in (
        (plan.ProjUnit(epsilon=epsilon, clip=1.0), update, 2.18e3),
        (plan.RRSampled(epsilon=epsilon, clip=clip), rotate(update), 7.94e4),
        (plan.RR(epsilon=epsilon / dim, clip=clip), rotate(update), 1.15e8),
    ):
        found, off = error(settings, row, 40)
        assert off < 0.1
        assert found == pytest.approx(
            theory, rel=off + 0.005
        )  # the theory is printed with three digits


@pytest.mark.statistical
def test_few_coordinates_cost_little_accuracy_and_do_not_shrink_updates() -> None:
    """300 clients with one update; the mean's length along it is off by more with a probability of 5e-7."""
    dim, update = 256, unit_vector(256, 5)
    for coordinates, published in ((32, 118.6), (64, 114.3), (128, 111.9)):
        settings = plan.ProjUnit(epsilon=4.0, clip=1.0, coordinates=coordinates)
        assert choose_shape(settings, dim).variance(1.0) * dim == pytest.approx(published, rel=0.03)
    made, along = codecs.build(plan.ProjUnit(epsilon=8.0, clip=1.0, coordinates=64)), []
    for n in range(300):
        total, public = made.empty(dim), seeds.draws(2).at("public", n)
        total.add(encode(made, update, seeds.draws(2).at(n), public).payload, 1, public)
        along.append(float(decode(made, total, public, public) @ update))
    assert abs(np.mean(along) - 1) < seeds.deviations() * np.std(along) / math.sqrt(300)


# What is stated and measured


def test_a_run_costs_its_updates_added_up_and_trusts_nobody() -> None:
    made = codecs.build(plan.ProjUnit(epsilon=4.0, clip=1.0))
    claims = made.claims(506_451, 1000)
    update, run, _ = ledger.compute_totals(charge(Account(), claims, 5, uses=5), 1e-5)
    assert (update.unit, update.epsilon, run.unit, run.epsilon, run.delta) == (
        "update",
        4.0,
        "run",
        20.0,
        0.0,
    )
    assert claims[0].trust == ("nobody, since each client randomises before anything leaves",)
    assert made.payload_size(506_451) == 2000


SIDE = np.array([0.48, -0.6, 0.64], np.float32)


def audit(epsilon: float, times: int, share: float = 1.0) -> tuple[float, float]:
    """Return what an audit of two opposite updates finds at least if they are as long as the clip, and the lower bound it finds.

    The event is that a message leans towards the first by at least the edge, as the law's plane tells. Rounding to steps moves a
    message by about 0.002 of a standard deviation, which changes both probabilities by less than 1 %.
    """
    made, lean = codecs.build(plan.ProjUnit(epsilon=epsilon, clip=1.0)), choose_bias(epsilon)
    public, plane, sides = Draws.seeded(0), rotate(SIDE), []
    for place, update in enumerate((share * SIDE, -share * SIDE)):
        rows = np.stack(
            [
                encode(made, update, seeds.draws(place).at(n), public).payload.view("<i2")
                for n in range(times)
            ]
        )
        sides.append((rows * STEP @ plane >= lean.edge).astype(np.int64))
    unlikely = norm.cdf(-lean.edge) / norm.cdf(lean.edge) * (1 - lean.chance)
    return least_bound(0.99 * lean.chance, 1.01 * unlikely, times), lower_bound(*sides)


@pytest.mark.statistical
def test_measured_epsilon_of_opposite_updates_is_below_the_claim_and_near_it() -> None:
    """6,000 messages on each side; it finds too much with a probability of at most 1e-6, too little with 5e-7."""
    least, found = audit(2.0, 6000)
    assert 0.7 * 2 <= least <= found <= 2


@pytest.mark.statistical
def test_a_twin_that_leans_as_for_twice_the_epsilon_is_caught() -> None:
    least, found = audit(4.0, 1500)
    assert 2.3 < least <= found


@pytest.mark.statistical
def test_short_updates_are_sent_as_either_direction_about_as_often() -> None:
    """Updates of a twentieth of the clip: their directions differ in one of twenty messages, a loss of 0.1."""
    assert audit(4.0, 1000, share=1 / 20)[1] < 0.5
    least, found = audit(4.0, 1000)
    assert 2 < least <= found


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ChainError, match="does not bound the l2 norm of a client's update"):
        codecs.chain(
            clip_largest(1.0), last=build_biased_vector(plan.ProjUnit(epsilon=4.0, clip=1.0))
        )
    with pytest.raises(ChainError, match=r"lower codec\.coordinates"):
        codecs.build(plan.ProjUnit(epsilon=0.5, clip=1.0, coordinates=200_000)).claims(10**6, 1)
    total = codecs.build(plan.ProjUnit(epsilon=4.0, clip=1.0)).empty(2)
    with pytest.raises(WireError, match="update refused"):
        total.add(np.array([5000, 0], "<i2").view(np.uint8), 1, Draws.seeded(0))
