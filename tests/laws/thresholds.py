"""The integer thresholds a one-bit codec really uses, found by asking it, and the exact loss between two of them."""

import math

import numpy as np
from numpy.typing import NDArray

from tacit import codecs
from tacit.randomness import ClientDraws, Draws
from tests.roles import encode

WORD = 1 << 32


class Words(ClientDraws):
    """Stands in for a client's own draws: hands out the words it was given."""

    def __init__(self, words: NDArray[np.uint32]) -> None:
        super().__init__(b"words")
        object.__setattr__(self, "given", Given(words))

    def stream(self) -> "Given":
        return self.given


class Given:
    """A stream of known words."""

    def __init__(self, words: NDArray[np.uint32]) -> None:
        self.words, self.used = words, 0

    def fill(self, out: NDArray[np.uint32]) -> None:
        out[:] = self.words[self.used : self.used + len(out)]
        self.used += len(out)


def of(made: codecs.Codec, update: NDArray[np.float32], bits: int) -> NDArray[np.int64]:
    """Return for each sent bit how many of the 2^32 words make it a 1, by bisection through the codec itself."""
    low, high = np.zeros(bits, np.int64), np.full(bits, WORD, np.int64)
    while (low < high).any():
        middle = (low + high) // 2
        asked = Words(np.minimum(middle, WORD - 1).astype(np.uint32))
        payload = encode(made, update, asked, Draws.seeded(0)).payload
        ones = np.unpackbits(payload, bitorder="little")[:bits].astype(bool) & (middle < WORD)
        low, high = np.where(ones, middle + 1, low), np.where(ones, high, middle)
    return low


def loss(one: NDArray[np.int64], other: NDArray[np.int64]) -> float:
    """Return the largest log ratio of the probabilities of any output under two lists of thresholds."""
    ones, zeros = np.log1p((one - other) / other), np.log1p((other - one) / (WORD - other))
    return math.fsum(np.maximum(ones, zeros).tolist())
