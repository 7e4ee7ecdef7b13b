"""Answers to queries: figures with confidence intervals."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import Any


@dataclass(frozen=True, kw_only=True)
class NoisyFigure:
    """One number that a query asked for, and the interval that contains the number without noise with the
    stated probability. Without a value the noise was too large for one.
    """

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, kw_only=True)
class NoisyAnswer:
    """The figures of one query. `noise` is the standard deviation of the noise on a count of it, in
    rows or people; `note` says what the figures leave out.
    """

    name: str
    query: str
    kind: str
    figures: tuple[NoisyFigure, ...]
    noise: float
    confidence: float
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        """The answer as plain JSON values."""
        return {**asdict(self), "figures": [asdict(figure) for figure in self.figures]}


@dataclass(frozen=True, kw_only=True)
class Noise:
    """The noise on each coordinate of a block of one round's sum, for contributions of norm 1: its
    standard deviation, and the confidence of intervals.
    """

    stddev: float
    confidence: float

    @property
    def deviations(self) -> float:
        """Half the width of an interval in standard deviations."""
        return NormalDist().inv_cdf((1 + self.confidence) / 2)

    def over(self, rounds: int) -> Noise:
        """The noise on the mean over some rounds."""
        return Noise(stddev=self.stddev / math.sqrt(rounds), confidence=self.confidence)

    def build_figure(self, label: str, value: float, scale: float) -> NoisyFigure:
        """A figure whose noise is `scale` times that of a coordinate."""
        half = self.deviations * self.stddev * scale
        return NoisyFigure(label=label, value=value, low=value - half, high=value + half)
