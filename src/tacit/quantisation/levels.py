"""Choose the level each coordinate is sent at: the finest, or one drawn by random bits that clients
share and the server does not see.

L bits with P(1) = p are drawn for each coordinate. `last_head` takes the position of the last 1,
`subset` the number of ones. If all are 0 the level is 0: the coordinate carries no information and
is decoded as the middle of the range. Coarser levels are no differential privacy: two values on
both sides of a bound still differ.
"""

from __future__ import annotations

from typing import Literal, assert_never

import numpy as np

from tacit.errors import PlanError
from tacit.quantisation.quantiser import Levels
from tacit.randomness import Draws

Selection = Literal["finest", "last_head", "subset"]
_WORD = 1 << 32


def compute_mean_level(
    selection: Selection, levels: int, p: float, toss_again: bool = False
) -> float:
    """Compute the expected level; with `toss_again` the bits are redrawn until one is 1.

    >>> compute_mean_level("last_head", 9, 1.0)
    9.0
    """
    last = [
        p * (1 - p) ** after for after in range(levels)
    ]  # probability of this number of tails after the last head
    match selection:
        case "finest":
            return float(levels)
        case "subset":
            mean = levels * p
        case "last_head":
            mean = sum((levels - after) * chance for after, chance in enumerate(last))
        case _:
            assert_never(selection)
    return mean / sum(last) if toss_again else mean


def find_head_probability(
    selection: Selection, levels: int, mean: float, toss_again: bool = False
) -> float:
    """Find the p at which the expected level is `mean`, to 1e-12; raise PlanError if there is none.

    The expected level increases with p, so bisection finds it. Redrawing keeps it above a minimum
    for every p.
    """
    low, high = 1e-9, 1.0
    if (
        selection == "finest"
        or not compute_mean_level(selection, levels, low, toss_again) <= mean <= levels
    ):
        raise PlanError(
            f"mean_level = {mean:g} cannot be reached by selection {selection!r} with {levels}"
            " levels; change levels or mean_level"
        )
    while high - low > 1e-12:
        middle = (low + high) / 2
        low, high = (
            (middle, high)
            if compute_mean_level(selection, levels, middle, toss_again) < mean
            else (low, middle)
        )
    return (low + high) / 2


def draw_levels(selection: Selection, levels: int, p: float, dim: int, coins: Draws) -> Levels:
    """Draw the level of each of `dim` coordinates."""
    if selection == "finest":
        return np.full(dim, levels, np.uint8)
    found, words, stream = np.zeros(dim, np.uint8), np.empty(dim, np.uint32), coins.stream()
    for position in range(1, levels + 1):
        stream.fill(words)
        heads = words < p * _WORD
        match selection:
            case "last_head":
                found = np.where(heads, np.uint8(position), found)
            case "subset":
                found = found + heads.astype(np.uint8)
            case _:
                assert_never(selection)
    return found
