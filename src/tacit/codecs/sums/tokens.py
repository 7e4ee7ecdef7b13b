"""Tally of unreadable tokens: per coordinate, which tokens were sent and with how much weight.
Exact in any order.

A table of all counts would be far too large, so messages are kept as numbers. What leaves is the
histogram: the tokens of each coordinate in ascending order, which removes the order of clients.
Where weights differ, each token carries its weight, as an index into a table of all weights: a
client with a unique weight can be followed from coordinate to coordinate. Long tokens that are the
same at all coordinates are few, so they too become indices into a table (`names.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from tacit.codecs.sums.checks import check_dimensions, check_size, check_weight
from tacit.codecs.sums.names import Names, count_words, find_places, merge_tables, number_tokens
from tacit.codecs.sums.packing import (
    choose_dtype,
    count_packed_bytes,
    pack_integers,
    unpack_integers,
)
from tacit.codecs.sums.sorting import sort_columns
from tacit.errors import WireError
from tacit.randomness import PublicDraws

__all__ = ["TokenCounts", "TokenTally", "count_packed_bytes", "pack_integers"]

Weights = NDArray[np.int64]
_HEAD = 16
_LARGEST = 256
"""Largest value of a token in half steps, so that weighted sums of token values fit 64 bits."""


@dataclass(frozen=True)
class TokenCounts:
    """Some messages: per message and coordinate a key, the index of a token with the index of a
    weight in its lowest bits.

    Tables of weights and names are in ascending order; without names the index of a token is the
    token.
    """

    keys: NDArray[Any]
    weights: Weights
    names: Names | None

    @property
    def weight_bits(self) -> int:
        """Number of bits of a key that hold the index of a weight."""
        return max(0, len(self.weights) - 1).bit_length()

    def tokens(self, here: slice) -> NDArray[Any]:
        """Indices of tokens at some coordinates, one row per message."""
        return np.asarray(self.keys[:, here] >> self.weight_bits)

    def select_weights(self, here: slice) -> Weights:
        """Weights of the tokens at some coordinates, one row per message."""
        return np.asarray(self.weights[self.keys[:, here] & ((1 << self.weight_bits) - 1)])

    def reindex(self, weights: Weights, names: Names | None, width: int) -> NDArray[Any]:
        """Translate the keys to larger tables of weights and names, in arrays for keys of `width`
        bits.
        """
        same = names is None or self.names is None or np.array_equal(self.names, names)
        if len(weights) == 1 and same and self.keys.dtype == choose_dtype(width):
            return self.keys
        weight = np.searchsorted(weights, self.weights)[self.keys & ((1 << self.weight_bits) - 1)]
        token = self.keys >> self.weight_bits
        if names is not None and self.names is not None and not same:
            token = find_places(self.names, names)[token]
        bits = max(0, len(weights) - 1).bit_length()
        return np.asarray(
            (token.astype(choose_dtype(width)) << bits) | weight.astype(choose_dtype(width))
        )


class TokenTally:
    """A histogram per coordinate over `count` tokens, or with `name_bits` over any number of tokens
    of that many bits.

    Serialised: the numbers of messages, weights and names (32 bits each, and 32 zeros), the weights
    and names in ascending order (64 bits each; names of more than 64 bits take 128), then a packed
    row of keys per message.
    """

    def __init__(self, dim: int, count: int, name_bits: int | None = None) -> None:
        self.dim, self.count, self.named = dim, count, name_bits is not None
        self.bits = (count - 1).bit_length() if name_bits is None else name_bits
        self.weight = 0
        self.at_ends: float | None = (
            None  # share of values in the outermost channels, set when decoding
        )
        self._parts: list[TokenCounts] = []

    def add(self, payload: NDArray[np.uint8], weight: int, public: PublicDraws) -> None:
        """Keep one client's tokens, to be counted `weight` times; refuse invalid tokens."""
        self.keep(self.read(payload, weight), weight)

    def read(self, payload: NDArray[np.uint8], weight: int) -> TokenCounts:
        """Read and check one client's tokens, without counting them."""
        check_size(payload, count_packed_bytes(self.dim, self.bits))
        check_weight(self.weight, weight, _LARGEST)
        names = None
        if self.named:
            names, keys = number_tokens(payload, self.dim, self.bits)
        else:
            keys = unpack_integers(payload, self.dim, self.bits)
            if self.count != 1 << self.bits and keys.max(initial=0) >= self.count:
                raise WireError(
                    f"update refused: it contains token {keys.max()}; tokens are 0 to"
                    f" {self.count - 1}"
                )
        return TokenCounts(keys[None], np.array([weight]), names)

    def keep(self, checked: TokenCounts, weight: int) -> None:
        """Count checked tokens."""
        self._parts.append(checked)
        self.weight += weight

    def merge(self, other: TokenTally) -> None:
        """Add another tally to this one."""
        check_dimensions(self.dim, other.dim)
        check_weight(self.weight, other.weight, _LARGEST, least=0)
        self._parts += other._parts
        self.weight += other.weight

    def value(self) -> tuple[NDArray[Any], Weights]:
        """All tokens, ascending at each coordinate, and their weights, one row per message."""
        all_of_it, counted = slice(None), self.build_histogram()
        tokens = counted.tokens(all_of_it)
        if counted.names is None:
            return tokens.astype(np.uint32), counted.select_weights(all_of_it)
        found = counted.names[tokens]
        return found[..., 0].astype(
            np.uint32
        ) if self.bits <= 32 else found, counted.select_weights(all_of_it)

    def build_histogram(self) -> TokenCounts:
        """Build the histogram: keys in ascending order at each coordinate."""
        weights, names, width = self._tables()
        keys = np.empty((self._messages(), self.dim), choose_dtype(width))
        self._sort_into(keys, weights, names, width)
        return TokenCounts(keys, weights, names)

    def pack(self) -> NDArray[np.uint8]:
        """Serialise the histogram."""
        weights, names, width = self._tables()
        count, row = self._messages(), count_packed_bytes(self.dim, width)
        words = np.empty(0, np.uint64) if names is None else names.ravel()
        head = [
            np.array([count, len(weights), 0 if names is None else len(names), 0], "<u4"),
            weights.astype("<i8"),
            words,
        ]
        lead = np.concatenate([part.view(np.uint8) for part in head])
        out = np.empty(len(lead) + count * row, np.uint8)
        out[: len(lead)] = lead
        if width == 8 * choose_dtype(width).itemsize:  # sort in place
            self._sort_into(
                out[len(lead) :].view(choose_dtype(width)).reshape(count, self.dim),
                weights,
                names,
                width,
            )
            return out
        keys = np.empty((count, self.dim), choose_dtype(width))
        self._sort_into(keys, weights, names, width)
        for n, one in enumerate(keys):
            out[len(lead) + n * row : len(lead) + (n + 1) * row] = pack_integers(one, width)
        return out

    def add_packed(self, payload: NDArray[np.uint8], weight: int) -> None:
        """Add a serialised histogram. Its tokens must be valid, and at each coordinate add up to
        its weight.
        """
        self.keep(self.read_packed(payload, weight), weight)

    def read_packed(self, payload: NDArray[np.uint8], weight: int) -> TokenCounts:
        """Read and check a serialised histogram, without counting it."""
        check_weight(self.weight, weight, _LARGEST, least=0)
        count, kinds, called, zero = (
            payload[:_HEAD].view("<u4").tolist() if len(payload) >= _HEAD else (0, 0, 0, 1)
        )
        words, at = called * count_words(self.bits) if self.named else called, _HEAD + 8 * kinds
        width = min(64, self._width(kinds, called))
        row, begin = count_packed_bytes(self.dim, width), at + 8 * words
        if (
            zero
            or (called > 0) != (self.named and count * self.dim > 0)
            or len(payload) != begin + count * row
        ):
            self._refuse(f"it is not made of rows of {self.dim:,} tokens of {self.bits} bits")
        weights = payload[_HEAD:at].view("<i8").astype(np.int64)
        names = (
            payload[at:begin].view("<u8").reshape(called, -1 if called else count_words(self.bits))
            if self.named
            else None
        )
        keys = np.empty((count, self.dim), choose_dtype(width))
        for n in range(count):
            keys[n] = unpack_integers(
                payload[begin + n * row : begin + (n + 1) * row].copy(), self.dim, width
            )
        found = TokenCounts(keys, weights, None if names is None else names.astype(np.uint64))
        self._check_names(found.names)
        self._check_weights(found, weight)
        tokens = called if self.named else self.count
        if count * self.dim and (int(keys.max()) >> found.weight_bits) >= tokens:
            self._refuse(f"it contains a token above the largest, {tokens - 1:,}")
        return found

    def _check_weights(self, found: TokenCounts, weight: int) -> None:
        kinds = found.weights
        if (
            (kinds <= 0).any()
            or (kinds[1:] <= kinds[:-1]).any()
            or (len(kinds) > 0) != (len(found.keys) > 0)
        ):
            self._refuse("its weights must be positive and in ascending order")
        if len(kinds) and int(kinds[-1]) > weight:
            self._refuse(f"one of its weights exceeds its total weight {weight:,}")
        if len(kinds) == 1 and len(found.keys) * int(kinds[0]) != weight:
            self._refuse(f"its counts do not add up to its weight {weight:,}")
        if len(kinds) > 1:
            self._check_sums(found.keys & ((1 << found.weight_bits) - 1), kinds, weight)
        if not len(kinds) and weight:
            self._refuse(f"it is empty, but its weight is {weight:,}")

    def _check_sums(self, numbers: NDArray[Any], kinds: Weights, weight: int) -> None:
        """Refuse weights, by their indices in the table, that do not add up; each sum is checked
        before it could overflow.
        """
        if self.dim and int(numbers.max()) >= len(kinds):
            self._refuse("it refers to a weight that is not in its table")
        sums = np.zeros(self.dim, np.int64)
        for row in numbers:
            sums += kinds[row]
            if (sums > weight).any():
                break
        if (sums != weight).any():
            self._refuse(f"its counts do not add up to its weight {weight:,}")

    def _check_names(self, names: Names | None) -> None:
        """Refuse a table with names that are too long, or not in ascending order."""
        if names is None or not len(names):
            return
        top, bits = names[:, -1], self.bits - 64 * (names.shape[1] - 1)
        if bits < 64 and (top >> np.uint64(bits)).any():
            self._refuse(f"it contains a name of more than {self.bits} bits")
        rising = top[1:] > top[:-1]
        if names.shape[1] == 2:
            rising |= (top[1:] == top[:-1]) & (names[1:, 0] > names[:-1, 0])
        if not rising.all():
            self._refuse("its names must be distinct and in ascending order")

    def _refuse(self, why: str) -> NoReturn:
        raise WireError(f"histogram refused: {why}")

    def _messages(self) -> int:
        return sum(len(part.keys) for part in self._parts)

    def _width(self, weights: int, names: int) -> int:
        """Number of bits of a key."""
        token_bits = max(0, names - 1).bit_length() if self.named else self.bits
        return token_bits + max(0, weights - 1).bit_length()

    def _tables(self) -> tuple[Weights, Names | None, int]:
        """Weights and names of all messages, and the number of bits of a key."""
        weights = np.unique(
            np.concatenate([np.empty(0, np.int64), *(part.weights for part in self._parts)])
        )
        names = (
            merge_tables([part.names for part in self._parts if part.names is not None], self.bits)
            if self.named
            else None
        )
        return weights, names, self._width(len(weights), 0 if names is None else len(names))

    def _sort_into(
        self, keys: NDArray[Any], weights: Weights, names: Names | None, width: int
    ) -> None:
        sort_columns(
            [row for part in self._parts for row in part.reindex(weights, names, width)], keys
        )
