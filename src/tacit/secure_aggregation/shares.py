"""Numbers modulo 2^bits, split into shares: the leader's is the numbers less masks, a helper's is
the seed of its mask.

Whoever lacks one helper's seed sees numbers that AES-256 makes look random; added up over the same
clients, all shares give the sum, exact to the bit. A seed is used for one vector and never again.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

Words = NDArray[Any]
"""Unsigned numbers of 16, 32 or 64 bits, lowest byte first; they add up modulo 2^bits by
themselves.
"""

_COUNTER_START = bytes(16)


def zeros(size: int, bits: int) -> Words:
    """Return the sum of nothing."""
    return np.zeros(size, _kind(bits))


def mask(seed: bytes, size: int, bits: int) -> Words:
    """Return the numbers a seed stands for: its AES-256 keystream."""
    words = np.empty(size, _kind(bits))
    cipher = Cipher(algorithms.AES256(seed), modes.CTR(_COUNTER_START)).encryptor()
    cipher.update_into(_nothing(words.nbytes), words.data.cast("B"))
    return words


@lru_cache(maxsize=4)
def _nothing(size: int) -> bytes:
    """Return zeros, whose encryption is the keystream itself."""
    return bytes(size)


def hidden(numbers: Words, seeds: Sequence[bytes], out: Words | None = None) -> Words:
    """Return the leader's share of numbers: less the mask of each helper's seed; `out` may be where
    to write it.
    """
    share, bits = numbers, 8 * numbers.itemsize
    for seed in seeds:
        share = out = np.subtract(share, mask(seed, len(share), bits), out=out)
    return share


def add_modulo(total: Words, numbers: NDArray[np.int64]) -> None:
    """Add signed numbers to a sum, in place."""
    np.add(total, numbers.astype(total.dtype), out=total)


def lifted(total: Words) -> NDArray[np.int64]:
    """Return a sum modulo 2^bits as the signed numbers nearest to 0 that it may stand for."""
    return total.view(f"<i{total.itemsize}").astype(np.int64)


def _kind(bits: int) -> np.dtype[Any]:
    return np.dtype(f"<u{bits // 8}")
