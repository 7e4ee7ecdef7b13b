"""Thirty random plans each of `onebit` and `skellam`: the ledger states no less than an exact lower bound, and at most 2 % more."""

import math

import numpy as np
import pytest
from mpmath import mpf
from scipy.stats import binom

from tacit import codecs, plan
from tacit.codecs.distributions.onebit_loss import bound_coin_sums
from tacit.codecs.distributions.skellam_noise import PARTS
from tacit.codecs.onebit import choose_biases
from tacit.codecs.skellam import SumFormat, choose_grid
from tacit.codecs.stages.integer_updates import Loss
from tacit.codecs.stages.rotation import find_block_size
from tacit.errors import ChainError
from tacit.privacy import ledger
from tacit.privacy.accounting.distribution import discretise
from tacit.privacy.accounting.dominated_loss import compute_epsilon
from tacit.privacy.ledger import Account, charge
from tests.codecs.loss_oracle import Coins, Skellams, least_epsilon


class Some:
    """A random plan: clients asked and counted on, rounds of the plan and of one client, parameters, and the promise."""

    def __init__(self, random: np.random.Generator) -> None:
        self.cohort = int(np.exp(random.uniform(math.log(40), math.log(5000))))
        self.reporters = float(random.choice([1.0, 0.9, 0.75]))
        self.counted = math.floor(self.reporters * self.cohort)
        self.rounds, self.dim = (
            int(random.integers(2, 80)),
            int(np.exp(random.uniform(math.log(300), math.log(40_000)))),
        )
        self.answered = (
            int(random.integers(1, self.rounds + 1)) if random.random() < 0.3 else self.rounds
        )
        self.loss = Loss(
            epsilon=float(np.exp(random.uniform(math.log(0.3), math.log(8)))),
            delta=float(10 ** random.uniform(-8, -4)),
        )
        self.bits = int(random.choice([12, 14, 16, 18, 20]))

    @property
    def settings(self) -> dict[str, float]:
        return {
            "epsilon": self.loss.epsilon,
            "delta": self.loss.delta,
            "clip": 1.0,
            "reporters": self.reporters,
        }

    def stated(self, settings: plan.Codec) -> float:
        """Return what the ledger states for a client that answered in so many rounds, charged one by one."""
        made = codecs.build(settings, codecs.Extent(rounds=self.rounds, cohort=self.cohort))
        account, claims = Account(), made.claims(self.dim, self.cohort)
        for count in range(1, self.answered + 1):
            account = charge(account, claims, busiest=count)
        epsilon = ledger.compute_totals(account, self.loss.delta)[-1].epsilon
        assert epsilon is not None
        if self.answered == self.rounds:
            assert 0.99 * self.loss.epsilon <= epsilon <= self.loss.epsilon * (1 + 1e-9)
        return epsilon


def epsilon_of_coins(some: Some) -> float:
    """Return a lower bound: all of an update at the largest bias, and all others leaning as far as they may, to either side."""
    coins = choose_biases(some.loss, some.rounds, some.counted, 1.0, find_block_size(some.dim))
    squares = (coins.slope * coins.clip) ** 2
    used = min(some.dim, math.ceil(squares / coins.largest**2))
    bias, bits = min(math.sqrt(squares / used), coins.largest), used * coins.bits * some.answered
    found = []
    for lean in (coins.largest, -coins.largest):
        others = Coins(bits * (some.counted - 1), mpf("0.5") + mpf(lean))
        own = [Coins(bits, mpf("0.5") + mpf(side)) for side in (bias, 0.0)]
        found.append(least_epsilon([others, own[0]], [others, own[1]], some.loss.delta))
    return max(found)


def epsilon_of_integers(some: Some) -> float:
    """Return a lower bound: as even an update as integers allow, with the noise of the clients that count."""
    wires = SumFormat(
        min_clients=some.counted, max_clients=some.cohort, bits=some.bits, rounds=some.rounds
    )
    grid = choose_grid(some.loss, wires, 1.0, some.dim)
    size = max(1, math.isqrt(grid.squares // some.dim))
    more = max(0, (grid.squares - some.dim * size**2) // (2 * size + 1))
    kinds = [(min(some.dim, grid.squares) - more, size), (more, size + 1)]
    variance = mpf(some.counted * grid.parts) / PARTS
    here, there = (
        [
            Skellams(count * some.answered, variance, weight, moved * weight)
            for count, weight in kinds
            if count
        ]
        for moved in (1, 0)
    )
    return least_epsilon(here, there, some.loss.delta)


def test_the_oracle_is_as_tight_as_the_whole_loss_distribution() -> None:
    """One adversary in full: the discretised privacy loss of 1,500 sums, rounded up by dp-accounting, beside the oracle's test."""
    clients, bias, count, delta = 60, 0.05, 1500, 1e-5
    rest = binom.pmf(np.arange(clients), clients - 1, 0.5 - bias)
    here, there = (np.convolve(rest, [0.5 - side, 0.5 + side]) for side in (bias, 0.0))
    losses = np.log(here) - np.log(there)
    found = []
    for sign, chances in ((1, here), (-1, there)):
        order = np.argsort(sign * losses)
        one = discretise(
            (sign * losses)[order], chances[order], float(np.abs(losses).max()) / 3000, 0.0
        )
        found.append(one.self_compose(count).get_epsilon_for_delta(delta))
    others = Coins(count * (clients - 1), mpf("0.5") - mpf(bias))
    own = [Coins(count, mpf("0.5") + mpf(side)) for side in (bias, 0.0)]
    least = least_epsilon([others, own[0]], [others, own[1]], delta)
    event = bound_coin_sums(clients, bias).dominated(squares=count * bias**2, bits=count)
    assert least <= max(found) <= 1.002 * least
    assert max(found) <= compute_epsilon(delta, event) <= 1.02 * max(found)


@pytest.mark.parametrize("seed", range(6))
def test_random_plans_of_onebit_are_stated_at_most_2_percent_above_an_exact_lower_bound(
    seed,
) -> None:
    random = np.random.default_rng(seed)
    for some in [Some(random) for _ in range(5)]:
        ratio = some.stated(plan.OneBit(**some.settings)) / epsilon_of_coins(some)
        assert 1 <= ratio <= 1.02, (ratio, vars(some))


@pytest.mark.parametrize("seed", range(6))
def test_random_plans_of_skellam_are_stated_at_most_2_percent_above_an_exact_lower_bound(
    seed,
) -> None:
    random, measured = np.random.default_rng(seed), 0
    while measured < 5:
        some = Some(random)
        try:
            stated = some.stated(plan.Skellam(**some.settings, bits=some.bits))
        except ChainError:  # too few bits for so many clients
            continue
        measured += 1
        ratio = stated / epsilon_of_integers(some)
        assert 1 <= ratio <= 1.02, (ratio, vars(some))
