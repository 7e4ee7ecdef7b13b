"""A vector that leans towards an update: the law's check values, its error beside other codecs', and measured losses."""

import math

import numpy as np
import pytest
from scipy.stats import kstest, norm

from tacit import codec, ledger, plan
from tacit.audit.epsilon import lower_bound
from tacit.codec.clip import clip_largest
from tacit.codec.privunit import STEP, lean_for, leaning, rounding
from tacit.codec.projunit import leaning_towards, shape_of
from tacit.codec.rotation import rotated
from tacit.draws import Draws
from tacit.errors import ChainError, WireError
from tacit.ledger import Account, charge
from tests.roles import decode, encode


def unit_vector(dim: int, seed: int = 0) -> np.ndarray:
    row = np.random.default_rng(seed).standard_normal(dim)
    return (row / np.linalg.norm(row)).astype(np.float32)


# The law


@pytest.mark.parametrize(
    ("epsilon", "chance", "over_mean"), [(1, 0.589, 2.516), (2, 0.670, 1.271), (4, 0.791, 0.660), (8, 0.901, 0.365)]
)
def test_the_best_lean_has_the_published_values(epsilon, chance, over_mean) -> None:
    lean = lean_for(float(epsilon))
    assert lean.chance == pytest.approx(chance, abs=5e-4)
    assert 1 / lean.mean == pytest.approx(over_mean, abs=5e-4)


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 4.0, 8.0, 16.0])
def test_no_side_is_more_than_e_to_the_epsilon_likelier(epsilon) -> None:
    lean, free = lean_for(epsilon), norm.sf(lean_for(epsilon).edge)
    ratio = math.log(lean.chance / free) - math.log((1 - lean.chance) / (1 - free))
    assert ratio == pytest.approx(epsilon, rel=1e-9)
    assert lean.mean > 0


def test_parts_along_and_across_the_direction_follow_the_law() -> None:
    """10,000 vectors of 5 numbers; each of three tests alarms falsely with a chance of about 1e-6."""
    lean, direction = lean_for(2.0), np.array([0.6, -0.8, 0, 0, 0])
    drawn = np.stack([leaning(direction, lean, Draws.seeded(3).at(n)) for n in range(10_000)]) * STEP
    along, across = drawn @ direction, drawn @ np.array([0.8, 0.6, 0, 0, 0])
    jitter = STEP * (np.random.default_rng(0).random(10_000) - 0.5)

    def cumulative(x: np.ndarray) -> np.ndarray:
        low = norm.cdf(np.minimum(x, lean.edge)) / norm.cdf(lean.edge) * (1 - lean.chance)
        return low + np.maximum(0, norm.cdf(x) - norm.cdf(lean.edge)) / norm.sf(lean.edge) * lean.chance

    assert kstest(along, cumulative).pvalue > 1e-6
    assert kstest(across + jitter, "norm").pvalue > 1e-6
    assert abs(along.mean() - lean.mean) < 5 * along.std() / math.sqrt(10_000)
    assert np.square(along).mean() == pytest.approx(lean.second_moment, rel=0.05)


def test_all_parameters_may_be_sent_and_then_the_error_is_that_of_the_law() -> None:
    """The mean squared error of a unit vector is (d - 1 + E t²) / m² - 1."""
    lean = lean_for(4.0 - rounding(4.0, 256))
    exact = (255 + lean.second_moment) / lean.mean**2 - 1
    assert exact == pytest.approx(111.0, rel=5e-3)
    shape = shape_of(plan.ProjUnit(epsilon=4.0, clip=1.0, coordinates=256), 256)
    assert shape.variance(1.0) * 256 == pytest.approx(exact, rel=1e-4)


# Its error beside others'


def error(settings: plan.Codec, update: np.ndarray, times: int) -> float:
    """Return the mean squared error of one message, measured."""
    made, found = codec.build(settings), []
    for n in range(times):
        total, public = made.empty(len(update)), Draws.seeded(1).at("public", n)
        total.add(encode(made, update, Draws.seeded(1).at("own", n), public).payload, 1, public)
        found.append(float(np.square(decode(made, total, public, public).astype(np.float64) - update).sum()))
    return float(np.mean(found))


