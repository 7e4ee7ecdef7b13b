"""Rules based on nearest neighbours: multi-Krum, and nearest-neighbour mixing before any other
rule.
"""

from __future__ import annotations

import numpy as np

from tacit.rows import Vector
from tacit.server.rules.matrix import Matrix, compute_distances, find_smallest, iterate_blocks, mean


def multi_krum(rows: Matrix, bad: int, keep: int | None = None) -> Vector:
    """The mean of the `keep` rows (default: all but `bad`) closest to their rows - bad - 2 nearest
    neighbours.

    Of rows with the same score the first is kept. Krum is `keep = 1`. The paper's bound requires 2
    bad + 2 < rows; with fewer rows at least one neighbour counts. Source: Blanchard et al. 2017
    (Machine Learning with Adversaries: Byzantine Tolerant Gradient Descent).
    """
    clients = len(rows)
    near = np.sort(compute_distances(rows), axis=1)[:, 1 : 1 + max(1, clients - bad - 2)]
    kept = find_smallest(near.sum(axis=1), max(1, clients - bad if keep is None else keep))
    return mean(rows[kept])


def mix_neighbours(rows: Matrix, bad: int) -> Matrix:
    """Replace each row by the mean of its rows - bad nearest rows, itself included; of equally near
    rows the first.

    Source: Allouah et al. 2023 (Fixing by Mixing: nearest-neighbour mixing, algorithm 2).
    """
    clients, near = len(rows), len(rows) - bad
    order = np.argsort(compute_distances(rows), axis=1, kind="stable")[:, :near]
    share = np.zeros((clients, clients))
    np.put_along_axis(share, order, 1 / near, axis=1)
    found = np.empty_like(rows)
    for place, block in iterate_blocks(rows):
        found[:, place] = share @ block
    return found
