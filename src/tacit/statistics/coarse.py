"""The range of a column that nobody stated: counts of powers of two in the first round, the query
over the range they give in the second.

A row counts in its octave, such as 64 to 128, and in the quarter of the octave. An octave counts as
occupied if its sum exceeds four standard deviations of the noise, so an empty one passes with a
probability of 3e-5. Magnitudes below 2^-14 count as zero, those above 2^34 as the largest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.plan.tables.statistics.query import TAIL, Range
from tacit.statistics.answer import Noise, NoisyFigure
from tacit.statistics.block import Entries, QueryBlock, Result, Sums, build_entries, join_entries
from tacit.statistics.cells import Batch

_LEAST, _MOST, _PARTS = -14, 34, 4
_OCTAVES = _MOST - _LEAST
_CENTRE = _OCTAVES  # the place of zero among 2 · _OCTAVES + 1 octaves
_QUARTERS = _OCTAVES * _PARTS
_WIDTH = 2 * _OCTAVES + 1
COARSE_SIZE = _WIDTH + 2 * _QUARTERS + 1
_OCCUPIED, _OCCUPIED_PART = 4.0, 3.0


@dataclass(frozen=True)
class BoughtRangeBlock(QueryBlock):
    """A query over ranges of columns that the first round finds; `build` makes its block for given
    ranges, `stated` are the ranges that the query itself states.
    """

    columns: tuple[str, ...]
    stated: tuple[Range | None, ...]
    build: Callable[[tuple[Range, ...]], QueryBlock]
    rows_each: int

    @property
    def size(self) -> int:  # type: ignore[override]
        """The larger of both rounds."""
        inner = self.build(tuple(Range(low=0, high=1) for _ in self.columns))
        return max(COARSE_SIZE * self._bought, inner.size)

    @property
    def _bought(self) -> int:
        return sum(one is None for one in self.stated)

    def contribute(self, batch: Batch, before: Sums | None, noise: Noise) -> Entries:
        """First where each number lies, then what the query over the found range asks."""
        if before is not None:
            ranges = self.find_ranges(before, noise)
            return _NOTHING if ranges is None else self.build(ranges).contribute(batch, None, noise)
        parts, lacking = (
            [],
            [column for column, one in zip(self.columns, self.stated, strict=True) if one is None],
        )
        for number, column in enumerate(lacking):
            found = locate(batch, column, math.sqrt(len(lacking)) * self.rows_each)
            parts.append(found._replace(place=found.place + number * COARSE_SIZE))
        return join_entries(parts)

    def find_ranges(self, before: Sums, noise: Noise) -> tuple[Range, ...] | None:
        """The range of each column; None if the noise hides one."""
        found, number = list[Range](), 0
        for one in self.stated:
            if one is None:
                part = before[number * COARSE_SIZE : (number + 1) * COARSE_SIZE]
                one, number = find_range(part, noise.stddev), number + 1
            if one is None:
                return None
            found.append(one)
        return tuple(found)

    def answer(self, sums: Sequence[Sums], noise: Noise) -> Result:
        """The answer over the found ranges, from the second round."""
        ranges = self.find_ranges(sums[0], noise)
        if ranges is None:
            none = NoisyFigure(label="not found", value=None)
            why = "the noise hides the range of the column; state it, or raise epsilon"
            return Result((none,), math.sqrt(2) * self.rows_each, why)
        inner = self.build(ranges)
        return inner.answer([sums[1][: inner.size]], noise)


_NOTHING = build_entries(np.zeros(0, np.int64), np.zeros(0, np.int64), 0.0)


def locate(batch: Batch, column: str, scale: float) -> Entries:
    """One at the octave and one at the quarter of each number, divided by √2 · `scale`."""
    values = batch.numbers(column)
    known = ~np.isnan(values)
    octaves, quarters = find_octaves(values[known])
    owner, part = batch.owner[known], 1 / (math.sqrt(2) * scale)
    return join_entries(
        [
            build_entries(owner, octaves, part),
            build_entries(owner, _WIDTH + quarters, part),
        ]
    )


def find_octaves(values: Sums) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The octave and the quarter of an octave of each number, in the order of the numbers."""
    size = np.abs(values)
    fraction, exponent = np.frexp(np.clip(size, 2.0**_LEAST, 2.0**_MOST * (1 - 2**-50)))
    octave = exponent.astype(np.int64) - 1 - _LEAST
    quarter = _PARTS * octave + np.floor((2 * fraction - 1) * _PARTS).astype(np.int64)
    sign = np.where(size < 2.0**_LEAST, 0, np.sign(values)).astype(np.int64)
    return _CENTRE + sign * (octave + 1), _QUARTERS + sign * (quarter + 1)


def find_range(sums: Sums, stddev: float) -> Range | None:
    """The range from the 1st to the 99th percentile of the occupied octaves, outward to quarters;
    None if no octave is occupied.
    """
    octaves, quarters = sums[:_WIDTH], sums[_WIDTH:]
    counts = np.where(octaves > _OCCUPIED * stddev, octaves, 0.0)
    if not counts.any():
        return None
    below = np.cumsum(counts)
    first = int(np.argmax(below > TAIL * below[-1]))
    last = int(np.argmax(below >= (1 - TAIL) * below[-1]))
    parts = np.flatnonzero(quarters > _OCCUPIED_PART * stddev).tolist()
    low, high = (_bound_octave(place)[end] for end, place in enumerate((first, last)))
    lows = [_bound_quarter(part)[0] for part in parts if _contains(first, part)]
    highs = [_bound_quarter(part)[1] for part in parts if _contains(last, part)]
    low, high = min(lows, default=low), max(highs, default=high)
    return Range(low=low, high=high if high > low else low + 1.0)


def _contains(octave: int, quarter: int) -> bool:
    low, high = _bound_octave(octave)
    return low <= _bound_quarter(quarter)[0] and _bound_quarter(quarter)[1] <= high


def _bound_octave(place: int) -> tuple[float, float]:
    number = abs(place - _CENTRE) - 1
    return _bound(place - _CENTRE, 2.0 ** (_LEAST + number), 2.0 ** (_LEAST + number + 1))


def _bound_quarter(place: int) -> tuple[float, float]:
    octave, part = divmod(abs(place - _QUARTERS) - 1, _PARTS)
    base = 2.0 ** (_LEAST + octave)
    return _bound(place - _QUARTERS, base * (1 + part / _PARTS), base * (1 + (part + 1) / _PARTS))


def _bound(sign: int, inner: float, outer: float) -> tuple[float, float]:
    """The ends of a bin, given those of its absolute values."""
    if sign == 0:
        return 0.0, 0.0
    return (inner, outer) if sign > 0 else (-outer, -inner)
