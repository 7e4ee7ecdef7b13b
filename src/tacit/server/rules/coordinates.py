"""Rules that treat every parameter by itself: the median, and the mean without the extremes.

Source: Yin et al. 2018 (Byzantine-Robust Distributed Learning: Towards Optimal Statistical Rates),
definitions 1 and 2.
"""

from __future__ import annotations

import numpy as np

from tacit.rows import Vector
from tacit.server.rules.matrix import Matrix, blocks


def median(rows: Matrix) -> Vector:
    """Return the median of each column; of an even number of rows the mean of the two in the
    middle.

    Guarantees: each value lies between two honest ones while fewer than half of the rows are bad.
    """
    return trimmed_mean(rows, (len(rows) - 1) // 2)


def trimmed_mean(rows: Matrix, bad: int) -> Vector:
    """Return the mean of each column without its `bad` smallest and `bad` largest values; needs 2
    bad < rows.

    Guarantees: each value lies between two honest ones while at most `bad` rows are bad.
    """
    found = np.empty(rows.shape[1], np.float32)
    for place, block in blocks(rows):
        found[place] = np.sort(block.T, axis=1)[:, bad : len(rows) - bad].mean(axis=1)
    return found
