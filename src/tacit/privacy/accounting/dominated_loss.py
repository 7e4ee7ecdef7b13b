"""Privacy loss of mechanisms that reveal no more than Gaussian noise does, up to small exceptional
probabilities.

The output of a mechanism that a Gaussian mechanism dominates at every epsilon can be computed from
the Gaussian one (Blackwell 1951), also if later inputs depend on earlier outputs. So its uses
compose like Gaussian noise: squared shifts add up exactly.

Source: Dong, Roth and Su 2022, *Gaussian Differential Privacy*.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tacit.privacy.accounting import gaussian_loss
from tacit.privacy.claim import GaussianDominated

RATES: tuple[float, ...] = tuple(10 ** (place / 4) for place in range(37))
"""Rates λ at which claims bound how far squared shifts exceed their sum."""
SHARE = 1 / 512
"""Fraction of delta reserved for exceptional squared shifts, and again for the distance to the
analysed distribution.
"""


def compute_multiplier(uses: Sequence[tuple[GaussianDominated, int]], failing: float) -> float:
    """Noise multiplier of one Gaussian release that dominates all these uses, except with
    probability `failing`.
    """
    squares = math.fsum(count / event.noise_multiplier**2 for event, count in uses)
    varying = [
        (dict(zip(event.rates, event.excess, strict=True)), count)
        for event, count in uses
        if event.rates
    ]
    if varying:
        common = set.intersection(*(set(known) for known, _ in varying))
        squares += min(
            (
                (math.fsum(count * known[rate] for known, count in varying) - math.log(failing))
                / rate
                for rate in common
            ),
            default=math.inf,
        )
    return 1 / math.sqrt(squares) if math.isfinite(squares) else 0.0


def sum_distances(uses: Sequence[tuple[GaussianDominated, int]]) -> float:
    """Total variation distance between the sampled distributions of all uses and the analysed ones."""
    return math.fsum(count * event.distance for event, count in uses)


def covers_distance(epsilon: float, delta: float, away: float) -> bool:
    """Whether the reserved fraction of `delta` covers a total variation distance of `away`, under
    both neighbouring inputs.
    """
    return epsilon < 700 and away * (1 + math.exp(epsilon)) <= SHARE * delta


def compute_epsilon(delta: float, event: GaussianDominated, count: int = 1) -> float:
    """Epsilon of `count` uses at `delta`, rounded up; infinite if there is none.

    >>> round(compute_epsilon(1e-5, GaussianDominated(4.0)), 3)
    0.927
    """
    uses = [(event, count)]
    noise = compute_multiplier(uses, SHARE * delta)
    if not noise:
        return math.inf
    found = gaussian_loss.compute_epsilon((1 - 2 * SHARE) * delta, noise)
    return found if covers_distance(found, delta, sum_distances(uses)) else math.inf
