"""What a Rényi curve costs at delta: for totals, and for mechanisms that look for as little noise as keeps a stated loss.

Source: Canonne, Kamath and Steinke 2020, proposition 12, with t = order - 1:
epsilon = D + ln(t/(1+t)) - (ln delta + ln(1+t)) / t, at the best order.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

ORDERS: tuple[float, ...] = tuple(1 + 10 ** (place / 50) for place in range(-24, 172, 2))
"""Orders of a curve from which epsilons from 0.02 to 50 can be read: close enough together that little is lost between them."""


def epsilon_at(delta: float, values: Sequence[float], uses: int = 1) -> float:
    """Return the smallest epsilon that divergences at `ORDERS`, each so many times, prove at `delta`, rounded up.

    >>> round(epsilon_at(1e-5, [order / (2 * 4**2) for order in ORDERS]), 2)
    1.01
    """
    return at_best_order(delta, ((order - 1, uses * value) for order, value in zip(ORDERS, values, strict=True)))


def at_best_order(delta: float, losses: Iterable[tuple[float, float]]) -> float:
    """Return the smallest epsilon that divergences prove at `delta`, rounded up; each comes with its order less 1."""
    chance, best = math.log(delta), math.inf
    for t, loss in losses:
        best = min(best, loss + math.log(t) - math.log1p(t) - (chance + math.log1p(t)) / t)
    return max(0.0, best * (1 + 2**-40))
