"""Tokens that replace channels in a message, so that only holders of the clients' secret know the
channels.

Keyed tokens: for each round and coordinate the secret gives one random permutation of the 2^L
channels, and the token is the image of the channel. It takes L bits. A server without the secret
sees whether two clients sent the same channel at the same coordinate and round. A uniform
permutation reveals nothing else: not the channel, not the distance of two channels, and nothing
across coordinates or rounds, since each has its own permutation. (Adding or multiplying by a secret
number would reveal differences or ratios.) The permutation is a Fisher-Yates shuffle by an AES-CTR
keystream under HMAC-SHA-256(secret, round); choosing by 32-bit words is uneven by at most 2^-16 at
16 levels. Work grows as 2^L per coordinate.

Paper tokens: a keyed hash of the string that names the channel, truncated to 28 or 128 bits: the
same for all coordinates and rounds. Without a secret anybody can enumerate them. With one, tokens
that follow each other from round to round still reveal the order of channels. They are kept to
demonstrate this.

The hash is SHA-256 or SHA3-256, as HMAC under the clients' secret; without a secret it is the plain
hash of the name.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, Literal, Protocol

import numba
import numpy as np
from numpy.typing import NDArray

from tacit.codecs.sums.names import Names
from tacit.codecs.sums.tokens import TokenCounts
from tacit.errors import WireError
from tacit.quantisation.quantiser import Channels, Levels, Quantiser
from tacit.randomness import Draws

Hash = Literal["sha256", "sha3"]
PAPER_BITS = 28
_HASHES: dict[Hash, str] = {"sha256": "sha256", "sha3": "sha3_256"}
_TABLE = 1 << 18  # entries of permutations drawn at a time
_KEPT = 1 << 23  # largest number of entries that is cached for a round
Table = NDArray[np.uint16]


class Tokens(Protocol):
    """A mapping from channels to tokens and back, for one round."""

    bits: int

    def hide(self, channels: Channels, level: Levels) -> NDArray[Any]:
        """Map each coordinate's channel to its token: a number, or two 64-bit words, the lower
        first.
        """

    def reveal(self, sent: TokenCounts, level: Levels) -> Iterator[tuple[slice, Channels]]:
        """Yield the channels that were sent, block by block of coordinates; raise WireError for a
        token that no client makes.
        """


def derive_round_key(secret: bytes, round_no: int, kind: Hash = "sha256") -> Draws:
    """Derive the draws that clients share in one round, under a key of its own."""
    return Draws(hmac.digest(secret, f"tacit hashcomb round {round_no}".encode(), _HASHES[kind]))


class KeyedTokens:
    """A permutation of the channels for each coordinate of one round."""

    def __init__(self, key: Draws, levels: int, count: int | None = None) -> None:
        """`count` is the number of channels, if it is not that of the finest level."""
        self._key, self._size, self.bits = key.at("permutations"), count or 1 << levels, levels

    def hide(self, channels: Channels, level: Levels) -> Channels:
        """Map each coordinate's channel to its token."""
        tokens = np.empty_like(channels)
        for here, table in self._blocks(len(channels)):
            tokens[here] = np.take_along_axis(table, channels[here, None].astype(np.int64), 1)[:, 0]
        return tokens

    def reveal(self, sent: TokenCounts, level: Levels) -> Iterator[tuple[slice, Channels]]:
        """Yield the channels that were sent, one row per message; refuse tokens of channels beyond
        their level.
        """
        for here, table in self._blocks(len(level)):
            channels = np.take_along_axis(invert(table), sent.tokens(here).T.astype(np.int64), 1).T
            if (channels >> level[here]).any():
                raise WireError(
                    "histogram refused: it contains a token that no client of this round can have"
                    " sent"
                )
            yield here, channels.astype(np.uint32)

    def _blocks(self, dim: int) -> Iterable[tuple[slice, Table]]:
        """Permutations of blocks of coordinates: a slice, and a table with one row per coordinate."""
        small = dim * self._size <= _KEPT
        return (
            _cache_permutations(self._key, self._size, dim)
            if small
            else draw_permutations(self._key, self._size, dim)
        )


