"""What different events cost together, from the distribution of their losses: as tight as
dp-accounting knows how to compose.

Uses of one event are taken together: Gaussian noise by its closed form, equal pure losses by
binomial chances, noise on a sample by dp-accounting. A mechanism with a pure epsilon costs at most
what randomised response of that epsilon costs (Kairouz, Oh and Viswanath 2015), so bits stand for
all of them. What is put on a grid is rounded to the safe side: it lies above the true cost at every
epsilon (*Connect the Dots*, Doroshenko et al. 2022).
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
"""Single uses of events, and how often each takes place."""

_TAIL = 12.0
"""Bits are counted within so many standard deviations; the rest has a chance far below what is
added for rounding.
"""
_SAFE = 1 + 1e-7
"""More than floating point can take off a delta that is a sum of binomial chances."""
_STEPS, _LARGEST = 300, 1 << 18
"""Points of the grid: to the epsilon of each event, and at most."""


def compose_randomised_responses(epsilon: float, uses: int, delta: float) -> float:
    """Return the smallest epsilon at `delta` of so many randomised responses of one epsilon,
    rounded up: a closed form.

    Source: the loss is (2k - uses) epsilon if k of them tell the truth, which is binomial.
    """
    losses, chances = _list_losses(epsilon, uses)
    low, high = 0.0, uses * epsilon
    if _compute_delta(low, losses, chances) <= delta:
        return 0.0
    while low < (middle := (low + high) / 2) < high:
        low, high = (
            (low, middle) if _compute_delta(middle, losses, chances) <= delta else (middle, high)
        )
    return high * (1 + 2**-45)  # differences of epsilon and losses have lost a few digits


def compose_epsilon(uses: Uses, delta: float) -> float:
    """Return an epsilon that all uses together keep at `delta`; infinite if one of them has no
    known distribution.
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
    """Return uses with equal events taken together, all Gaussian noise as one use; None if an event
    has no distribution.
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
            raise TypeError(f"the ledger knows no cost of {event}")
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
    """Return a step of the grid that is fine for uses of one event."""
    if isinstance(event, Sampled) and isinstance(event.event, GaussianNoise):
        return sampled_loss.choose_step(event.event.noise_multiplier, event.rate, count)
    if isinstance(event, Approximate):
        return compose_randomised_responses(event.epsilon, count, delta) / _STEPS or 1.0
    return _compose_alone(event, count, delta) / _STEPS or 1.0


def _measure_width(event: Event, count: int) -> float:
    """Return how widely the loss of uses of one event is spread on the grid; that of noise never
    sets its size.
    """
    if not isinstance(event, Pure | Approximate):
        return 0.0
    losses, _ = _list_losses(event.epsilon, count)
    return float(losses[-1] - losses[0])


@lru_cache(maxsize=16)
def _build_distribution(event: Event, count: int, step: float) -> Any:
    """Return dp-accounting's distribution of the loss of all uses of one event."""
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
    losses: NDArray[np.float64], chances: NDArray[np.float64], step: float, failing: float
) -> Any:
    """Return dp-accounting's distribution of rising losses with these chances, by its exact cost at
    every point of a grid.

    The other side's chances follow: those of a loss l are e^-l times as large. `failing` is the
    chance of everything else.
    """
    from dp_accounting.pld import pld_pmf
    from dp_accounting.pld import privacy_loss_distribution as pld

    lowest, highest = math.floor(losses[0] / step), math.ceil(losses[-1] / step)
    grid = np.arange(lowest, highest + 1) * step
    deltas = np.clip(failing + (1 - failing) * _compute_deltas(grid, losses, chances), 0.0, 1.0)
    return pld.PrivacyLossDistribution(
        pld_pmf.create_pmf_pessimistic_connect_dots_fixed_gap(step, lowest, highest, deltas)
    )


def _list_losses(epsilon: float, uses: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the possible losses of randomised responses, rising, and their chances."""
    from scipy.stats import binom

    keep = 1 / (1 + math.exp(-epsilon))
    reach = _TAIL * math.sqrt(uses * keep * (1 - keep)) + 60
    kept = np.arange(
        max(0, math.floor(uses * keep - reach)), min(uses, math.ceil(uses * keep + reach)) + 1
    )
    return np.asarray((2.0 * kept - uses) * epsilon), np.asarray(binom.pmf(kept, uses, keep))


def _compute_delta(
    epsilon: float, losses: NDArray[np.float64], chances: NDArray[np.float64]
) -> float:
    above = losses > epsilon
    return float(np.sum(chances[above] * -np.expm1(epsilon - losses[above]))) * _SAFE


def _compute_deltas(
    grid: NDArray[np.float64], losses: NDArray[np.float64], chances: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the delta of a loss at each epsilon of a rising grid: the chance of more, less
    e^epsilon that of the other side.
    """
    with np.errstate(divide="ignore"):
        here, there = np.log(chances), np.log(chances) - losses
    first = np.searchsorted(losses, grid, side="right")
    more, other = (
        np.append(np.logaddexp.accumulate(side[::-1])[::-1], -1e9)[first] for side in (here, there)
    )
    return np.asarray(np.exp(more) * -np.expm1(np.minimum(0.0, grid + other - more)) * _SAFE)
