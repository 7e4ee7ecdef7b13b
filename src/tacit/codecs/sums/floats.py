"""Sum of float32 updates in float64. Merging in a fixed order gives the same bits with any number
of workers.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from tacit.codecs.stages.clip_rows import clip_each
from tacit.codecs.sums.checks import check_dimensions, check_size, check_weight
from tacit.errors import WireError
from tacit.randomness import PublicDraws
from tacit.rows import SparseUpdates


class FloatSum:
    """A running weighted sum of float32 payloads.

    A single payload is kept in float32, in half the bytes: for a large model, a worker often sends
    the sum of one client. Memory for the sum itself is allocated when a second payload arrives.
    """

    def __init__(self, dim: int) -> None:
        self.dim, self.weight = dim, 0
        self._only: NDArray[np.float32] | None = None
        self._sum: NDArray[np.float64] | None = None

    @property
    def _empty(self) -> bool:
        return self._only is None and self._sum is None

    def add(self, payload: NDArray[np.uint8], weight: int, public: PublicDraws) -> None:
        """Add one payload `weight` times; refuse it if a value is not finite, since that would
        spoil the sum.
        """
        check_size(payload, 4 * self.dim)
        check_weight(self.weight, weight)
        row = payload.view(np.float32)
        if not is_finite(row):
            raise WireError("update refused: it contains NaN or infinite values")
        self._add(row, weight)

    def add_sparse(self, lines: SparseUpdates, weights: NDArray[np.int64]) -> None:
        """Add updates times their weights, unchecked."""
        add_sparse(self.value(), lines, weights.astype(np.float64))
        self.weight += int(weights.sum())

    def add_row(self, row: NDArray[np.float32], weight: int) -> None:
        """Add an update `weight` times, unchecked."""
        self._add(row, weight)

    def _add(self, row: NDArray[np.float32], weight: int) -> None:
        if self._empty:
            self._only = row.copy()  # its buffer may be reused
        else:
            add_weighted(self.value(), row, float(weight))
        self.weight += weight

    def merge(self, other: FloatSum) -> None:
        """Add another sum to this one. The other must not be used afterwards."""
        check_dimensions(self.dim, other.dim)
        check_weight(self.weight, other.weight, least=0)
        if self._empty:
            self._only, self._sum = other._only, other._sum
        elif other._only is not None:
            add_weighted(self.value(), other._only, float(other.weight))
        else:
            total = self.value()
            total += other.value()
        self.weight += other.weight

    def is_finite(self) -> bool:
        """Whether every value is finite: no update with another value was added."""
        return all(is_finite(kept) for kept in (self._only, self._sum) if kept is not None)

    def pack(self) -> NDArray[np.uint8]:
        """Serialise the sum."""
        return self.value().astype("<f8", copy=False).view(np.uint8)

    def add_packed(self, payload: NDArray[np.uint8], weight: int) -> None:
        """Add a serialised sum. No value may exceed its weight times the largest float32, and none
        may be NaN.

        Updates in the clear are not clipped, so there is no bound on their norm.
        """
        check_size(payload, 8 * self.dim, "sum")
        check_weight(self.weight, weight, least=0)
        sums = payload.view("<f8")
        if not is_finite(sums):
            raise WireError("sum refused: it contains NaN or infinite values")
        if find_largest(sums) > weight * float(np.finfo(np.float32).max):
            raise WireError(
                f"sum refused: a value exceeds what {weight:,} float32 values can add up to; sum"
                " the updates again"
            )
        if self._empty:
            self._sum = sums.copy()
        else:
            total = self.value()
            total += sums
        self.weight += weight

    def value(self) -> NDArray[np.float64]:
        """The weighted sum; callers may write into it."""
        if self._sum is None:
            self._sum = (
                np.zeros(self.dim)
                if self._only is None
                else np.multiply(self._only, float(self.weight), dtype=np.float64)
            )
            self._only = None
        return self._sum


class ClippedFloatSum(FloatSum):
    """A sum that clips updates to L2 norm `clip` when they are added; messages were clipped by
    their senders.
    """

    def __init__(self, dim: int, clip: float) -> None:
        super().__init__(dim)
        self._clip = clip

    def add_sparse(self, lines: SparseUpdates, weights: NDArray[np.int64]) -> None:
        """Add clipped updates times their weights, unchecked."""
        super().add_sparse(
            lines._replace(values=clip_each(lines.values, lines.starts, self._clip)), weights
        )

    def add_row(self, row: NDArray[np.float32], weight: int) -> None:
        """Add a clipped update `weight` times, unchecked."""
        super().add_row(clip_each(row, np.array([0, len(row)]), self._clip), weight)


@numba.njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def is_finite(row: NDArray[Any]) -> bool:
    """Whether every value is finite: x - x is zero only for finite x."""
    off = row.dtype.type(0)
    for i in range(row.size):
        off += row[i] - row[i]
    return bool(off == 0)


@numba.njit(nogil=True, cache=True, fastmath={"reassoc", "contract", "nsz"})
def find_largest(row: NDArray[np.float64]) -> float:
    """The largest absolute value of finite numbers; 0 if there are none."""
    largest = 0.0
    for i in range(row.size):
        largest = max(largest, abs(row[i]))
    return largest


@numba.njit(nogil=True, cache=True)
def add_weighted(total: NDArray[np.float64], row: NDArray[np.float32], weight: float) -> None:
    """Add weight * row to total."""
    for i in range(total.size):
        total[i] += weight * row[i]


@numba.njit(nogil=True, cache=True)
def add_sparse(
    total: NDArray[np.float64], lines: SparseUpdates, weights: NDArray[np.float64]
) -> None:
    """Add updates to a total, in order, each times its weight."""
    width, end = lines.width, lines.end
    for n in range(weights.size):
        weight, values = weights[n], lines.values[lines.starts[n] : lines.starts[n + 1]]
        named = lines.named[lines.name_starts[n] : lines.name_starts[n + 1]]
        for m in range(named.size):
            target, source = (
                total[named[m] * width : (named[m] + 1) * width],
                values[m * width : (m + 1) * width],
            )
            for k in range(width):
                target[k] += weight * source[k]
        rest = values[named.size * width :]
        for i in range(total.size - end):
            total[end + i] += weight * rest[i]
