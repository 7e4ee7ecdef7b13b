"""Linear projection to a few directions, fitted on public rows: principal components or Fisher's
discriminant.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import DataError

Matrix = NDArray[np.float32]
_SHRINKAGE = 0.5
"""Shrinkage of the within-class covariance towards a multiple of the identity: halfway, because
there are fewer rows than values.
"""


@dataclass(frozen=True, kw_only=True, eq=False)
class Projection:
    """An affine map: subtract `centre`, then project on `directions` (one per row)."""

    centre: NDArray[np.float32]
    directions: Matrix

    @property
    def width(self) -> int:
        """The number of output features."""
        return len(self.directions)

    def __call__(self, rows: Matrix) -> Matrix:
        """Project the rows."""
        return np.asarray((rows - self.centre) @ self.directions.T, np.float32)

    def __eq__(self, other: object) -> bool:
        """Whether both maps are equal to the bit."""
        return isinstance(other, Projection) and all(
            np.array_equal(ours, theirs)
            for ours, theirs in ((self.centre, other.centre), (self.directions, other.directions))
        )

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain values: little-endian float32 in base 64, a tenth of the size of a list
        of numbers.
        """
        both = np.concatenate([self.centre[None], self.directions]).astype("<f4")
        return {"rows": len(both), "float32": base64.b64encode(both.tobytes()).decode()}

    @staticmethod
    def from_dict(tree: Mapping[str, Any]) -> Projection:
        """Invert `to_dict`; raise ValueError, KeyError or TypeError for anything else."""
        both = np.frombuffer(base64.b64decode(tree["float32"], validate=True), "<f4").reshape(
            int(tree["rows"]), -1
        )
        return Projection(centre=both[0].copy(), directions=both[1:].copy())


def fit_projection(rows: Matrix, k: int, *, standardise: bool = False) -> Projection:
    """Fit the projection to the first k principal components.

    With `standardise` each component is scaled to unit variance. The largest entry of each
    direction is positive, so that equal rows give equal directions.
    """
    most = min(len(rows) - 1, rows.shape[1])
    if k > most:
        raise DataError(
            f"features.project = {k} requires more than {k} public rows of at least {k} numbers,"
            f" got {len(rows):,} of {rows.shape[1]:,}; give more public rows or lower"
            " features.project"
        )
    exact = rows.astype(np.float64)
    centre = exact.mean(axis=0)
    _, lengths, directions = np.linalg.svd(exact - centre, full_matrices=False)
    spread = lengths[:k] / np.sqrt(len(rows) - 1)
    if not spread[-1] > 1e-9 * max(float(spread[0]), 1e-30):
        raise DataError(
            f"features.project = {k}: the public rows vary in fewer than {k} directions; lower"
            " features.project"
        )
    kept = _fix_signs(directions[:k])
    if standardise:
        kept = kept / spread[:, None]
    return Projection(centre=centre.astype(np.float32), directions=kept.astype(np.float32))


def fit_class_projection(
    rows: Matrix, labels: NDArray[np.int32], k: int, *, standardise: bool = False
) -> Projection:
    """Fit the projection to the k directions that separate the classes best (Fisher's
    discriminant).

    The within-class covariance is shrunk halfway towards a multiple of the identity, because a few
    hundred rows determine it poorly.
    """
    known = np.unique(labels)
    if not 0 < k < len(known) or len(rows) <= len(known):
        raise DataError(
            f"features.project = {k}: at most {len(known) - 1} directions separate {len(known)}"
            f" classes, and there must be more rows than classes, got {len(rows):,} rows; lower"
            " features.project, or use features.directions = 'strongest'"
        )
    exact = rows.astype(np.float64)
    centre = exact.mean(axis=0)
    means = np.stack([exact[labels == one].mean(axis=0) for one in known])
    whitened = _build_whitener(
        exact - means[np.searchsorted(known, labels)], len(rows) - len(known)
    )
    counts = np.array([(labels == one).sum() for one in known], np.float64)
    _, _, best = np.linalg.svd(
        whitened(np.sqrt(counts)[:, None] * (means - centre)), full_matrices=False
    )
    kept = _fix_signs(whitened(best[:k]))
    if standardise:
        kept = kept / np.maximum(((exact - centre) @ kept.T).std(axis=0, ddof=1), 1e-12)[:, None]
    return Projection(centre=centre.astype(np.float32), directions=kept.astype(np.float32))


def _build_whitener(
    rest: NDArray[np.float64], freedom: int
) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """Build the map that whitens rows by the shrunk covariance of `rest`.

    Only as many axes as `rest` has rows are computed, because images have far more values than
    there are rows.
    """
    _, lengths, axes = np.linalg.svd(rest, full_matrices=False)
    spread = lengths**2 / freedom
    ball = _SHRINKAGE * max(float(spread.sum()) / rest.shape[1], 1e-12)
    elsewhere, along = 1 / np.sqrt(ball), 1 / np.sqrt((1 - _SHRINKAGE) * spread + ball)
    return lambda rows: elsewhere * rows + (rows @ axes.T) * (along - elsewhere) @ axes


def _fix_signs(directions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Flip directions so that the largest entry of each is positive."""
    largest = np.take_along_axis(directions, np.abs(directions).argmax(axis=1)[:, None], axis=1)
    return np.asarray(directions * np.sign(largest), np.float64)
