"""No pair of updates, sent through the real codec with its integer thresholds, costs more than the codec's claim."""

import itertools
import math
from decimal import Decimal, getcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tacit import codecs, plan
from tacit.codecs import rr
from tacit.privacy.accounting import losses
from tacit.privacy.claim import Repeated
from tests.laws import thresholds
from tests.laws.codec_cases import BITS, label

BALLS = [
    plan.RR(epsilon=epsilon, clip=0.01, clip_l1=0.01 * ratio)
    for epsilon in (0.01, 0.1, 1.0, 5.0)
    for ratio in (1e-9, 1.02 / (rr.WORD - 2 * rr.compute_flips(epsilon)), 1e-6, 0.3, 1.0, 2.5)
]
"""L1 clips from far below one step of a threshold, over just enough for one coordinate to be rounded up, to above the clip."""
private = pytest.mark.parametrize("case", BITS, ids=label)
hostile = hnp.arrays(
    np.float32, 9, elements=st.floats(width=32, allow_nan=True, allow_infinity=True)
)


def claimed(case: plan.Codec, dim: int) -> tuple[float, float, int]:
    """Return the claim's epsilon per bit and per update, and its number of bits."""
    (claim,) = codecs.build(case).claims(dim, 1)
    assert isinstance(claim.event, Repeated)
    return (
        float(losses.compute_pure_epsilon(losses.unwrap(claim.event))),
        float(losses.compute_pure_epsilon(claim.event)),
        claim.event.count,
    )


