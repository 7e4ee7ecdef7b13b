"""Linear algebra on a matrix of updates, one per row: norms, distances and weighted sums, in
float64.

Columns are processed in blocks to save memory: the whole matrix is never copied.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tacit.rows import Vector

Matrix = NDArray[np.float32]
"""One update per row, one row per client."""

Floats = NDArray[np.float64]
Order = NDArray[np.int64]

_BLOCK = 1 << 20
"""Maximum number of values of a block, unless a single column has more."""


def iterate_blocks(rows: Matrix) -> Iterator[tuple[slice, Floats]]:
    """Yield blocks of columns in order, as float64."""
    width = max(1, _BLOCK // max(1, len(rows)))
    for start in range(0, rows.shape[1], width):
        place = slice(start, min(start + width, rows.shape[1]))
        yield place, rows[:, place].astype(np.float64)


def compute_products(rows: Matrix) -> Floats:
    """The inner product of every pair of rows."""
    found = np.zeros((len(rows), len(rows)))
    for _, block in iterate_blocks(rows):
        found += block @ block.T
    return found


def compute_distances(rows: Matrix) -> Floats:
    """The squared distance between every pair of rows; exactly zero from a row to itself."""
    inner = compute_products(rows)
    squares = np.diag(inner)
    apart: Floats = np.maximum(squares[:, None] + squares[None, :] - 2 * inner, 0.0)
    np.fill_diagonal(apart, 0.0)
    return apart


def compute_norms(rows: Matrix, around: Floats | None = None) -> Floats:
    """The L2 distance of each row from a point, or from zero."""
    squares = np.zeros(len(rows))
    for place, block in iterate_blocks(rows):
        if around is not None:
            block -= around[place]
        squares += np.einsum("ij,ij->i", block, block)
    return np.sqrt(squares)


def project(rows: Matrix, direction: Vector) -> Floats:
    """The inner product of each row with a vector."""
    found = np.zeros(len(rows))
    for place, block in iterate_blocks(rows):
        found += block @ direction[place].astype(np.float64)
    return found


def weighted_sum(rows: Matrix, weights: Floats) -> Floats:
    """The sum of weight times row."""
    total = np.empty(rows.shape[1])
    for place, block in iterate_blocks(rows):
        total[place] = weights @ block
    return total


def mean(rows: Matrix, weights: Floats | None = None) -> Vector:
    """The weighted mean row; zero if all weights are zero."""
    if weights is None:
        weights = np.ones(len(rows))
    total = float(weights.sum())
    return np.asarray(weighted_sum(rows, weights / total if total else weights), np.float32)


def find_smallest(scores: Floats, count: int) -> Order:
    """The indices of the `count` smallest scores, in ascending order of index; of equal scores the
    first.
    """
    return np.sort(np.argsort(scores, kind="stable")[:count])


def count_bad(clients: int, share: float, most: float = 0.5) -> int:
    """The number of clients assumed malicious: the share rounded up, but always below the share
    `most`.
    """
    return max(0, min(math.ceil(share * clients - 1e-9), math.ceil(most * clients) - 1))
