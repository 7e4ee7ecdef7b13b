"""What Gaussian noise costs: known values, a borrowed accountant, and both directions of one equation."""

import math

import pytest

from tacit.privacy.accounting.gaussian_loss import (
    calibrate_multiplier,
    compute_delta,
    compute_epsilon,
)

KNOWN = [
    (1.0, 1e-5, 3.731),
    (0.5, 1e-5, 7.032),
    (2.0, 1e-5, 1.994),
    (2.0, 1e-3, 1.445),
    (8.0, 1e-5, 0.600),
]


@pytest.mark.parametrize(("epsilon", "delta", "multiplier"), KNOWN)
def test_the_calibration_has_its_known_values(epsilon, delta, multiplier) -> None:
    assert calibrate_multiplier(epsilon, delta) == pytest.approx(multiplier, abs=5e-4)


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 2.0, 20.0, 50.0])
@pytest.mark.parametrize("delta", [0.4, 1e-3, 1e-9])
def test_an_epsilon_that_was_asked_for_comes_back_and_never_more(epsilon, delta) -> None:
    multiplier = calibrate_multiplier(epsilon, delta)
    assert epsilon * (1 - 1e-6) <= compute_epsilon(delta, multiplier) <= epsilon
    assert (
        compute_delta(epsilon, multiplier)
        <= delta
        < compute_delta(epsilon, multiplier * (1 - 1e-6))
    )


@pytest.mark.parametrize(("multiplier", "rounds"), [(0.7, 1), (4.0, 10), (9.14, 40), (300.0, 1000)])
@pytest.mark.parametrize("delta", [1e-3, 1e-6])
def test_rounds_compose_as_a_borrowed_accountant_says(multiplier, rounds, delta) -> None:
    """dp-accounting's figure is from a discretised distribution of losses, rounded up: ours may be a little below, never above."""
    import dp_accounting
    from dp_accounting.pld import PLDAccountant

    borrowed = PLDAccountant(
        dp_accounting.NeighboringRelation.REPLACE_SPECIAL, value_discretization_interval=1e-3
    )
    borrowed.compose(dp_accounting.GaussianDpEvent(multiplier / math.sqrt(rounds)))
    theirs = borrowed.get_epsilon(delta)
    assert theirs - 2e-3 <= compute_epsilon(delta, multiplier / math.sqrt(rounds)) <= theirs + 1e-6
