"""Sum of updates sent as levels of their own scale: each is decoded on arrival, and added in
float64.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.codecs.sums.checks import check_size, check_weight
from tacit.codecs.sums.floats import FloatSum
from tacit.codecs.sums.packing import count_packed_bytes, pack_integers, unpack_integers
from tacit.errors import WireError
from tacit.randomness import PublicDraws


class ScaledSum(FloatSum):
    """A running weighted sum of payloads: a float32 norm, then for each coordinate one of `levels`
    levels evenly over ±norm.
    """

    def __init__(self, dim: int, levels: int, bits: int) -> None:
        super().__init__(dim)
        self._levels, self._bits = levels, bits

    def add(self, payload: NDArray[np.uint8], weight: int, public: PublicDraws) -> None:
        """Add one payload `weight` times; refuse it if its norm is not finite or a level does not
        exist.
        """
        check_size(payload, count_scaled_bytes(self.dim, self._bits))
        check_weight(self.weight, weight)
        size = float(payload[:4].copy().view("<f4")[0])
        if not 0 <= size < np.inf:
            raise WireError(f"update refused: its norm must be finite and not negative, got {size}")
        indices = unpack_integers(payload[4:], self.dim, self._bits)
        if len(indices) and indices.max() >= self._levels:
            raise WireError(
                f"update refused: it contains level {indices.max()}; the levels are 0 to"
                f" {self._levels - 1}"
            )
        self.add_row(compute_level_values(indices, size, self._levels), weight)


def build_scaled_payload(size: float, indices: NDArray[np.uint32], bits: int) -> NDArray[np.uint8]:
    """Serialise a norm and the indices of levels."""
    return np.concatenate([np.array([size], "<f4").view(np.uint8), pack_integers(indices, bits)])


def count_scaled_bytes(dim: int, bits: int) -> int:
    """Size of the payload of `dim` levels, in bytes."""
    return 4 + count_packed_bytes(dim, bits)


def compute_level_values(
    indices: NDArray[np.uint32], size: float, levels: int
) -> NDArray[np.float32]:
    """Values of levels at a norm."""
    halves = 2 * indices.astype(np.int64) - (levels - 1)
    return np.asarray(halves * (size / (levels - 1)), np.float32)
