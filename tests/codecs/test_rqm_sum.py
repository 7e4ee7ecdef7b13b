"""The curve of a sum of randomised levels: printed values, what they miss, and bounds it must keep."""

import numpy as np
import pytest

from tacit import plan
from tacit.codecs.distributions.rqm_output import WORD, build_distribution
from tacit.codecs.distributions.rqm_sum_loss import (
    compute_sum_curve,
    compute_sum_distributions,
    find_largest_divergence,
)

PRINTED = [
    ((1.0, 0.42, 16), 0.486, 0.0750),
    ((2.33, 0.42, 16), 0.157, 0.0249),
    ((1.0, 0.5, 8), 0.215, 0.0326),
]
OURS = [(0.50270, 0.07811), (0.16216, 0.02590), (0.22324, 0.03408)]
every = pytest.mark.parametrize(("setting", "of_40", "of_250"), PRINTED)


def settings(setting: tuple[float, float, int]) -> plan.RQM:
    margin, keep, levels = setting
    return plan.RQM(clip=1.0, margin=margin, keep=keep, levels=levels)


def at_order_two(setting: tuple[float, float, int], clients: int) -> float:
    curve = compute_sum_curve(settings(setting), clients)
    return curve.values[curve.orders.index(2.0)]


@every
def test_with_all_others_at_the_ends_or_in_the_middle_it_has_its_printed_values(
    setting, of_40, of_250
) -> None:
    """To the printed digits, but for the last: 0.032548, which was printed as 0.0326."""
    margin, keep, levels = setting
    law = build_distribution(1.0, margin, levels, keep)
    for clients, printed in ((40, of_40), (250, of_250)):
        found = max(
            find_largest_divergence(compute_sum_distributions(law, others, clients - 1), 1.0)
            for others in (-1.0, 0.0, 1.0)
        )
        assert found == pytest.approx(printed, abs=0.53 * 10 ** -(3 if clients == 40 else 4))


@pytest.mark.parametrize(
    ("setting", "ours"), list(zip([one for one, *_ in PRINTED], OURS, strict=True))
)
def test_others_at_a_level_within_the_clip_cost_more_than_the_printed_values(setting, ours) -> None:
    assert (at_order_two(setting, 40), at_order_two(setting, 250)) == pytest.approx(ours, rel=5e-4)


@pytest.mark.parametrize("setting", [(1.0, 0.42, 16), (1.0, 0.5, 8)])
def test_one_client_costs_what_its_message_does_and_more_others_never_more(setting) -> None:
    margin, keep, levels = setting
    law, alone = (
        build_distribution(1.0, margin, levels, keep),
        compute_sum_curve(settings(setting), 1),
    )
    for order, value in zip(alone.orders, alone.values, strict=True):
        above = [
            bound
            for at, bound in zip(law.curve.orders, law.curve.values, strict=True)
            if at >= order * (1 - 1e-12)
        ]
        assert value <= (above[0] if above else law.epsilon) + 1e-9
    costs = [at_order_two(setting, clients) for clients in (1, 2, 3, 10, 100)]
    assert costs == sorted(costs, reverse=True)


def test_no_mixture_of_corners_that_was_tried_costs_more() -> None:
    """Ten others in two groups at any two corners, in any proportion: none above all at one corner."""
    law = build_distribution(1.0, 1.0, 8, 0.5)
    chances, highest = law.counts / WORD, at_order_two((1.0, 0.5, 8), 11)
    powers = [[np.ones(1)] for _ in chances]
    for row, made in zip(chances, powers, strict=True):
        for _ in range(10):
            made.append(np.convolve(made[-1], row))
    for one in powers:
        for other in powers:
            for count in range(11):
                rest = np.convolve(one[count], other[10 - count])
                rows = np.stack([np.convolve(row, rest) for row in chances])
                assert find_largest_divergence(rows, 1.0) <= highest * (1 + 1e-9)


def test_it_needs_a_client() -> None:
    with pytest.raises(ValueError, match="clients must be at least 1, got 0"):
        compute_sum_curve(plan.RQM(clip=1.0, margin=1.0), 0)