def unit(case: plan.RR) -> float:
    """Return how far a value must move to move its threshold by one."""
    return case.clip / (rr.WORD // 2 - rr.compute_flips(case.epsilon))


def rounds_up_to(step: int, case: plan.RR) -> np.float32:
    """Return about the smallest value whose threshold is `step` above one half."""
    value = np.float32((step - 0.5) * unit(case))
    while np.rint(float(value) / unit(case)) < step:
        value = np.nextafter(value, np.float32(np.inf))
    return value


def candidates(case: plan.RR | plan.RRSampled, dim: int) -> list[np.ndarray]:
    """Return updates at which losses are largest: all at the clip, few at the clip, or many just where rounding goes up."""
    found = [np.zeros(dim), np.full(dim, case.clip), np.full(dim, np.inf)]
    if isinstance(case, plan.RR) and case.clip_l1 is not None:
        for used in {1, 2, dim // 2, dim} - {0}:
            found.append(np.where(np.arange(dim) < used, min(case.clip, case.clip_l1 / used), 0.0))
        for step in (1, 2, 3):
            value = float(rounds_up_to(step, case))
            found.append(
                np.where(np.arange(dim) < int(case.clip_l1 / value * (1 - 1e-12)), value, 0.0)
            )
    return [update.astype(np.float32) for update in found]


@pytest.mark.parametrize("dim", [1, 2, 9, 40])
@pytest.mark.parametrize("case", [*BITS, *BALLS], ids=label)
def test_the_worst_pairs_of_integer_thresholds_stay_within_the_claim(case, dim) -> None:
    per_bit, per_update, bits = claimed(case, dim)
    made = codecs.build(case)
    sides = [
        thresholds.of(made, sign * update, bits)
        for update in candidates(case, dim)
        for sign in (1, -1)
    ]
    sides += [side[::-1] for side in sides]  # the same on other coordinates
    worst = max(thresholds.loss(one, other) for one, other in itertools.product(sides, sides))
    single = max(
        thresholds.loss(one[:1], other[:1]) for one, other in itertools.product(sides, sides)
    )
    assert worst <= per_update
    assert single <= per_bit
    if not getattr(case, "clip_l1", None):
        assert worst >= per_update * (1 - 1e-12)  # and the claim is no larger than it must be


@private
@given(one=hostile, other=hostile)
@settings(max_examples=25, deadline=None)
def test_hostile_updates_stay_within_the_claim(case, one, other) -> None:
    """Zero, huge, infinite and NaN values: every threshold a codec uses lies between the two the claim is made of."""
    per_bit, per_update, bits = claimed(case, 9)
    first, second = (thresholds.of(codecs.build(case), update, bits) for update in (one, other))
    assert thresholds.loss(first, second) <= per_update
    assert all(thresholds.loss(first[[n]], second[[n]]) <= per_bit for n in range(bits))


def worst_in_ball(case: plan.RR, dim: int) -> float:
    """Return the loss of the worst pair found for a large update, without building it: how many coordinates sit where.

    ln(1 + s) is concave, so one update spreads its norm over many equal steps; -ln(1 - s) is convex, so the other puts some
    coordinates at the clip and spreads the rest. Steps are reached at their lower ends, where rounding gains the most.
    """
    assert case.clip_l1 is not None
    half, top = 2.0**31, round(case.clip / unit(case))
    even = max(1, round(case.clip_l1 / dim / unit(case)))
    steps = sorted({min(top, max(1, step)) for step in (1, 2, 3, *range(even - 2, even + 3))})
    costs = {step: float(rounds_up_to(step, case)) for step in steps}
    spread = {step: min(dim, int(case.clip_l1 / cost)) for step, cost in costs.items()}
    concave = max(count * math.log1p(step / half) for step, count in spread.items())
    convex = 0.0
    for extreme in range(min(dim, int(case.clip_l1 / case.clip)) + 1):
        left = case.clip_l1 - extreme * case.clip
        thin = max(
            min(dim - extreme, int(left / cost)) * -math.log1p(-step / half)
            for step, cost in costs.items()
        )
        convex = max(convex, extreme * -math.log1p(-top / half) + thin)
    return concave + convex


LARGE = [
    (case, dim)
    for case in BALLS
    if case.epsilon in (0.1, 1.0)
    for dim in (1, 1000, 400_020, 5_000_000)
]


@pytest.mark.parametrize(
    ("case", "dim"),
    LARGE,
    ids=lambda value: f"{value}" if isinstance(value, int) else f"{value.clip_l1:g}",
)
def test_the_worst_pair_of_a_large_update_stays_within_the_bound_of_its_ball(case, dim) -> None:
    assert worst_in_ball(case, dim) <= claimed(case, dim)[1]


def test_the_search_catches_a_bound_that_forgets_the_rounding() -> None:
    """The bound before it paid for integer thresholds: C1/q widened by d 2^-31, too little where f is small."""
    missed = {}
    for case, dim in LARGE:
        flips = rr.compute_flips(case.epsilon)
        widened = (case.clip_l1 * (1 + 2**-20) + dim * case.clip * 2**-31) / case.clip
        before = widened * (
            rr.compute_kept_signal(flips)
            + math.log((1 + math.exp(rr.compute_bit_epsilon(flips))) / 2)
        )
        missed[case.epsilon, round(case.clip_l1 / case.clip, 12), dim] = worst_in_ball(
            case, dim
        ) / min(before, dim * case.epsilon)
    assert missed[0.1, 1.0, 400_020] > 1.0005
    assert missed[0.1, 1.0, 5_000_000] > 1.005
    assert max(missed.values()) > 1.5


def test_the_steps_of_the_search_are_those_of_the_codec() -> None:
    for case in BALLS[1::6]:
        free = codecs.build(plan.RR(epsilon=case.epsilon, clip=case.clip))
        for step in (1, 2, 3, 21, 268, 5000):
            value = rounds_up_to(step, case)
            below = np.nextafter(np.float32((step - 0.5) * unit(case)), np.float32(0))
            assert thresholds.of(free, np.array([value, below]), 2).tolist() == [
                2**31 + step,
                2**31 + step - 1,
            ]


@pytest.mark.parametrize(
    "flips",
    [
        1,
        9,
        2**20,
        2**31 - 1,
        2**31 - 5,
        2**31 - 107_000_000,
        *(rr.compute_flips(e) for e in (0.1, 1, 20)),
    ],
)
def test_epsilon_per_bit_is_never_stated_below_its_value(flips) -> None:
    getcontext().prec = 60
    exact = (Decimal(rr.WORD - flips) / Decimal(flips)).ln()
    assert exact <= Decimal(rr.compute_bit_epsilon(flips)) <= exact * (1 + Decimal(2) ** -48)
