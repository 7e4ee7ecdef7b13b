"""Updates that are kept one by one, for rules that must see each of them. Memory grows with the cohort."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.rows import Vector


class Collected:
    """The decoded update of each sender, and how much it counts."""

    def __init__(self) -> None:
        self.weight = 0
        self._of: dict[int, tuple[Vector, int]] = {}

    def add(self, sender: int, update: Vector, weight: int) -> None:
        """Keep one client's update."""
        self._of[sender] = (update, weight)
        self.weight += weight

    def merge(self, other: Collected) -> None:
        """Take over what others sent."""
        self._of |= other._of
        self.weight += other.weight

    def value(self) -> tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.int64]]:
        """Return the senders in ascending order, their updates as rows, and their weights; needs at least one."""
        names = sorted(self._of)
        rows = np.stack([self._of[name][0] for name in names])
        return np.array(names, np.int64), rows, np.array([self._of[name][1] for name in names], np.int64)
