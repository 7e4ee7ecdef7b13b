"""Quantise a range into 2, 4, 8, … equal channels, one level per doubling; a value is decoded as
its channel's mid-point.

Lower bounds belong to their channel; values outside the range go to its outermost channels. Level 0
is one channel, which carries no information. Inside the range the error is at most half a channel's
width.

Published channels divide the range: 2^l at level l, one of which begins at 0 if the range is
symmetric. Centred channels have their mid-points at integer multiples of their width, one of them
at 0, so that a zero update is decoded as exactly zero at every level; the outermost may exceed the
range.
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
Bounds = float | NDArray[np.float64]


@dataclass(frozen=True)
class Quantiser:
    """The range from `low` to `high`, at levels up to `levels`; centred channels require 0 in the
    range.

    Bounds are scalars, or one per coordinate.
    """

    low: Bounds
    high: Bounds
    levels: int
    centred: bool = False

    @staticmethod
    def enlarged(
        x_min: Bounds, x_max: Bounds, enlargement: float, levels: int, centred: bool = False
    ) -> Quantiser:
        """Build the quantiser of a range extended on both sides by its largest absolute value over
        `enlargement`.
        """
        margin = np.maximum(np.negative(x_min), x_max) / enlargement
        return Quantiser(x_min - margin, x_max + margin, levels, centred)

    def at(self, here: slice) -> Quantiser:
        """The quantiser of some coordinates."""
        if isinstance(self.low, float) or np.ndim(self.low) == 0:
            return self
        return Quantiser(self.low[here], self.high[here], self.levels, self.centred)  # type: ignore[index]

    def width(self, level: Any) -> Any:
        """The width of a channel at a level, or of each at some levels."""
        if not self.centred:
            return np.ldexp(np.subtract(self.high, self.low), -np.asarray(level, np.int64))
        return (self.high - self.low) / np.maximum(_last(level), 1)

    def clamped(self, values: Vector) -> Vector:
        """Clamp values to the range; NaN counts as 0."""
        return np.clip(
            np.where(np.isnan(values), np.float32(0), values), self.low, self.high
        ).astype(np.float32)

    def channels(self, values: Vector, level: Levels) -> Channels:
        """Find the channel of each value at its level."""
        known = np.where(np.isnan(values), 0.0, values.astype(np.float64))
        return np.asarray(
            np.clip(np.floor((known - self._begin(level)) / self.width(level)), 0, _last(level)),
            np.uint32,
        )

    def middles(self, channels: Channels, level: Levels) -> NDArray[np.float64]:
        """The mid-points of channels at their levels."""
        if self.centred:  # from integers, so that the midpoint at 0 is exactly 0
            return np.asarray((channels + self._first(level)) * self.width(level))
        return np.asarray(self.low + (channels + 0.5) * self.width(level))

    def node(self, level: int, channel: int) -> str:
        """The string that names a channel, as in the published prototype (two spaces)."""
        begin, width = float(self._begin(level)), float(self.width(level))
        return f"{level}[{begin + channel * width}  {begin + (channel + 1) * width}]"

    def _first(self, level: Any) -> Any:
        """The multiple of the width that is the mid-point of the lowest centred channel: 0 at level
        0.

        There is one more channel than widths in the range, so all of it is covered wherever 0 lies.
        """
        return np.floor(0.5 + _last(level) * (self.low / (self.high - self.low)))

    def _begin(self, level: Any) -> Any:
        return (self._first(level) - 0.5) * self.width(level) if self.centred else self.low


def _last(level: Any) -> Any:
    return np.ldexp(1.0, np.asarray(level, np.int64)) - 1
