"""Integers of a few bits each, packed without gaps, lowest bit first; bits past the end are zero."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

_WIDTHS = (8, 16, 32, 64)


def count_packed_bytes(count: int, bits: int) -> int:
    """Number of bytes that hold `count` integers of `bits` bits."""
    return (count * bits + 7) // 8


def choose_dtype(bits: int) -> np.dtype[Any]:
    """Smallest array type for integers of `bits` bits."""
    return np.dtype(f"<u{next(width for width in _WIDTHS if bits <= width) // 8}")


def pack_integers(numbers: NDArray[Any], bits: int) -> NDArray[np.uint8]:
    """Pack integers of at most 32 bits."""
    whole = choose_dtype(bits)
    if bits == 8 * whole.itemsize:
        return np.ascontiguousarray(numbers, whole).view(np.uint8)
    return pack(numbers, bits)


def unpack_integers(payload: NDArray[np.uint8], count: int, bits: int) -> NDArray[Any]:
    """Invert `pack_integers`; a view of the payload where no unpacking is needed."""
    numbers = np.empty(count, choose_dtype(bits))
    if bits == 8 * numbers.itemsize:
        return payload.view(numbers.dtype)
    unpack(payload, bits, numbers)
    return numbers


@numba.njit(nogil=True, cache=True)
def pack(numbers: NDArray[Any], bits: int) -> NDArray[np.uint8]:
    """Pack integers of any number of bits."""
    out = np.zeros((numbers.size * bits + 7) // 8, np.uint8)
    held, waiting, byte = np.uint64(0), 0, 0
    for i in range(numbers.size):
        held |= np.uint64(numbers[i]) << np.uint64(waiting)
        waiting += bits
        while waiting >= 8:
            out[byte] = held & np.uint64(255)
            held >>= np.uint64(8)
            waiting -= 8
            byte += 1
    if waiting:
        out[byte] = held & np.uint64(255)
    return out


@numba.njit(nogil=True, cache=True)
def unpack(payload: NDArray[np.uint8], bits: int, numbers: NDArray[Any]) -> None:
    """Fill `numbers` with unpacked integers."""
    held, waiting, byte = np.uint64(0), 0, 0
    mask = (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    for i in range(numbers.size):
        while waiting < bits:
            held |= np.uint64(payload[byte]) << np.uint64(waiting)
            waiting += 8
            byte += 1
        numbers[i] = held & mask
        held >>= np.uint64(bits)
        waiting -= bits
