"""Additive shares of integers modulo 2^bits: the leader's share is the numbers minus masks, a
helper's is the seed of its mask.

Without one helper's seed the leader's share is indistinguishable from random, by AES-256. Summed
over the same clients, all shares give the exact sum. A seed masks one vector and is never used
again.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

Words = NDArray[Any]
"""Unsigned integers of 16, 32 or 64 bits, little-endian; numpy adds them modulo 2^bits."""

_COUNTER_START = bytes(16)


def zeros(size: int, bits: int) -> Words:
    """The empty sum."""
    return np.zeros(size, _word_dtype(bits))


def expand_mask(seed: bytes, size: int, bits: int) -> Words:
    """Expand a seed to its mask: the AES-256 keystream."""
    words = np.empty(size, _word_dtype(bits))
    cipher = Cipher(algorithms.AES256(seed), modes.CTR(_COUNTER_START)).encryptor()
    cipher.update_into(_zero_bytes(words.nbytes), words.data.cast("B"))
    return words


@lru_cache(maxsize=4)
def _zero_bytes(size: int) -> bytes:
    """Zeros, whose encryption is the keystream itself."""
    return bytes(size)


def subtract_masks(numbers: Words, seeds: Sequence[bytes], out: Words | None = None) -> Words:
    """The leader's share: `numbers` minus the mask of each helper's seed, written to `out` if
    given.
    """
    share, bits = numbers, 8 * numbers.itemsize
    for seed in seeds:
        share = out = np.subtract(share, expand_mask(seed, len(share), bits), out=out)
    return share


def add_modulo(total: Words, numbers: NDArray[np.int64]) -> None:
    """Add signed integers to a sum, in place."""
    np.add(total, numbers.astype(total.dtype), out=total)


def to_signed(total: Words) -> NDArray[np.int64]:
    """Convert a sum modulo 2^bits to signed integers in [-2^(bits-1), 2^(bits-1))."""
    return total.view(f"<i{total.itemsize}").astype(np.int64)


def _word_dtype(bits: int) -> np.dtype[Any]:
    return np.dtype(f"<u{bits // 8}")
