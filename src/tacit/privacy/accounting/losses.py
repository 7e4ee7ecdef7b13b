"""Privacy loss of an event: its pure epsilon, or its Rényi divergence at every order.

Randomised response of the same epsilon dominates any pure mechanism (Kairouz, Oh and Viswanath
2015, theorem 3.4), so one curve serves all of them. Floating-point results are rounded up.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from tacit.errors import BudgetError
from tacit.privacy.accounting import dominated_loss
from tacit.privacy.claim import (
    Approximate,
    Claim,
    Disclosed,
    Event,
    Free,
    GaussianDominated,
    GaussianNoise,
    Open,
    Pure,
    RenyiCurve,
    Repeated,
    Sampled,
    Unproven,
)

Curve = tuple[float, ...]
"""Rényi divergence at each order."""

ABOVE_ONE: Curve = tuple(10 ** (place / 50) for place in range(-400, 301))
"""Orders, minus 1, at which divergences are added up. They are close together, since each total
uses its best order.
"""
_SAMPLED: Curve = (
    *(place / 10 for place in range(1, 100)),
    *(float(t) for t in range(10, 64)),
    127.0,
    255.0,
    511.0,
    1023.0,
)
"""Fewer orders, used if an event is subsampled: its curve is slow to compute."""


def refuse_unproven(claim: Claim) -> None:
    """Raise BudgetError if no bound is proved for a claim's event. Such an event is never added up,
    not even as infinite.
    """
    why = _find_missing_proof(claim.event, claim.relation)
    if why:
        raise BudgetError(
            f"{claim.mechanism}: no bound is proved ({why}), so nothing may be released;"
            " use a mechanism with a proved bound, or codec.name = 'plain' to release in the clear"
        )


def _find_missing_proof(event: Event, relation: str) -> str:
    if isinstance(event, Unproven):
        return "the mechanism has no proof of privacy"
    if isinstance(event, Sampled):
        if not isinstance(event.event, GaussianNoise):
            return "privacy amplification by subsampling is proved for Gaussian noise only"
        return (
            ""
            if relation.startswith("add or remove")
            else "privacy amplification by subsampling is proved for adding or removing only"
        )
    return _find_missing_proof(event.event, relation) if isinstance(event, Repeated) else ""


def is_unprotected(event: Event) -> bool:
    """Whether an event has no epsilon because what it releases is not protected at all."""
    return (
        is_unprotected(event.event)
        if isinstance(event, Repeated | Sampled)
        else isinstance(event, Open | Disclosed)
    )


def unwrap(event: Event) -> Event:
    """The single use that a repeated event consists of."""
    return unwrap(event.event) if isinstance(event, Repeated) else event


def compute_pure_epsilon(event: Event) -> Fraction | float:
    """Pure epsilon of an event, exactly; infinite if it has none."""
    if isinstance(event, Free):
        return Fraction(0)
    if isinstance(event, Pure):
        return Fraction(event.epsilon)
    if isinstance(event, RenyiCurve):
        return math.inf if math.isinf(event.most) else Fraction(event.most)
    if isinstance(event, Repeated):
        uses = compute_pure_epsilon(event.event)
        every = uses * event.count if isinstance(uses, Fraction) else math.inf
        return Fraction(event.most) if event.most < every else every
    return math.inf


def compute_approximate(event: Event) -> tuple[Fraction, Fraction]:
    """Epsilon and delta that an (epsilon, delta) event adds under basic composition; zero for other
    events.
    """
    if isinstance(event, Approximate):
        return Fraction(event.epsilon), Fraction(event.delta)
    if isinstance(event, Repeated):
        epsilon, delta = compute_approximate(event.event)
        return event.count * epsilon, event.count * delta
    return Fraction(0), Fraction(0)


class DominationReplaced(NamedTuple):
    """Events in which Gaussian noise replaces what it dominates, the delta left for them, and a
    total variation distance that delta must cover.
    """

    charged: tuple[tuple[Event, int], ...]
    delta: float
    distance: float


def replace_dominated(
    charged: Sequence[tuple[Event, int]], delta: float
) -> DominationReplaced | None:
    """Replace all events that Gaussian noise dominates by one Gaussian release; None if none
    dominates them all at `delta`.
    """
    uses = [(unwrap(event), times * _count_uses(event)) for event, times in charged]
    dominated = [(event, count) for event, count in uses if isinstance(event, GaussianDominated)]
    if not dominated:
        return DominationReplaced(tuple(charged), delta, 0.0)
    noise = dominated_loss.compute_multiplier(dominated, dominated_loss.SHARE * delta)
    if not noise:
        return None
    others = [one for one in charged if not isinstance(unwrap(one[0]), GaussianDominated)]
    left = (1 - 2 * dominated_loss.SHARE) * delta
    return DominationReplaced(
        (*others, (GaussianNoise(noise), 1)), left, dominated_loss.sum_distances(dominated)
    )


def merge_gaussians(charged: Sequence[tuple[Event, int]]) -> float | None:
    """Noise multiplier of the one release that is equivalent to all of these; None unless all are
    Gaussian noise.

    Free events, and those counted by `compute_approximate`, are left out.
    """
    uses = [(unwrap(event), times * _count_uses(event)) for event, times in charged]
    squares = [
        times / event.noise_multiplier**2
        for event, times in uses
        if isinstance(event, GaussianNoise)
    ]
    others = [
        event for event, _ in uses if not isinstance(event, GaussianNoise | Approximate | Free)
    ]
    return 1 / math.sqrt(math.fsum(squares)) if squares and not others else None


def _count_uses(event: Event) -> int:
    return event.count * _count_uses(event.event) if isinstance(event, Repeated) else 1


def list_single_uses(event: Event, times: int, delta: float) -> list[tuple[Event, int]]:
    """Split an event that was charged `times` times into single uses; a known bound on all of them
    counts as one use.

    Where uses are bounded both one by one and together, the bound that is smaller at `delta` is
    taken: both hold.
    """
    from tacit.privacy.accounting.distribution import (
        compose_epsilon,  # numpy is heavy to load, and `tacit --help` should not wait for it
    )

    most = getattr(event, "most", math.inf)
    whole = [(Pure(most), times)] if math.isfinite(most) else []
    if isinstance(event, RenyiCurve):
        return [*whole] or [(event, times)]
    if not isinstance(event, Repeated):
        return [(event, times)]
    apart = list_single_uses(event.event, times * event.count, delta)
    if whole and compose_epsilon(whole, delta) <= compose_epsilon(apart, delta):
        return [*whole]
    return apart


def compute_renyi_epsilon(charged: Sequence[tuple[Event, int]], delta: float) -> float:
    """Smallest epsilon at `delta` that a sum of Rényi divergences proves, rounded up."""
    orders = _choose_orders(tuple(event for event, _ in charged))
    curves = [(compute_renyi_curve(event, orders), times) for event, times in charged]
    losses = (
        math.fsum(times * curve[place] for curve, times in curves) for place in range(len(orders))
    )
    return _minimise_over_orders(delta, zip(orders, losses, strict=True))


def _minimise_over_orders(delta: float, losses: Iterable[tuple[float, float]]) -> float:
    """Epsilon at `delta` from Rényi divergences, each with its order minus 1, at the best order;
    rounded up.

    Source: Canonne, Kamath and Steinke 2020, proposition 12. With t = order - 1: D + ln(t/(1+t)) -
    (ln delta + ln(1+t)) / t.
    """
    log_delta, best = math.log(delta), math.inf
    for t, loss in losses:
        best = min(best, loss + math.log(t) - math.log1p(t) - (log_delta + math.log1p(t)) / t)
    return max(0.0, best * (1 + 2**-40))


def _choose_orders(events: tuple[Event, ...]) -> Curve:
    """Orders, minus 1, at which events are added up: the orders of their own curves, and a fixed
    grid.
    """
    own = {
        order - 1
        for event in events
        if isinstance(curve := unwrap(event), RenyiCurve)
        for order in curve.orders
    }
    few = any(isinstance(unwrap(event), Sampled) for event in events)
    return tuple(sorted(own.union(_SAMPLED if few else ABOVE_ONE)))


@lru_cache(maxsize=64)
def compute_renyi_curve(event: Event, orders: Curve) -> Curve:
    """Rényi divergence of an event at each order, given minus 1; 0 for what `compute_approximate`
    counts.
    """
    if isinstance(event, Free | Approximate):
        return (0.0,) * len(orders)
    if isinstance(event, Pure):
        return _compute_randomised_response(event.epsilon, orders)
    if isinstance(event, GaussianNoise):
        return tuple((1 + t) / (2 * event.noise_multiplier**2) for t in orders)
    if isinstance(event, RenyiCurve):
        return _cap_curve(_extend_curve(event.orders, event.values, orders), event.most, orders)
    if isinstance(event, Repeated):
        return _cap_curve(
            tuple(event.count * loss for loss in compute_renyi_curve(event.event, orders)),
            event.most,
            orders,
        )
    if isinstance(event, Sampled) and isinstance(event.event, GaussianNoise):
        return _compute_sampled_gaussian(event.event.noise_multiplier, event.rate, orders)
    raise TypeError(f"no Rényi divergence is known for {event}")


def _cap_curve(curve: Curve, epsilon: float, orders: Curve) -> Curve:
    """Lower a curve to that of a pure epsilon, where that is smaller."""
    return (
        curve
        if math.isinf(epsilon)
        else tuple(map(min, curve, _compute_randomised_response(epsilon, orders)))
    )


def _compute_randomised_response(epsilon: float, orders: Curve) -> Curve:
    """Rényi divergence of binary randomised response, the largest of any mechanism with this pure
    epsilon.

    With t = order - 1 and x = t epsilon it is ln(1 + 2 sinh²(x/2) + tanh(epsilon/2) sinh(x)) / t: a
    sum of positive terms, so no digits cancel where t or epsilon is tiny. For large x, sinh would
    overflow and e^-2x is negligible.
    """
    tilt, kept = math.tanh(epsilon / 2), math.log1p(math.exp(-epsilon))

    def at(t: float) -> float:
        x = t * epsilon
        return (
            math.log1p(2 * math.sinh(x / 2) ** 2 + tilt * math.sinh(x))
            if x < 30
            else x - kept + math.exp(-60)
        ) / t

    return tuple(map(at, orders))


def _extend_curve(known: Sequence[float], values: Sequence[float], orders: Curve) -> Curve:
    """Evaluate a curve at our orders. Divergences never decrease with the order, so the value at
    the next larger known order is a bound.
    """
    less_one, found = [order - 1 for order in known], [*values, math.inf]
    return tuple(found[bisect_left(less_one, t)] for t in orders)


def _compute_sampled_gaussian(noise_multiplier: float, rate: float, orders: Curve) -> Curve:
    """Compute dp-accounting's curve of Gaussian noise on a Poisson subsample; where it has no
    value, that of the next larger order.
    """
    import dp_accounting
    from dp_accounting.rdp import RdpAccountant

    accountant = RdpAccountant(
        [1 + t for t in orders], dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE
    )
    accountant.compose(
        dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(noise_multiplier))
    )
    falling = accumulate(reversed([float(value) for value in accountant.rdp]), min)
    return tuple(falling)[::-1]


def round_up(value: Fraction | float) -> float:
    """Smallest float that is not below an exact value."""
    near = float(value)
    return (
        near
        if not isinstance(value, Fraction) or Fraction(near) >= value
        else math.nextafter(near, math.inf)
    )
