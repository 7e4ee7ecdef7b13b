"""Composition of different events through their privacy loss distributions (PLDs), by
dp-accounting.

Uses of one event are composed first: Gaussian noise by its closed form, equal pure losses by
binomial probabilities, noise on a subsample by dp-accounting. Randomised response of the same
epsilon dominates every pure mechanism (Kairouz, Oh and Viswanath 2015), so it represents all of
them. Discretisation is pessimistic: it overestimates delta at every epsilon (*Connect the Dots*,
Doroshenko et al. 2022).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.accounting import sampled_loss
from tacit.privacy.accounting.gaussian_loss import compute_epsilon
from tacit.privacy.claim import Approximate, Event, Free, GaussianNoise, Pure, RenyiCurve, Sampled

Uses = Sequence[tuple[Event, int]]
"""Events without repetition, each with its number of uses."""

_TAIL = 12.0
"""Standard deviations within which binomial counts are evaluated; the probability of the rest is
far below the rounding margin.
"""
_SAFE = 1 + 1e-7
"""Rounding margin: more than floating point can take off a delta that is a sum of binomial
probabilities.
"""
_STEPS, _LARGEST = 300, 1 << 18
"""Grid points up to the epsilon of each event, and the most grid points in all."""


def compose_randomised_responses(epsilon: float, uses: int, delta: float) -> float:
    """Smallest epsilon at `delta` of `uses` randomised responses of one epsilon, rounded up: a
    closed form.

    Source: if k responses are truthful, the loss is (2k - uses) epsilon, and k is binomial.
    """
    losses, probabilities = _list_losses(epsilon, uses)
    low, high = 0.0, uses * epsilon
    if _compute_delta(low, losses, probabilities) <= delta:
        return 0.0
    while low < (middle := (low + high) / 2) < high:
        low, high = (
            (low, middle)
            if _compute_delta(middle, losses, probabilities) <= delta
            else (middle, high)
        )
    return high * (1 + 2**-45)  # differences of epsilon and losses have lost a few digits


def compose_epsilon(uses: Uses, delta: float) -> float:
    """Epsilon at `delta` of all uses together, rounded up; infinite if an event has no known
    distribution.
    """
    merged = _merge(uses)
    if merged is None:
        return math.inf
    if len(merged) == 1 and not isinstance(merged[0][0], Approximate):
        return _compose_alone(*merged[0], delta)
    step = max(
        min(_choose_step(event, count, delta) for event, count in merged),
        sum(_measure_width(*one) for one in merged) / _LARGEST,
    )
    composed = None
    for event, count in merged:
        block = _build_distribution(event, count, step)
        composed = block if composed is None else composed.compose(block)
    return float(composed.get_epsilon_for_delta(delta)) * _SAFE if composed is not None else 0.0


def _merge(uses: Uses) -> list[tuple[Event, int]] | None:
    """Merge equal events, and all Gaussian noise into one use; None if an event has no
    distribution.
    """
    counts: dict[Event, int] = {}
    squares = 0.0
    for event, count in uses:
        if isinstance(event, GaussianNoise):
            squares += count / event.noise_multiplier**2
        elif isinstance(event, Pure | Approximate) or (
            isinstance(event, Sampled) and isinstance(event.event, GaussianNoise)
        ):
            counts[event] = counts.get(event, 0) + count
        elif isinstance(event, RenyiCurve):
            return None
        elif not isinstance(event, Free):
            raise TypeError(f"no privacy loss distribution is known for {event}")
    noise: list[tuple[Event, int]] = [(GaussianNoise(1 / math.sqrt(squares)), 1)] if squares else []
    return [*noise, *counts.items()]


def _compose_alone(event: Event, count: int, delta: float) -> float:
    if isinstance(event, GaussianNoise):
        return compute_epsilon(delta, event.noise_multiplier)
    if isinstance(event, Pure):
        return compose_randomised_responses(event.epsilon, count, delta)
    assert isinstance(event, Sampled)
    assert isinstance(event.event, GaussianNoise)
    return sampled_loss.compute_epsilon(delta, event.event.noise_multiplier, event.rate, count)


def _choose_step(event: Event, count: int, delta: float) -> float:
    """Choose a grid step that is fine enough for the uses of one event."""
    if isinstance(event, Sampled) and isinstance(event.event, GaussianNoise):
        return sampled_loss.choose_step(event.event.noise_multiplier, event.rate, count)
    if isinstance(event, Approximate):
        return compose_randomised_responses(event.epsilon, count, delta) / _STEPS or 1.0
    return _compose_alone(event, count, delta) / _STEPS or 1.0


def _measure_width(event: Event, count: int) -> float:
    """Width of the loss distribution on the grid; 0 for noise, which never sets the size of the
    grid.
    """
    if not isinstance(event, Pure | Approximate):
        return 0.0
    losses, _ = _list_losses(event.epsilon, count)
    return float(losses[-1] - losses[0])


@lru_cache(maxsize=16)
def _build_distribution(event: Event, count: int, step: float) -> Any:
    """Build dp-accounting's distribution of the composed loss of one event."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    if isinstance(event, GaussianNoise):
        return pld.from_gaussian_mechanism(
            event.noise_multiplier, value_discretization_interval=step
        )
    if isinstance(event, Sampled) and isinstance(event.event, GaussianNoise):
        return sampled_loss.build_distribution(
            event.event.noise_multiplier, event.rate, count, step
        )
    failing = 0.0
    if isinstance(event, Approximate):
        failing = -math.expm1(count * math.log1p(-event.delta))
    assert isinstance(event, Pure | Approximate)
    return discretise(*_list_losses(event.epsilon, count), step, failing)


