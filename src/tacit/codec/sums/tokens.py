"""Count of tokens nobody here can read: per coordinate, which tokens were sent and with how much weight. Exact in any order.

A table of all 2^L counts would be far too large, so messages are kept as they came, packed. What leaves is the histogram: at
each coordinate the tokens are in ascending order and equal ones are counted together, so the order of clients is gone.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from tacit.draws import Draws
from tacit.errors import WireError

Tokens = NDArray[np.uint32]
Weights = NDArray[np.int64]
_WIDTHS = (1, 2, 4, 8)


class TokenTally:
    """A histogram per coordinate over tokens of `bits` bits.

    As bytes: one byte, 0 if all messages weigh the same, else how many bytes a count has; then the rows of tokens, packed;
    then, unless all weigh the same, the counts.
    """

    def __init__(self, dim: int, bits: int) -> None:
        self.dim, self.bits = dim, bits
        self.weight = 0
        self._messages: list[tuple[NDArray[np.uint8], int]] = []
        self._counted: list[tuple[Tokens, Weights]] = []

    def add(self, payload: NDArray[np.uint8], weight: int, public: Draws) -> None:
        """Keep one client's tokens, to be counted `weight` times."""
        self._messages.append((payload, weight))
        self.weight += weight

    def merge(self, other: TokenTally) -> None:
        """Add another tally to this one."""
        self._messages += other._messages
        self._counted += other._counted
        self.weight += other.weight

    def value(self) -> tuple[Tokens, Weights]:
        """Return tokens, ascending at each coordinate, and their weights; where weights differ, the first of equals has all."""
        parts = [
            (unpacked(payload, self.dim, self.bits)[None], np.full((1, 1), weight, np.int64)) for payload, weight in self._messages
        ]
        parts += self._counted
        if not parts:
            return np.empty((0, self.dim), np.uint32), np.empty((0, self.dim), np.int64)
        tokens = np.concatenate([some for some, _ in parts])
        weights = np.concatenate([np.broadcast_to(count, some.shape) for some, count in parts])
        if weights.min() == weights.max():
            return np.sort(tokens.T.copy(), axis=1).T, weights
        order = np.argsort(tokens, axis=0, kind="stable")
        tokens, weights = np.take_along_axis(tokens, order, 0), np.take_along_axis(weights, order, 0)
        count_equals(tokens, weights)
        return tokens, weights

    def packed(self) -> NDArray[np.uint8]:
        """Return the histogram as bytes."""
        tokens, weights = self.value()
        rows = np.concatenate([np.empty(0, np.uint8), *(packed(np.ascontiguousarray(row), self.bits) for row in tokens)])
        if not weights.size or weights.min() == weights.max():
            return np.concatenate([np.zeros(1, np.uint8), rows])
        width = next(width for width in _WIDTHS if weights.max() < 1 << (8 * width - 1))
        counts = np.ascontiguousarray(weights.astype(f"<i{width}")).view(np.uint8).ravel()
        return np.concatenate([np.array([width], np.uint8), rows, counts])

    def add_packed(self, payload: NDArray[np.uint8], weight: int) -> None:
        """Add a histogram that crossed a wire: at each coordinate, its counts must add up to its weight."""
        width = int(payload[0]) if len(payload) else -1
        row = packed_size(self.dim, self.bits)
        if width not in (0, *_WIDTHS) or (len(payload) - 1) % max(1, row + width * self.dim):
            raise WireError(f"histogram refused: needs rows of {self.dim:,} tokens of {self.bits} bits, got other bytes")
        count = (len(payload) - 1) // max(1, row + width * self.dim)
        body = payload[1:]
        tokens = np.array([unpacked(body[n * row : (n + 1) * row], self.dim, self.bits) for n in range(count)], np.uint32)
        if width:
            weights = np.frombuffer(body[count * row :].tobytes(), f"<i{width}").reshape(count, self.dim).astype(np.int64)
        else:
            weights = np.full((count, self.dim), weight // max(1, count), np.int64)
        if (weights < 0).any() or (weights.sum(axis=0) != weight).any():
            raise WireError(f"histogram refused: needs counts that add up to its weight {weight:,}, got others")
        if count:
            self._counted.append((tokens, weights))
        self.weight += weight


def packed_size(dim: int, bits: int) -> int:
    """Return how many bytes hold `dim` tokens of `bits` bits."""
    return (dim * bits + 7) // 8


@numba.njit(nogil=True, cache=True)
def packed(tokens: NDArray[np.uint32], bits: int) -> NDArray[np.uint8]:
    """Return tokens one after the other, lowest bit first; bits past the end are zero."""
    out = np.zeros((tokens.size * bits + 7) // 8, np.uint8)
    held, waiting, byte = np.uint64(0), 0, 0
    for i in range(tokens.size):
        held |= np.uint64(tokens[i]) << np.uint64(waiting)
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
def unpacked(payload: NDArray[np.uint8], dim: int, bits: int) -> NDArray[np.uint32]:
    """Return the tokens `packed` was given."""
    out = np.empty(dim, np.uint32)
    held, waiting, byte = np.uint64(0), 0, 0
    mask = (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    for i in range(dim):
        while waiting < bits:
            held |= np.uint64(payload[byte]) << np.uint64(waiting)
            waiting += 8
            byte += 1
        out[i] = held & mask
        held >>= np.uint64(bits)
        waiting -= bits
    return out


@numba.njit(nogil=True, cache=True)
def count_equals(tokens: NDArray[np.uint32], weights: NDArray[np.int64]) -> None:
    """Move the weights of equal tokens, which stand below each other, to the first of them."""
    for i in range(tokens.shape[1]):
        first = 0
        for n in range(1, tokens.shape[0]):
            if tokens[n, i] == tokens[first, i]:
                weights[first, i] += weights[n, i]
                weights[n, i] = 0
            else:
                first = n
