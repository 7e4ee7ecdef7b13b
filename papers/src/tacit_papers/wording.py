"""Format numbers as papers print them."""

from __future__ import annotations

import math

from tacit_papers.estimate import Difference, Estimate

_SMALLEST, _MOST_PLACES = 0.0005, 8


def format_number(value: float | None) -> str:
    """Format a number as papers print it; one that would round to zero keeps two digits."""
    if value is None:
        return "–"
    if not value:
        return "0"
    if value == int(value) and abs(value) >= 10:
        return f"{value:,.0f}"
    places = 3 if abs(value) >= _SMALLEST else 1 - math.floor(math.log10(abs(value)))
    text = f"{value:.{places}f}" if places <= _MOST_PLACES else "0"
    return text.replace("0.", ".", 1) if 0 < abs(value) < 1 else text


def format_estimate(ours: Estimate) -> str:
    """Format a mean with half the width of its interval, if it has one."""
    ends = ours.interval
    return (
        format_number(ours.mean)
        if ends is None
        else f"{format_number(ours.mean)} ± {format_number((ends[1] - ends[0]) / 2)}"
    )


def format_difference(one: Difference) -> str:
    """Format a difference with its sign, its interval, and whether seeds are paired."""
    half = (one.ends[1] - one.ends[0]) / 2
    sign = "+" if one.mean > 0 else ""
    way = "" if one.is_paired or not half else ", unpaired"
    return f"difference {sign}{format_number(one.mean)} ± {format_number(half)}{way}"