def discretise(
    losses: NDArray[np.float64], probabilities: NDArray[np.float64], step: float, failing: float
) -> Any:
    """Build dp-accounting's pessimistic distribution of increasing losses, exact at every grid
    point.

    `probabilities` are the probabilities under one input; under the other they are e^-loss times as
    large. `failing` is the remaining probability, on which the loss is infinite.
    """
    from dp_accounting.pld import pld_pmf
    from dp_accounting.pld import privacy_loss_distribution as pld

    lowest, highest = math.floor(losses[0] / step), math.ceil(losses[-1] / step)
    grid = np.arange(lowest, highest + 1) * step
    deltas = np.clip(
        failing + (1 - failing) * _compute_deltas(grid, losses, probabilities), 0.0, 1.0
    )
    return pld.PrivacyLossDistribution(
        pld_pmf.create_pmf_pessimistic_connect_dots_fixed_gap(step, lowest, highest, deltas)
    )


def _list_losses(epsilon: float, uses: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Possible losses of randomised responses, in increasing order, and their probabilities."""
    from scipy.stats import binom

    keep = 1 / (1 + math.exp(-epsilon))
    reach = _TAIL * math.sqrt(uses * keep * (1 - keep)) + 60
    kept = np.arange(
        max(0, math.floor(uses * keep - reach)), min(uses, math.ceil(uses * keep + reach)) + 1
    )
    return np.asarray((2.0 * kept - uses) * epsilon), np.asarray(binom.pmf(kept, uses, keep))


def _compute_delta(
    epsilon: float, losses: NDArray[np.float64], probabilities: NDArray[np.float64]
) -> float:
    above = losses > epsilon
    return float(np.sum(probabilities[above] * -np.expm1(epsilon - losses[above]))) * _SAFE


def _compute_deltas(
    grid: NDArray[np.float64], losses: NDArray[np.float64], probabilities: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Delta at each epsilon of an increasing grid (the hockey-stick divergence)."""
    with np.errstate(divide="ignore"):
        here, there = np.log(probabilities), np.log(probabilities) - losses
    first = np.searchsorted(losses, grid, side="right")
    more, other = (
        np.append(np.logaddexp.accumulate(side[::-1])[::-1], -1e9)[first] for side in (here, there)
    )
    return np.asarray(np.exp(more) * -np.expm1(np.minimum(0.0, grid + other - more)) * _SAFE)
