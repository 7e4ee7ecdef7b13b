"""Packed bits as integers, for codecs that send one bit per parameter: secure aggregation counts
the ones.
"""

from __future__ import annotations

import numpy as np

from tacit.codecs.contract import IntegerCoding, Payload
from tacit.codecs.sums import BitSum


def code_bits(bits: int = 32) -> IntegerCoding:
    """Describe how packed bits add up modulo 2^bits, for fewer than 2^(bits - 1) clients."""
    kind = np.dtype(f"u{bits // 8}")

    def read(payload: Payload, dim: int) -> np.ndarray:
        return np.unpackbits(payload, count=dim, bitorder="little").astype(kind)

    return IntegerCoding(
        bits=lambda dim: bits,
        size=lambda dim: dim,
        read=read,
        build_sum=BitSum.of,
        bound=lambda dim, clients: clients,
    )
