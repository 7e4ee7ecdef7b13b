"""Clips many updates to an L2 norm in one compiled call, equal to the bit to clipping each by
itself (`clip_l2`).
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from tacit.norms import sum_squares_by_row
from tacit.rows import Vector

_TINY = np.finfo(np.float32).tiny


def clip_each(values: Vector, starts: NDArray[np.int64], clip: float) -> Vector:
    """Clip each update, values[starts[n]:starts[n + 1]], to L2 norm `clip`; one that is not finite
    becomes zero.
    """
    clipped = np.empty_like(values)
    _clip(values, starts, np.sqrt(sum_squares_by_row(values, starts)), clip, clipped)
    return clipped


@numba.njit(nogil=True, cache=True)
def _clip(
    values: Vector, starts: NDArray[np.int64], norms: NDArray[np.float64], clip: float, out: Vector
) -> None:
    for n in range(norms.size):
        row, target = values[starts[n] : starts[n + 1]], out[starts[n] : starts[n + 1]]
        if not np.isfinite(norms[n]):
            target[:] = 0
        elif norms[n] > clip:
            scale_row(row, clip / norms[n], target)
        else:
            target[:] = row


@numba.njit(nogil=True, cache=True)
def scale_row(row: Vector, factor: float, out: Vector) -> None:
    """Multiply a row by a factor; a factor that would lose digits as a float32 is applied in
    float64.
    """
    narrow = np.float32(factor)
    if factor < _TINY:
        for i in range(row.size):
            out[i] = np.float32(np.float64(row[i]) * factor)
    else:
        for i in range(row.size):
            out[i] = row[i] * narrow
