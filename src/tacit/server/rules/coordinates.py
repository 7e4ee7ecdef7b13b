"""Coordinate-wise rules: median and trimmed mean.

Source: Yin et al. 2018 (Byzantine-Robust Distributed Learning: Towards Optimal Statistical Rates),
definitions 1 and 2.
"""

from __future__ import annotations

import numpy as np

from tacit.rows import Vector
from tacit.server.rules.matrix import Matrix, iterate_blocks


def median(rows: Matrix) -> Vector:
    """The coordinate-wise median; of an even number of rows the mean of the two middle values.

    Guarantees: each value lies between two honest ones while fewer than half of the rows are bad.
    """
    return trimmed_mean(rows, (len(rows) - 1) // 2)


def trimmed_mean(rows: Matrix, bad: int) -> Vector:
    """The coordinate-wise mean without the `bad` smallest and `bad` largest values; requires 2 bad
    < rows.

    Guarantees: each value lies between two honest ones while at most `bad` rows are bad.
    """
    found = np.empty(rows.shape[1], np.float32)
    for place, block in iterate_blocks(rows):
        found[place] = np.sort(block.T, axis=1)[:, bad : len(rows) - bad].mean(axis=1)
    return found