def test_at_4_per_update_it_beats_bits_by_the_ratios_of_the_theory() -> None:
    """5,001 parameters, unit updates, rotated for the bits; ratios within 10 % (measured errors are good to about 1 %)."""
    dim, epsilon = 5001, 4.0
    update = unit_vector(dim)
    clip = math.sqrt(2 * math.log(2 * dim) / dim)
    ours = error(plan.ProjUnit(epsilon=epsilon, clip=1.0), update, 40)
    sampled = error(plan.RRSampled(epsilon=epsilon, clip=clip), rotated(update), 40)
    bits = error(plan.RR(epsilon=epsilon / dim, clip=clip), rotated(update), 10)
    assert ours == pytest.approx(2.18e3, rel=0.05)
    assert sampled / ours == pytest.approx(7.94e4 / 2.18e3, rel=0.1)
    assert bits / ours == pytest.approx(1.15e8 / 2.18e3, rel=0.1)


def test_few_coordinates_cost_little_accuracy_and_do_not_shrink_updates() -> None:
    """300 clients with one update; the mean's length along it, with its error (5 sigma)."""
    dim, update = 256, unit_vector(256, 5)
    for coordinates, published in ((32, 118.6), (64, 114.3), (128, 111.9)):
        settings = plan.ProjUnit(epsilon=4.0, clip=1.0, coordinates=coordinates)
        assert shape_of(settings, dim).variance(1.0) * dim == pytest.approx(published, rel=0.03)
    made, along = codec.build(plan.ProjUnit(epsilon=8.0, clip=1.0, coordinates=64)), []
    for n in range(300):
        total, public = made.empty(dim), Draws.seeded(2).at("public", n)
        total.add(encode(made, update, Draws.seeded(2).at(n), public).payload, 1, public)
        along.append(float(decode(made, total, public, public) @ update))
    assert abs(np.mean(along) - 1) < 5 * np.std(along) / math.sqrt(300)


# What is stated and measured


def test_a_run_costs_its_updates_added_up_and_trusts_nobody() -> None:
    made = codec.build(plan.ProjUnit(epsilon=4.0, clip=1.0))
    claims = made.claims(506_451, 1000)
    update, run, _ = ledger.totals(charge(Account(), claims, 5, uses=5), 1e-5)
    assert (update.unit, update.epsilon, run.unit, run.epsilon, run.delta) == ("update", 4.0, "run", 20.0, 0.0)
    assert claims[0].trust == ("nobody, since each client randomises before anything leaves",)
    assert made.payload_size(506_451) == 2000


SIDE = np.array([0.48, -0.6, 0.64], np.float32)


def sides(made: codec.Codec, edge: float, updates: tuple[np.ndarray, np.ndarray], times: int) -> list[np.ndarray]:
    """Return for messages of two updates whether they lean towards the first by at least `edge`, as the law's plane tells."""
    public, own = Draws.seeded(0), Draws.from_system()
    plane, found = rotated(SIDE), []
    for number, update in enumerate(updates):
        rows = np.stack([encode(made, update, own.at(number, n), public).payload.view("<i2") for n in range(times)])
        found.append((rows * STEP @ plane >= edge).astype(np.int64))
    return found


def test_measured_epsilon_of_opposite_updates_is_below_the_claim_and_near_it() -> None:
    """3,000 messages on each side; a sound codec is called unsound with a chance below 1e-6."""
    made = codec.build(plan.ProjUnit(epsilon=2.0, clip=1.0))
    assert 0.75 * 2 <= lower_bound(*sides(made, lean_for(2.0).edge, (SIDE, -SIDE), 3000)) <= 2


def test_a_twin_that_leans_as_for_twice_the_epsilon_is_caught() -> None:
    made = codec.build(plan.ProjUnit(epsilon=4.0, clip=1.0))
    assert lower_bound(*sides(made, lean_for(4.0).edge, (SIDE, -SIDE), 1500)) > 2.3


def test_short_updates_are_sent_as_either_direction_about_as_often() -> None:
    made = codec.build(plan.ProjUnit(epsilon=4.0, clip=1.0))
    assert lower_bound(*sides(made, lean_for(4.0).edge, (SIDE / 20, -SIDE / 20), 1000)) < 0.5
    assert lower_bound(*sides(made, lean_for(4.0).edge, (SIDE, -SIDE), 1000)) > 2


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ChainError, match="finite l2 bound"):
        codec.chain(clip_largest(1.0), last=leaning_towards(plan.ProjUnit(epsilon=4.0, clip=1.0)))
    with pytest.raises(ChainError, match=r"lower codec\.coordinates"):
        codec.build(plan.ProjUnit(epsilon=0.5, clip=1.0, coordinates=200_000)).claims(10**6, 1)
    total = codec.build(plan.ProjUnit(epsilon=4.0, clip=1.0)).empty(2)
    with pytest.raises(WireError, match="update refused"):
        total.add(np.array([5000, 0], "<i2").view(np.uint8), 1, Draws.seeded(0))