def draw_permutations(key: Draws, size: int, dim: int) -> Iterator[tuple[slice, Table]]:
    """Yield one permutation of `size` channels per coordinate, in blocks of coordinates."""
    rows, stream = max(1, _TABLE // size), key.stream()
    for start in range(0, dim, rows):
        here = slice(start, min(start + rows, dim))
        words = np.empty((here.stop - start, size), np.uint32)
        stream.fill(words)
        yield here, shuffle(words)


@lru_cache(maxsize=8)
def _cache_permutations(key: Draws, size: int, dim: int) -> tuple[tuple[slice, Table], ...]:
    """Draw all permutations at once: a client encodes and decodes with them, and so does every
    other client of its site.
    """
    return tuple(draw_permutations(key, size, dim))


class PaperTokens:
    """One hash per channel, under the secret or (b"") none."""

    def __init__(
        self,
        quantiser: Quantiser,
        secret: bytes = b"",
        bits: int = PAPER_BITS,
        kind: Hash = "sha256",
    ) -> None:
        self._quantiser, self._secret, self.bits, self._hash = quantiser, secret, bits, kind

    def hide(self, channels: Channels, level: Levels) -> NDArray[Any]:
        """Map each coordinate's channel to its token."""
        tables = {one: self.table(one) for one in np.unique(level).tolist()}
        tokens = np.empty((len(channels), *self.table(0).shape[1:]), self.table(0).dtype)
        for one, table in tables.items():
            here = level == one
            tokens[here] = table[channels[here]]
        return tokens

    def reveal(self, sent: TokenCounts, level: Levels) -> Iterator[tuple[slice, Channels]]:
        """Yield the channels that were sent, one row per message; of channels with the same token,
        the lowest.
        """
        assert sent.names is not None
        known = {one: self._channels(sent.names, one) for one in np.unique(level).tolist()}
        for start in range(0, len(level), _TABLE >> 6):
            here = slice(start, min(start + (_TABLE >> 6), len(level)))
            tokens, found = (
                sent.tokens(here),
                np.empty((len(sent.keys), here.stop - start), np.int64),
            )
            for one in np.unique(level[here]).tolist():
                at_level = level[here] == one
                found[:, at_level] = known[one][tokens[:, at_level]]
            if (found < 0).any():
                raise WireError("histogram refused: it contains a token of no agreed channel")
            yield here, found.astype(np.uint32)

    def _channels(self, names: Names, level: int) -> NDArray[np.int64]:
        """Channel of each token at a level; -1 for none."""
        table = self.table(level).astype(np.uint64).reshape(1 << level, -1)
        channels = {name.tobytes(): channel for channel, name in reversed(list(enumerate(table)))}
        return np.array([channels.get(name.tobytes(), -1) for name in names], np.int64)

    def table(self, level: int) -> NDArray[Any]:
        """Tokens of all channels of a level."""
        names = (self._quantiser.node(level, channel) for channel in range(1 << level))
        tokens = [hash_name(self._secret, name, self.bits, self._hash) for name in names]
        if self.bits <= 32:
            return np.array(tokens, np.uint32)
        return np.array([(token & ((1 << 64) - 1), token >> 64) for token in tokens], np.uint64)


def hash_name(secret: bytes, name: str, bits: int = PAPER_BITS, kind: Hash = "sha256") -> int:
    """Token of a channel with this name, under the secret or (b"") none."""
    full = (
        hmac.digest(secret, name.encode(), _HASHES[kind])
        if secret
        else hashlib.new(_HASHES[kind], name.encode()).digest()
    )
    return int.from_bytes(full, "little") & ((1 << bits) - 1)


@numba.njit(nogil=True, cache=True)
def shuffle(words: NDArray[np.uint32]) -> NDArray[np.uint16]:
    """Draw one permutation of 0, 1, … per row; the words of the row decide its swaps."""
    rows, size = words.shape
    table = np.empty((rows, size), np.uint16)
    for row in range(rows):
        for i in range(size):
            table[row, i] = i
        for i in range(size - 1, 0, -1):
            j = (np.uint64(words[row, i]) * np.uint64(i + 1)) >> np.uint64(32)
            table[row, i], table[row, j] = table[row, j], table[row, i]
    return table


@numba.njit(nogil=True, cache=True)
def invert(table: NDArray[np.uint16]) -> NDArray[np.uint16]:
    """Invert the permutation of each row."""
    back = np.empty_like(table)
    for row in range(table.shape[0]):
        for i in range(table.shape[1]):
            back[row, table[row, i]] = i
    return back
