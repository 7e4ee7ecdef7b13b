"""Figures as papers print them."""

from __future__ import annotations

from tacit.papers.estimate import Estimate


def number(value: float | None) -> str:
    """Return a figure as papers print it."""
    if value is None:
        return "–"
    if value == int(value) and abs(value) >= 10:
        return f"{value:,.0f}"
    text = f"{value:.3f}"
    return text.replace("0.", ".", 1) if 0 < abs(value) < 1 else text


def with_interval(ours: Estimate) -> str:
    """Return a mean with half the width of its interval, where there is one."""
    ends = ours.interval
    return number(ours.mean) if ends is None else f"{number(ours.mean)} ± {number((ends[1] - ends[0]) / 2)}"
