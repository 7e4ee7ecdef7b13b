"""What Gaussian noise costs when each client takes part with a small chance, and how much of it a
loss asks for.

Every round each client is taken with the same chance, by itself, and nobody but who adds the noise
knows who was. Then noise of a smaller multiplier keeps a loss (privacy amplification by Poisson
sampling). There is no closed form: the distribution of the loss is discretised and composed by
dp-accounting, always rounding to the safe side. With a chance of 1 the cost is exact.

Source: Koskela, Jälkö and Honkela 2020; Doroshenko et al. 2022, *Connect the Dots*. Adding or
removing one client.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

from tacit.privacy.accounting import gaussian_loss

_SAFE = 1 + 1e-9
"""More than floating point can take off an epsilon that comes out of a discretised distribution."""


_LEAST = 1 / 16
"""No multiplier below it is looked for: where delta is above the sampling rate any would do,
however small.
"""


def estimate_spread(noise_multiplier: float, rate: float) -> float:
    """Return about how far the loss of one round spreads: the root of the chi-squared
    divergence.
    """
    return rate * math.sqrt(math.expm1(min(50.0, 1 / noise_multiplier**2)))


def choose_step(noise_multiplier: float, rate: float, rounds: int) -> float:
    """Return a step fine enough for a loss: two to the spread of one round, and 200 to that of all
    or 2e-4.
    """
    one = estimate_spread(noise_multiplier, rate)
    return min(one / 2, max(one * math.sqrt(rounds) / 200, rounds * one**2 / 400, 2e-4), 0.05)


def build_distribution(noise_multiplier: float, rate: float, rounds: int, step: float) -> Any:
    """Return dp-accounting's distribution of the loss of all rounds, in steps."""
    from dp_accounting.pld import privacy_loss_distribution as pld  # slow to load

    noise = pld.from_gaussian_mechanism(
        noise_multiplier, value_discretization_interval=step, sampling_prob=rate
    )
    return noise if rounds == 1 else noise.self_compose(rounds)


@lru_cache(maxsize=4096)
def compute_epsilon(delta: float, noise_multiplier: float, rate: float, rounds: int) -> float:
    """Return an epsilon that all rounds together keep at `delta`, rounded up.

    >>> compute_epsilon(1e-5, 2.0, 0.1, 40) < compute_epsilon(1e-5, 2.0, 1.0, 40) / 4
    True
    """
    if rate == 1:
        return gaussian_loss.compute_epsilon(delta, noise_multiplier / math.sqrt(rounds))
    found = build_distribution(
        noise_multiplier, rate, rounds, choose_step(noise_multiplier, rate, rounds)
    ).get_epsilon_for_delta(delta)
    return float(found) * _SAFE


@lru_cache(maxsize=64)
def calibrate_multiplier(epsilon: float, delta: float, rate: float, rounds: int) -> float:
    """Return a noise multiplier per round that keeps an epsilon (per run) at `delta`, at most 0.01
    % above the smallest.
    """
    full = gaussian_loss.calibrate_multiplier(epsilon, delta) * math.sqrt(rounds)
    if rate == 1:
        return full
    low, high = 0.0, full
    while low < high * (1 - 1e-4) and high > _LEAST:
        middle = max((low + high) / 2, high / 4)
        if compute_epsilon(delta, middle, rate, rounds) <= epsilon * (1 - 1e-7):
            high = middle
        else:
            low = middle
    return max(high, min(full, _LEAST))
