"""Packed bits as whole numbers, for codecs that send one bit per parameter: a secure sum counts the
ones.
"""

from __future__ import annotations

import numpy as np

from tacit.codecs.contract import Payload, Wholes
from tacit.codecs.sums import BitSum


def whole_bits(bits: int = 32) -> Wholes:
    """Return how packed bits add up modulo 2^bits; there must be fewer than 2^(bits - 1)
    clients.
    """
    kind = np.dtype(f"u{bits // 8}")

    def of(payload: Payload, dim: int) -> np.ndarray:
        return np.unpackbits(payload, count=dim, bitorder="little").astype(kind)

    return Wholes(
        bits=lambda dim: bits,
        size=lambda dim: dim,
        of=of,
        total=BitSum.of,
        largest=lambda dim, clients: clients,
    )
