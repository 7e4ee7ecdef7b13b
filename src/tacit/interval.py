"""Confidence interval of a mean over seeds."""

from __future__ import annotations

from statistics import fmean, stdev

CONFIDENCE = 0.95


def confidence_interval(values: list[float]) -> tuple[float, float] | None:
    """95 % confidence interval of the mean by Student's t; None for fewer than two values."""
    from scipy.stats import t

    if len(values) < 2:
        return None
    half = float(t.ppf((1 + CONFIDENCE) / 2, len(values) - 1)) * stdev(values) / len(values) ** 0.5
    return fmean(values) - half, fmean(values) + half
