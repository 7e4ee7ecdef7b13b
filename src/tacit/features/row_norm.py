"""Scale rows to one L2 norm, so that row gradients have similar norms; append inputs to rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.rows import Dense, Sparse


def scale_to_norm(rows: Dense | Sparse, length: float) -> Dense | Sparse:
    """Scale rows to an L2 norm; zero rows stay zero."""
    if isinstance(rows, Dense):
        matrix = np.asarray(
            rows.matrix * _compute_factors(np.linalg.norm(rows.matrix, axis=1), length)[:, None],
            np.float32,
        )
        return Dense(matrix=matrix, width=rows.width)
    values = np.ones(len(rows.columns), np.float32) if rows.values is None else rows.values
    owner = np.repeat(np.arange(len(rows)), np.diff(rows.starts))
    lengths = np.sqrt(np.bincount(owner, np.square(values, dtype=np.float64), minlength=len(rows)))
    scaled = np.asarray(values * _compute_factors(lengths, length)[owner], np.float32)
    return Sparse(starts=rows.starts, columns=rows.columns, values=scaled, width=rows.width)


def append_constant(rows: Dense | Sparse, value: float) -> Dense | Sparse:
    """Append one input with the same value to all rows."""
    if isinstance(rows, Dense):
        column = np.full((len(rows), 1), value, np.float32)
        return Dense(matrix=np.hstack([rows.matrix, column]), width=rows.width + 1)
    ends = rows.starts[1:]
    values = np.ones(len(rows.columns), np.float32) if rows.values is None else rows.values
    return Sparse(
        starts=rows.starts + np.arange(len(rows.starts)),
        columns=np.insert(rows.columns, ends, np.int32(rows.width)),
        values=np.insert(values, ends, np.float32(value)),
        width=rows.width + 1,
    )


def scale_dense(rows: Dense, factor: float) -> Dense:
    """Multiply all numbers by a factor."""
    return Dense(matrix=rows.matrix * np.float32(factor), width=rows.width)


def append_columns(rows: Dense, more: Dense) -> Dense:
    """Append further inputs to all rows."""
    return Dense(matrix=np.hstack([rows.matrix, more.matrix]), width=rows.width + more.width)


def append_dense(rows: Sparse, more: Dense) -> Sparse:
    """Append inputs that every row has to rows that are mostly zero."""
    extra = more.width
    starts = rows.starts + extra * np.arange(len(rows.starts))
    is_more = np.zeros(starts[-1], np.bool_)
    is_more[(starts[1:, None] - extra + np.arange(extra)).ravel()] = True
    columns, values = np.empty(starts[-1], np.int32), np.ones(starts[-1], np.float32)
    columns[~is_more] = rows.columns
    columns[is_more] = np.tile(np.arange(rows.width, rows.width + extra, dtype=np.int32), len(rows))
    if rows.values is not None:
        values[~is_more] = rows.values
    values[is_more] = more.matrix.ravel()
    return Sparse(starts=starts, columns=columns, values=values, width=rows.width + extra)


def _compute_factors(lengths: NDArray[np.floating], length: float) -> NDArray[np.float64]:
    return np.asarray(length / np.where(lengths > 0, lengths, 1.0), np.float64)
