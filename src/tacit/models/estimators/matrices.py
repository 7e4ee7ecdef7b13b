"""Conversions between scikit-learn's matrices and Tacit's rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_consistent_length, column_or_1d

from tacit.models.estimators.errors import EstimatorValueError
from tacit.randomness import Draws
from tacit.rows import Clients, Dense, Sparse


def to_inputs(X: Any) -> Dense | Sparse:
    """Convert a float32 matrix, full or CSR, to rows."""
    if not sparse.issparse(X):
        return Dense(matrix=np.ascontiguousarray(X), width=X.shape[1])
    return Sparse(
        starts=X.indptr.astype(np.int64),
        columns=X.indices.astype(np.int32),
        values=X.data.astype(np.float32),
        width=X.shape[1],
    )


def to_matrix(rows: Sparse) -> Any:
    """Convert sparse rows to a CSR matrix."""
    values = np.ones(len(rows.columns), np.float32) if rows.values is None else rows.values
    return sparse.csr_matrix((values, rows.columns, rows.starts), shape=(len(rows), rows.width))


def assign_rows(clients: object, rows: int, draws: Draws) -> Clients:
    """Assign rows to clients: each row its own client, a number of clients at random, or the named
    owners.
    """
    if clients is None:
        owner: NDArray[np.int64] = np.arange(rows)
    elif isinstance(clients, int | np.integer):
        if not 1 <= clients <= rows:
            raise EstimatorValueError(
                f"fit: clients must be from 1 to {rows:,}, the number of rows, got {clients}"
            )
        owner = draws.generator().permutation(rows) % int(clients)
    else:
        named = column_or_1d(clients)
        check_consistent_length(named, np.empty(rows))
        owner = np.unique(named, return_inverse=True)[1]
    starts = np.concatenate([[0], np.cumsum(np.bincount(owner))])
    return Clients(
        order=np.argsort(owner, kind="stable").astype(np.int64), starts=starts.astype(np.int64)
    )
