"""How large a lower bound on epsilon must come out of an audit, if the two probabilities of its event are known.

By this an audit is checked from both sides. It may not find more than is claimed, and it must find what it can find: an audit
that is blind would find nothing wrong with anything.
"""

from __future__ import annotations

import math

from scipy.stats import beta, binom

CONFIDENCE = 1 - 1e-6
"""That of `lower_bound`: a sound mechanism is called unsound with a probability of at most 1e-6."""
MISS = 5e-7
"""The probability with which an audit finds less than `least_bound`, although nothing is wrong."""


def least_bound(
    likely: float, unlikely: float, trials: int, *, delta: float = 0.0, events: int = 2
) -> float:
    """Return what `lower_bound` finds at least, except with probability `MISS`.

    An event has the probabilities `likely` and `unlikely` on the two sides, with `trials` draws on each; `events` is how many
    different outputs there are. The counts are taken at their quantiles, half of `MISS` on each side.
    """
    risk = (1 - CONFIDENCE) / (4 * events)
    often, rarely = (
        int(binom.ppf(MISS / 2, trials, likely)),
        int(binom.isf(MISS / 2, trials, unlikely)),
    )
    low = beta.ppf(risk, often, trials - often + 1) if often else 0.0
    high = beta.ppf(1 - risk, rarely + 1, trials - rarely)
    return math.log((low - delta) / high) if low > delta else 0.0
