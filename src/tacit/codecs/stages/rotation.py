"""A public rotation that spreads an update evenly over its coordinates and keeps its L2 norm and
dimension.

Random signs, then a Walsh–Hadamard transform, over the first block of coordinates; then the same
over the last block. A block is the largest power of two that fits, so both together reach every
coordinate and overlap: no coordinate is padded, and a message has one value per parameter. Each
step is orthogonal, so norms are preserved and the inverse is the same steps in reverse. For any
update of L2 norm 1 that is independent of the signs, a coordinate exceeds x / sqrt(block) with
probability at most 2 e^(-x²/2) (Hoeffding, over the signs of the last block that reached it).

The signs are fixed and public, and no guarantee depends on them.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from tacit.randomness import Draws

Floats = NDArray[Any]
_SIGNS = Draws.seeded(0).at("rotation")


def find_block_size(dim: int) -> int:
    """Size of a block: the largest power of two not above the number of coordinates.

    >>> [find_block_size(dim) for dim in (1, 7, 8, 5001)]
    [1, 4, 8, 4096]
    """
    return 1 << (dim.bit_length() - 1)


def bound_coordinate(dim: int) -> float:
    """Bound that all coordinates of a rotated update of L2 norm 1 keep with probability above one
    half.

    >>> round(bound_coordinate(16384), 4)
    0.0368
    """
    return min(1.0, math.sqrt(2 * math.log(4 * dim) / find_block_size(dim)))


def rotate(update: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rotate an update; its L2 norm is preserved up to rounding."""
    row = np.array(update, np.float32)
    rotate_in_place(row, *_draw_signs(len(row)))
    return row


def rotate_back(row: Floats) -> NDArray[np.float64]:
    """Invert `rotate`, in float64."""
    update = np.array(row, np.float64)
    rotate_back_in_place(update, *_draw_signs(len(update)))
    return update


@lru_cache(maxsize=8)
def _draw_signs(dim: int) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """Signs of the first and of the last block; only the first block's for a power of two."""
    block = find_block_size(dim)
    bits = np.unpackbits(_SIGNS.at(dim).words((2 * block + 63) // 64).view(np.uint8))[: 2 * block]
    first, last = (1 - 2 * bits.astype(np.int8)).reshape(2, block)
    return first, last[: 0 if block == dim else block]


@numba.njit(nogil=True, cache=True)
def rotate_in_place(row: Floats, first: NDArray[np.int8], last: NDArray[np.int8]) -> None:
    """Rotate a row in place."""
    for i in range(first.size):
        row[i] *= first[i]
    apply_hadamard(row[: first.size])
    tail = row[row.size - last.size :]
    for i in range(last.size):
        tail[i] *= last[i]
    apply_hadamard(tail)


@numba.njit(nogil=True, cache=True)
def rotate_back_in_place(row: Floats, first: NDArray[np.int8], last: NDArray[np.int8]) -> None:
    """Undo `rotate_in_place`: the transform is its own inverse, and so is a sign."""
    tail = row[row.size - last.size :]
    apply_hadamard(tail)
    for i in range(last.size):
        tail[i] *= last[i]
    apply_hadamard(row[: first.size])
    for i in range(first.size):
        row[i] *= first[i]


@numba.njit(nogil=True, cache=True)
def apply_hadamard(row: Floats) -> None:
    """Apply the orthonormal Walsh–Hadamard transform to a row whose size is a power of two or 0."""
    half = 1
    if (
        row.size >= 8
    ):  # three steps at once, in registers: the loop below is vectorised only for larger halves
        for i in range(0, row.size, 8):
            transform_eight(row[i : i + 8])
        half = 8
    while half < row.size:
        for start in range(0, row.size, 2 * half):
            left, right = row[start : start + half], row[start + half : start + 2 * half]
            for i in range(half):
                a, b = left[i], right[i]
                left[i] = a + b
                right[i] = a - b
        half *= 2
    scale = row.dtype.type(1 / math.sqrt(max(1, row.size)))
    for i in range(row.size):
        row[i] *= scale


@numba.njit(nogil=True, cache=True)
def transform_eight(row: Floats) -> None:
    """Apply three steps of the transform to eight numbers."""
    a, b, c, d = row[0] + row[1], row[0] - row[1], row[2] + row[3], row[2] - row[3]
    e, f, g, h = row[4] + row[5], row[4] - row[5], row[6] + row[7], row[6] - row[7]
    a, b, c, d = a + c, b + d, a - c, b - d
    e, f, g, h = e + g, f + h, e - g, f - h
    row[0], row[1], row[2], row[3] = a + e, b + f, c + g, d + h
    row[4], row[5], row[6], row[7] = a - e, b - f, c - g, d - h
