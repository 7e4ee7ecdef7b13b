"""A hundred random runs: never stated below what dp-accounting can prove at its best, nor more than 1 % above it."""

import math
from bisect import bisect_left

import dp_accounting
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.rdp import rdp_privacy_accountant

from tacit.privacy import ledger
from tacit.privacy.accounting import losses, sampled_loss
from tacit.privacy.accounting.gaussian_loss import calibrate_multiplier
from tacit.privacy.claim import Event, GaussianNoise, Pure, RenyiCurve, Repeated, Sampled
from tacit.privacy.ledger import Account, charge
from tests.privacy.claims import ADD, claim

Paid = list[tuple[Event, int]]

KINDS = (
    "noise",
    "pure",
    "sampled",
    "curve",
    "noise and pure",
    "noise and sampled",
    "pure and sampled",
    "all",
    "curve and noise",
)
ORDERS = (1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 16.0, 32.0, 64.0)
ALL_ORDERS = tuple(
    sorted(
        {*ORDERS, *(order for t in losses.ABOVE_ONE if (order := 1 + t) <= ORDERS[-1] and t > 1e-3)}
    )
)
UNIT = 0.02
"""All pure epsilons are multiples of it, so that dp-accounting, which rounds losses up to a grid, has them exactly."""


def some(kind: str, random: np.random.Generator) -> Paid:
    """Return events of a random run with a loss that people state: about 0.1 to 20 for all of it."""
    loss, paid = math.exp(random.uniform(math.log(0.3), math.log(10))), []
    if "noise" in kind or kind == "all":
        for _ in range(random.integers(1, 3)):
            times = int(random.integers(1, 60))
            paid.append(
                (GaussianNoise(calibrate_multiplier(loss, 1e-5) * math.sqrt(2 * times)), times)
            )
    if "pure" in kind or kind == "all":
        bits, rounds = int(random.integers(1, 40)), int(random.integers(1, 20))
        one = UNIT * max(1, round(loss / math.sqrt(bits * rounds) / 3 / UNIT))
        paid.append((Repeated(Pure(one), bits), rounds))
    if "sampled" in kind or kind == "all":
        rate, times = (
            math.exp(random.uniform(math.log(0.01), math.log(0.7))),
            int(random.integers(5, 300)),
        )
        noise = calibrate_multiplier(loss, 1e-5) * rate * math.sqrt(times)
        paid.append((Sampled(GaussianNoise(max(0.7, noise)), rate), times))
    if "curve" in kind:
        per_round = loss**2 / 40 / 20
        paid.append((RenyiCurve(ORDERS, tuple(per_round * order for order in ORDERS)), 20))
    return paid


def stated(paid: Paid, delta: float) -> float:
    account = Account()
    for event, times in paid:
        account = charge(account, (claim(event, relation=ADD),), times, uses=times)
    epsilon = ledger.compute_totals(account, delta)[-1].epsilon
    assert epsilon is not None
    return epsilon


def uses(event: Event) -> tuple[Event, int]:
    return (event.event, event.count) if isinstance(event, Repeated) else (event, 1)


def borrowed(paid: Paid, delta: float) -> float:
    """Return the best that dp-accounting gives: its closed form, its loss distributions on a fine grid, or its orders."""
    singles = [(one, times * count) for event, times in paid for one, count in [uses(event)]]
    if all(isinstance(one, GaussianNoise) for one, _ in singles):
        sigma = 1 / math.sqrt(sum(times / one.noise_multiplier**2 for one, times in singles))
        return float(dp_accounting.get_epsilon_gaussian(sigma, delta))
    if any(isinstance(one, RenyiCurve) for one, _ in singles):
        total = sum(times * np.array(at_orders(one)) for one, times in singles)
        return float(rdp_privacy_accountant.compute_epsilon(ALL_ORDERS, total, delta)[0])
    step = min(fine(one, times, delta) for one, times in singles)
    pures = [one.epsilon for one, _ in singles if isinstance(one, Pure)]
    step = pures[0] / math.ceil(pures[0] / step) if pures else step
    composed = None
    for one, times in singles:
        part = distribution(one, times, step)
        composed = part if composed is None else composed.compose(part)
    return float(composed.get_epsilon_for_delta(delta))


def fine(one: Event, times: int, delta: float) -> float:
    """Return a step that is finer than ours."""
    if isinstance(one, Sampled):
        return sampled_loss.choose_step(one.event.noise_multiplier, one.rate, times) / 2
    return stated([(one, times)], delta) / 600


def at_orders(one: Event) -> tuple[float, ...]:
    if isinstance(one, RenyiCurve):  # between known orders the next one bounds it
        return tuple(one.values[bisect_left(one.orders, order)] for order in ALL_ORDERS)
    assert isinstance(one, GaussianNoise)
    return tuple(order / 2 / one.noise_multiplier**2 for order in ALL_ORDERS)


def distribution(one: Event, times: int, step: float):
    if isinstance(one, GaussianNoise):
        return pld.from_gaussian_mechanism(
            one.noise_multiplier / math.sqrt(times), value_discretization_interval=step
        )
    if isinstance(one, Pure):
        kept, places = 1 / (1 + math.exp(-one.epsilon)), round(one.epsilon / step)
        bit = pld.PrivacyLossDistribution.create_from_rounded_probability(
            {places: kept, -places: 1 - kept}, 0.0, step
        )
        return bit.self_compose(times)
    return sampled_loss.build_distribution(one.event.noise_multiplier, one.rate, times, step)


@pytest.mark.parametrize("kind", KINDS)
def test_random_runs_are_stated_as_well_as_dp_accounting_can(kind) -> None:
    random = np.random.default_rng(KINDS.index(kind))
    for _ in range(8 if "sampled" in kind or kind == "all" else 14):  # 102 runs
        paid, delta = some(kind, random), float(10 ** random.uniform(-8, -4))
        ours, theirs = stated(paid, delta), borrowed(paid, delta)
        assert theirs - 1e-9 <= ours <= 1.01 * theirs, (paid, delta, ours / theirs)
