"""Format numbers as papers print them."""

from __future__ import annotations

from tacit_papers.estimate import Estimate


def format_number(value: float | None) -> str:
    """Format a number as papers print it."""
    if value is None:
        return "–"
    if value == int(value) and abs(value) >= 10:
        return f"{value:,.0f}"
    text = f"{value:.3f}"
    return text.replace("0.", ".", 1) if 0 < abs(value) < 1 else text


def format_estimate(ours: Estimate) -> str:
    """Format a mean with half the width of its interval, if it has one."""
    ends = ours.interval
    return (
        format_number(ours.mean)
        if ends is None
        else f"{format_number(ours.mean)} ± {format_number((ends[1] - ends[0]) / 2)}"
    )
