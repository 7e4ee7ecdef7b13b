"""The numbers that a range negotiated between sites may end at, and the choice of one by indices."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tacit.errors import WireError

_OCTAVES, _PER_OCTAVE = 30, 32

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class RangeGrid:
    """Zero, and numbers of both signs up to `limit`: 32 for each factor of two, over 30 of them.

    Every site computes the same numbers to the bit: each is an exact fraction of the limit, rounded
    once.

    >>> grid = RangeGrid(2.0)
    >>> float(grid.values[grid.find_index(0.3)])
    0.3046875
    """

    limit: float

    @cached_property
    def values(self) -> NDArray[np.float64]:
        """The numbers in ascending order."""
        steps = 1 + np.arange(_PER_OCTAVE) / _PER_OCTAVE
        octaves = np.ldexp(steps[None, :], np.arange(-_OCTAVES, 0)[:, None]).ravel()
        upper = self.limit * np.append(octaves, 1.0)
        return np.concatenate([-upper[::-1], [0.0], upper])

    @property
    def zero(self) -> int:
        """The index of zero."""
        return len(self.values) // 2

    def find_index(self, value: float) -> int:
        """Index of the smallest number that is at least `value`; the last one beyond the limit."""
        return min(int(np.searchsorted(self.values, value, side="left")), len(self.values) - 1)

    def mark(self, index: int | None) -> Flags:
        """For each number but the first, whether `index` reaches it; nowhere without an index."""
        return np.arange(1, len(self.values)) <= (0 if index is None else index)

    def read_index(self, reached: Flags) -> int:
        """The largest index among those that were marked; raise WireError if a number was not
        reached and a greater one was.
        """
        count = int(np.count_nonzero(reached))
        if not reached[:count].all():
            raise WireError(
                "the sum of all sites' contributions shows no range: at least one site did not"
                " follow the protocol, and the sum does not tell which"
            )
        return count
