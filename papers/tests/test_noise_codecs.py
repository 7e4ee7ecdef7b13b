"""Baselines of the HashComb paper with noise: binomial (cpSGD) and layered quantisation (LRQ)."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from tacit.audit.epsilon import lower_bound
from tacit.codecs import Extent
from tacit.errors import WireError
from tacit.privacy.claim import Approximate
from tacit.randomness import Draws
from tacit_papers.codecs import binomial, lrq
from tacit_papers.codecs.binomial import Binomial
from tacit_papers.codecs.lrq import LRQ, count_cells, draw_layers
from tests.roles import client, decode, encode, public

EXTENT = Extent(rounds=3, cohort=4)
DRAWS = 4000


def test_the_claim_is_the_plan_s_and_the_number_of_trials_is_the_smallest() -> None:
    settings = Binomial(epsilon=2.0, delta=1e-3)
    (claim,) = binomial.make(settings, EXTENT).claims(500, 4)
    assert claim.event == Approximate(2.0, 1e-3)
    grid = binomial.choose_grid(settings, 500)
    assert binomial.compute_epsilon(grid.trials, grid.squares, 500, 1e-3) <= 2.0
    assert binomial.compute_epsilon(grid.trials - 64, grid.squares, 500, 1e-3) > 2.0


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 8.0])
def test_the_theorem_bounds_the_exact_loss_of_one_number(epsilon: float) -> None:
    """The exact delta of one integer that moves as far as it can, from the binomial distribution."""
    delta = 1e-4
    grid = binomial.choose_grid(Binomial(epsilon=epsilon, delta=delta, steps=4), 1)
    shift = 2 * math.isqrt(grid.squares)
    there = stats.binom.pmf(np.arange(-shift, grid.trials + shift + 1), grid.trials, 0.5)
    moved = np.roll(there, shift)
    exact = max(
        float(np.maximum(one - math.exp(epsilon) * other, 0).sum())
        for one, other in ((there, moved), (moved, there))
    )
    assert exact <= delta


def measure(settings: Binomial, trials: int | None = None) -> float:
    """A lower bound on epsilon at the claim's delta: two opposite updates, told apart by their sum."""
    dim = 4
    made = binomial.make(settings, EXTENT)
    end = np.full(dim, settings.clip / math.sqrt(dim), np.float32)
    grid = binomial.choose_grid(settings, dim)
    sent = replace(grid, trials=trials) if trials else grid
    seen = []
    for update in (end, -end):
        outcomes = np.empty(DRAWS)
        for number in range(DRAWS):
            root = client(Draws.seeded(number).sealed("own", len(seen)))
            if trials is None:
                total = made.empty(dim)
                total.add(
                    made.encode(update, {}, own=root, public=public(Draws.seeded(0))).payload,
                    1,
                    Draws.seeded(0),
                )
                outcomes[number] = total.value().sum()
            else:
                whole = binomial.round_randomly(update, sent, root.at("rounding"))
                outcomes[number] = (
                    whole + binomial.draw_binomial(root.at("noise"), dim, trials)
                ).sum()
        seen.append(outcomes)
    cut = 1.5 * math.sqrt(dim * sent.trials / 4)
    here, there = (np.digitize(one, [-cut, cut]) for one in seen)
    return lower_bound(here, there, 1 - 1e-4, settings.delta)


@pytest.mark.statistical
def test_an_attack_shows_no_more_than_the_claim_and_catches_a_twin_with_less_noise() -> None:
    settings = Binomial(epsilon=2.0, delta=1e-3, steps=8)
    assert measure(settings) <= 2.0
    assert measure(settings, 256) > 2.0, "the twin has a sixteenth of the noise"


def test_noise_is_the_sum_of_fair_bits() -> None:
    noise = binomial.draw_binomial(client(Draws.seeded(1)), 20_000, 128)
    share = np.bincount(noise + 64, minlength=129) / len(noise)
    expected = stats.binom.pmf(np.arange(129), 128, 0.5)
    assert np.abs(share - expected).max() < 6 * math.sqrt(expected.max() / len(noise))
    assert noise.min() >= -64


def test_what_needs_too_much_noise_is_refused() -> None:
    with pytest.raises(ValueError, match="raise epsilon or delta, or lower steps"):
        binomial.choose_grid(Binomial(epsilon=0.01, steps=100), 1000)


@pytest.mark.statistical
def test_the_error_of_lrq_is_gaussian_whatever_the_number_is() -> None:
    """Kolmogorov-Smirnov; a false alarm has a probability of 1e-6 in each of three cases."""
    made = lrq.make(LRQ(stddev=0.3, clip=100.0), EXTENT)
    for number in (0.0, 0.37, -2.6):
        update = np.full(1000, number, np.float32)
        off = []
        for seed in range(20):
            both = Draws.seeded(0)
            total = made.empty(1000)
            total.add(encode(made, update, Draws.seeded(seed), both).payload, 1, public(both))
            off.append(decode(made, total, both, Draws.seeded(0)) - number)
        found = stats.kstest(np.concatenate(off) / 0.3, "norm")
        assert found.pvalue > 1e-6


def test_the_server_reads_the_cell_of_each_number_which_is_why_nothing_is_claimed() -> None:
    """Its layers' widths are known to the server: a number is within half of one, with certainty."""
    made, both = lrq.make(LRQ(stddev=1.0, clip=5.0), EXTENT), public(Draws.seeded(3))
    update = np.random.default_rng(0).normal(size=20).astype(np.float32)
    sent = encode(made, update, Draws.seeded(0), both).payload
    layers = draw_layers(sent[:32], 20, 1.0)
    total = made.empty(20)
    total.add(sent, 1, both)
    middle = total.value() - layers.centre
    assert (np.abs(middle - made.clip_update(update)) <= layers.width / 2 + 1e-5).all()


def test_lrq_sends_few_bits_and_refuses_other_cells() -> None:
    settings = LRQ(stddev=0.5, clip=1.0)
    made = lrq.make(settings, EXTENT)
    assert count_cells(settings) == 2
    assert made.payload_size(1000) == 32 + 375  # a seed, and 3 bits each
    with pytest.raises(WireError, match="cells are within"):
        made.empty(8).add(np.full(35, 255, np.uint8), 1, Draws.seeded(0))
