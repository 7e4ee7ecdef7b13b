"""A range cut into 2, 4, 8, … equal channels: one level per doubling. A value is sent as a channel and read as its middle.

Lower bounds belong to their channel; values outside the range are moved to its ends. Level 0 is the whole range as one
channel, which says nothing about a value. Channels are at most half their width away from what they stand for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.rows import Vector

Channels = NDArray[np.uint32]
Levels = NDArray[np.uint8]
"""The level each coordinate is sent at."""


@dataclass(frozen=True)
class Quantiser:
    """The range from `low` to `high`, at levels up to `levels`."""

    low: float
    high: float
    levels: int

    @staticmethod
    def enlarged(x_min: float, x_max: float, enlargement: float, levels: int) -> Quantiser:
        """Return the quantiser of a range made longer on both sides, by its largest absolute value over `enlargement`."""
        margin = max(-x_min, x_max) / enlargement
        return Quantiser(x_min - margin, x_max + margin, levels)

    def width(self, level: Any) -> Any:
        """Return the width of a channel at a level, or of each at some levels."""
        return np.ldexp(self.high - self.low, -np.asarray(level, np.int64))

    def clamped(self, values: Vector) -> Vector:
        """Return the values moved into the range; NaN counts as no change."""
        return np.clip(np.nan_to_num(values, nan=0.0, posinf=self.high, neginf=self.low), self.low, self.high).astype(np.float32)

    def channels(self, values: Vector, level: Levels) -> Channels:
        """Return the channel of each value at its level."""
        inside = np.floor((self.clamped(values).astype(np.float64) - self.low) / self.width(level))
        return np.asarray(np.clip(inside, 0, np.ldexp(1.0, level.astype(np.int64)) - 1), np.uint32)

    def middles(self, channels: Channels, level: Levels) -> NDArray[np.float64]:
        """Return the mid-points of channels at their levels."""
        return np.asarray(self.low + (channels + 0.5) * self.width(level))

    def node(self, level: int, channel: int) -> str:
        """Return the string that names a channel, as the published prototype writes it (two spaces)."""
        width = float(self.width(level))
        return f"{level}[{self.low + channel * width}  {self.low + (channel + 1) * width}]"
