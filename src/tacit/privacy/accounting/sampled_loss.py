"""Privacy loss of Gaussian noise under Poisson subsampling, and calibration of its noise
multiplier.

In every round each client is included independently with the same probability, and only the party
that adds the noise knows the sample. This amplifies privacy: less noise gives the same epsilon.
There is no closed form, so dp-accounting discretises and composes the distribution of the loss,
always pessimistically. At sampling rate 1 the result is exact.

Source: Koskela, Jälkö and Honkela 2020; Doroshenko et al. 2022, *Connect the Dots*. Neighbouring
relation: adding or removing one client.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

from tacit.privacy.accounting import gaussian_loss

_SAFE = 1 + 1e-9
"""Rounding margin: more than floating point can take off an epsilon of a discretised distribution.
"""


_LEAST = 1 / 16
"""Smallest noise multiplier that is searched for. Where delta exceeds the sampling rate, any
multiplier would do.
"""


def estimate_spread(noise_multiplier: float, rate: float) -> float:
    """Approximate standard deviation of the loss of one round: the root of the chi-squared
    divergence.
    """
    return rate * math.sqrt(math.expm1(min(50.0, 1 / noise_multiplier**2)))


def choose_step(noise_multiplier: float, rate: float, rounds: int) -> float:
    """Choose a grid step: at most half the spread of one round, and 1/200 of that of all rounds or
    2e-4.
    """
    one = estimate_spread(noise_multiplier, rate)
    return min(one / 2, max(one * math.sqrt(rounds) / 200, rounds * one**2 / 400, 2e-4), 0.05)


def build_distribution(noise_multiplier: float, rate: float, rounds: int, step: float) -> Any:
    """Build dp-accounting's distribution of the composed loss of all rounds."""
    from dp_accounting.pld import privacy_loss_distribution as pld  # slow to load

    noise = pld.from_gaussian_mechanism(
        noise_multiplier, value_discretization_interval=step, sampling_prob=rate
    )
    return noise if rounds == 1 else noise.self_compose(rounds)


@lru_cache(maxsize=4096)
def compute_epsilon(delta: float, noise_multiplier: float, rate: float, rounds: int) -> float:
    """Epsilon of all rounds together at `delta`, rounded up.

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
    """Noise multiplier per round for an epsilon per run at `delta`, at most 0.01 % above the
    smallest.
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
