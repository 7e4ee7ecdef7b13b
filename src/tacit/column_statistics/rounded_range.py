"""Ends of a range rounded outward, so that they are nobody's own value."""

from __future__ import annotations

import math

_STEPS = 10
"""Ends of a range are rounded outward to steps of at least a tenth of it."""


def round_outward(low: float, high: float) -> tuple[float, float]:
    """Round the ends of a range outward to steps of 1, 2 or 5 times a power of ten.

    >>> round_outward(18.0, 97.0)
    (10.0, 100.0)
    """
    step = _find_step(low, high)
    return (math.floor(low / step) * step, math.ceil(high / step) * step) if step else (0.0, 0.0)


def _find_step(low: float, high: float) -> float:
    """1, 2 or 5 times a power of ten, at least a tenth of the range; of the number itself if there
    is only one.
    """
    least = (high / _STEPS - low / _STEPS) or max(abs(low), abs(high)) / _STEPS
    if not least:
        return 0.0
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * times for times in (1, 2, 5, 10) if power * times >= least)
