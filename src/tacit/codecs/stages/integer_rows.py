"""Clips updates to an L2 norm, rounds them to integers and adds them to a sum: the same integers as
encoding each of them.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from tacit.codecs.stages.clip_rows import scale_row
from tacit.codecs.stages.integer_updates import Scale, round_to_steps, shorten
from tacit.norms import sum_squares_by_row
from tacit.rows import SparseUpdates


def add_updates(
    total: NDArray[np.int64], lines: SparseUpdates, weights: NDArray[np.int64], scale: Scale
) -> None:
    """Add updates to a sum, each clipped (`clip_l2`), rounded (`Scale.round_to_integers`) and
    multiplied by its weight.
    """
    norms = np.sqrt(sum_squares_by_row(lines.values, lines.starts))
    _add(total, lines, weights, norms, scale.clip, 1 / scale.step, scale.radius)


@numba.njit(nogil=True, cache=True)
def _add(
    total: NDArray[np.int64],
    lines: SparseUpdates,
    weights: NDArray[np.int64],
    norms: NDArray[np.float64],
    clip: float,
    per_unit: float,
    radius: int,
) -> None:
    longest = np.int64(0)
    for n in range(weights.size):
        longest = max(longest, lines.starts[n + 1] - lines.starts[n])
    cut, whole = np.empty(longest, np.float32), np.empty(longest, np.int64)
    for n in range(weights.size):
        if not np.isfinite(norms[n]):
            continue  # counts as zero
        row = lines.values[lines.starts[n] : lines.starts[n + 1]]
        steps = whole[: row.size]
        if norms[n] > clip:
            scale_row(row, clip / norms[n], cut[: row.size])
            row = cut[: row.size]
        squares = round_to_steps(row, per_unit, steps)
        if squares > radius * radius:
            shorten(steps, radius / (np.floor(np.sqrt(np.float64(squares))) + 1) * (1 - 2**-40))
        if weights[n] != 1:
            steps *= weights[n]
        _add_lines(
            total,
            steps,
            lines.named[lines.name_starts[n] : lines.name_starts[n + 1]],
            lines.width,
            lines.end,
        )


@numba.njit(nogil=True, cache=True)
def _add_lines(
    total: NDArray[np.int64],
    steps: NDArray[np.int64],
    named: NDArray[np.int32],
    width: int,
    end: int,
) -> None:
    for n in range(named.size):
        target, source = (
            total[named[n] * width : (named[n] + 1) * width],
            steps[n * width : (n + 1) * width],
        )
        for k in range(width):
            target[k] += source[k]
    rest = steps[named.size * width :]
    for i in range(total.size - end):
        total[end + i] += rest[i]
