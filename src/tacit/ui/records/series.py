"""Points of a curve, thinned out as they become many, so that a curve of any length is small."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

Point = TypeVar("Point")
MAX_POINTS = 800


class Series(Generic[Point]):
    """Every k-th point of a sequence, and its last one; k doubles when there are too many.

    Guarantees: at most `MAX_POINTS` + 1 points.
    """

    def __init__(self) -> None:
        self._kept: list[Point] = []
        self._stride = 1
        self._last: Point | None = None
        self.count = 0

    def select(self, count: int) -> list[int]:
        """Which of the next `count` points would be kept: their positions, the last one included."""
        if not count:
            return []
        first = -self.count % self._stride
        chosen = list(range(first, count, self._stride))
        return chosen if chosen and chosen[-1] == count - 1 else [*chosen, count - 1]

    def extend(self, points: Sequence[Point]) -> None:
        """Add points."""
        self.extend_selected(
            [(place, points[place]) for place in self.select(len(points))], len(points)
        )

    def extend_selected(self, chosen: Sequence[tuple[int, Point]], count: int) -> None:
        """Add `count` points, of which only those that `select` names are given."""
        for place, point in chosen:
            if (self.count + place) % self._stride == 0:
                self._kept.append(point)
        if chosen:
            self._last = chosen[-1][1]
        self.count += count
        while len(self._kept) > MAX_POINTS:
            self._kept = self._kept[::2]
            self._stride *= 2

    @property
    def last(self) -> Point | None:
        """The last point."""
        return self._last

    def points(self) -> list[Point]:
        """The kept points in order, the last one included."""
        if self._last is None or (self._kept and self._kept[-1] is self._last):
            return list(self._kept)
        return [*self._kept, self._last]
