"""Checks of received bytes before they enter a sum: their size, their weight and their norm.

A hostile sender chooses every bit. Nothing here overflows, for any 32- or 64-bit integer: squares
are added up as halves of 32 bits, which no vector of fewer than 2^32 numbers can overflow, and
combined as a Python integer.
"""

from __future__ import annotations

import math

import numba
import numpy as np
from numpy.typing import NDArray

from tacit.errors import WireError

MOST_WEIGHT = 1 << 62
"""Bound on the total weight of a sum, so that no count can leave 64 bits."""
_HALF = np.uint64(0xFFFFFFFF)


def check_size(payload: NDArray[np.uint8], size: int, what: str = "update") -> None:
    """Raise WireError unless a payload has the agreed number of bytes."""
    if payload.nbytes != size:
        raise WireError(
            f"{what} refused: {payload.nbytes:,} bytes where {size:,} were agreed; encode with the"
            " plan's codec"
        )


def check_weight(before: int, weight: int, largest: int = 1, *, least: int = 1) -> None:
    """Raise WireError unless a weight is at least `least` and the total weight times `largest`
    stays below 2^62.
    """
    if weight < least:
        raise WireError(
            f"update refused: its weight {weight:,} is below {least}; send the weight that the plan"
            " gives the client"
        )
    if (before + weight) * largest >= MOST_WEIGHT:
        most = (MOST_WEIGHT - 1) // largest
        raise WireError(
            f"update refused: the total weight would exceed {most:,}, beyond which a sum is not"
            " exact; lower the weights"
        )


def check_kind(one: object, other: object) -> None:
    """Raise WireError unless two sums have the same type; the sum of a codec may depend on the
    dimension.
    """
    if type(one) is not type(other):
        raise WireError(
            f"sum refused: it is a {type(other).__name__} where a {type(one).__name__} was agreed;"
            " merge sums of one codec"
        )


def check_dimensions(one: int, other: int) -> None:
    """Raise WireError unless two sums have the same number of coordinates."""
    if one != other:
        raise WireError(
            f"sum refused: it has {other:,} coordinates where {one:,} were agreed; merge sums of"
            " one codec"
        )


def check_range(numbers: NDArray[np.signedinteger], low: int, high: int, what: str) -> None:
    """Raise WireError unless every integer lies between two bounds, both included."""
    if len(numbers) and (int(numbers.min()) < low or int(numbers.max()) > high):
        raise WireError(
            f"{what} refused: a value lies outside {low:,} to {high:,}; clip updates as the plan"
            " says"
        )


def check_norm(numbers: NDArray[np.signedinteger], squares: int, what: str) -> None:
    """Raise WireError unless the squares of 32- or 64-bit integers add up to at most `squares`."""
    if compute_squared_norm(numbers) > squares:
        raise WireError(
            f"{what} refused: its L2 norm exceeds {math.isqrt(squares):,} steps; clip updates as"
            " the plan says"
        )


def compute_squared_norm(numbers: NDArray[np.signedinteger]) -> int:
    """Exact sum of squares of 32- or 64-bit integers."""
    if numbers.dtype.itemsize <= 4:
        low, high = _square_narrow(numbers)
        return int(low) + (int(high) << 32)
    parts = [int(part) for part in _square_wide(numbers)]
    # (high · 2^32 + low)² = low² + 2 · high · low · 2^32 + high² · 2^64, each product as two
    # halves.
    return (
        parts[0]
        + (parts[1] << 32)
        + ((parts[2] + (parts[3] << 32)) << 33)
        + ((parts[4] + (parts[5] << 32)) << 64)
    )


@numba.njit(nogil=True, cache=True)
def _square_narrow(numbers: NDArray[np.int32]) -> tuple[np.uint64, np.uint64]:
    low, high = np.uint64(0), np.uint64(0)
    for i in range(numbers.size):
        wide = np.int64(numbers[i])
        square = np.uint64(wide * wide)
        low += square & _HALF
        high += square >> np.uint64(32)
    return low, high


@numba.njit(nogil=True, cache=True)
def _square_wide(
    numbers: NDArray[np.int64],
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64, np.uint64, np.uint64]:
    low_low = low_high = mid_low = mid_high = top_low = top_high = np.uint64(0)
    for i in range(numbers.size):
        value = numbers[i]
        size = (
            np.uint64(value) if value >= 0 else np.uint64(0) - np.uint64(value)
        )  # right for -2^63 too
        low, high = size & _HALF, size >> np.uint64(32)
        square, product, top = low * low, high * low, high * high
        low_low += square & _HALF
        low_high += square >> np.uint64(32)
        mid_low += product & _HALF
        mid_high += product >> np.uint64(32)
        top_low += top & _HALF
        top_high += top >> np.uint64(32)
    return low_low, low_high, mid_low, mid_high, top_low, top_high
