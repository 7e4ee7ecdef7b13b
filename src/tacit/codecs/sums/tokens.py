"""Count of tokens nobody here can read: per coordinate, which tokens were sent and with how much
weight. Exact in any order.

A table of all counts would be far too large, so messages are kept, as numbers. What leaves is the
histogram: the tokens of each coordinate in ascending order, so that the order of clients is gone.
Where weights differ, each token has its weight beside it, as a number into a table of all weights:
a client with a weight of its own can be followed from coordinate to coordinate. Long tokens that
are the same at all coordinates are few, so they too become numbers into a table (`names.py`).
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
"""A token may stand for so many half steps at most, so that weighted sums of what tokens stand for
fit 64 bits.
"""


@dataclass(frozen=True)
class TokenCounts:
    """Some messages: per message and coordinate a key, which is the number of a token, then in its
    lowest bits that of a weight.

    Tables of weights and names are in ascending order; without names the number of a token is the
    token.
    """

    keys: NDArray[Any]
    weights: Weights
    names: Names | None

    @property
    def weight_bits(self) -> int:
        """Return how many bits of a key are the number of a weight."""
        return max(0, len(self.weights) - 1).bit_length()

    def tokens(self, here: slice) -> NDArray[Any]:
        """Return the numbers of tokens at some coordinates, a row per message."""
        return np.asarray(self.keys[:, here] >> self.weight_bits)

    def weights_of(self, here: slice) -> Weights:
        """Return the weight of each of these tokens."""
        return np.asarray(self.weights[self.keys[:, here] & ((1 << self.weight_bits) - 1)])

    def under(self, weights: Weights, names: Names | None, width: int) -> NDArray[Any]:
        """Return the keys by larger tables of weights and names, in arrays for keys of `width`
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

    As bytes: how many messages, weights and names there are (32 bits each, and 32 zeros), the
    weights and names in ascending order (64 bits each; names of more than 64 bits take 128), then a
    row of keys per message, packed.
    """

    def __init__(self, dim: int, count: int, name_bits: int | None = None) -> None:
        self.dim, self.count, self.named = dim, count, name_bits is not None
        self.bits = (count - 1).bit_length() if name_bits is None else name_bits
        self.weight = 0
        self.at_ends: float | None = (
            None  # what share of the values lies in outermost channels; whoever decodes finds out
        )
        self._parts: list[TokenCounts] = []

    def add(self, payload: NDArray[np.uint8], weight: int, public: PublicDraws) -> None:
        """Keep one client's tokens, to be counted `weight` times; refuse a token that cannot be."""
        self.keep(self.read(payload, weight), weight)

    def read(self, payload: NDArray[np.uint8], weight: int) -> TokenCounts:
        """Return one client's tokens, checked but not counted yet."""
        check_size(payload, count_packed_bytes(self.dim, self.bits))
        check_weight(self.weight, weight, _LARGEST)
        names = None
        if self.named:
            names, keys = number_tokens(payload, self.dim, self.bits)
        else:
            keys = unpack_integers(payload, self.dim, self.bits)
            if self.count != 1 << self.bits and keys.max(initial=0) >= self.count:
                raise WireError(
                    f"update refused: needs tokens from 0 to {self.count - 1}, got others"
                )
        return TokenCounts(keys[None], np.array([weight]), names)

    def keep(self, checked: TokenCounts, weight: int) -> None:
        """Count tokens that were checked."""
        self._parts.append(checked)
        self.weight += weight

    def merge(self, other: TokenTally) -> None:
        """Add another tally to this one."""
        check_dimensions(self.dim, other.dim)
        check_weight(self.weight, other.weight, _LARGEST, least=0)
        self._parts += other._parts
        self.weight += other.weight

    def value(self) -> tuple[NDArray[Any], Weights]:
        """Return all tokens, ascending at each coordinate, and their weights, a row per message."""
        all_of_it, counted = slice(None), self.build_histogram()
        tokens = counted.tokens(all_of_it)
        if counted.names is None:
            return tokens.astype(np.uint32), counted.weights_of(all_of_it)
        found = counted.names[tokens]
        return found[..., 0].astype(np.uint32) if self.bits <= 32 else found, counted.weights_of(
            all_of_it
        )

    def build_histogram(self) -> TokenCounts:
        """Return the histogram: keys in ascending order at each coordinate."""
        weights, names, width = self._tables()
        keys = np.empty((self._messages(), self.dim), choose_dtype(width))
        self._sort_into(keys, weights, names, width)
        return TokenCounts(keys, weights, names)

    def pack(self) -> NDArray[np.uint8]:
        """Return the histogram as bytes."""
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
        if width == 8 * choose_dtype(width).itemsize:  # sorted where they are needed
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
        """Add a histogram that crossed a wire: its tokens must be possible, and at each coordinate
        add up to its weight.
        """
        self.keep(self.read_packed(payload, weight), weight)

    def read_packed(self, payload: NDArray[np.uint8], weight: int) -> TokenCounts:
        """Return a histogram that crossed a wire, checked but not counted yet."""
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
            self._refuse(f"needs rows of {self.dim:,} tokens of {self.bits} bits, got other bytes")
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
            self._refuse("needs tokens that can be, got others")
        return found

    def _check_weights(self, found: TokenCounts, weight: int) -> None:
        kinds = found.weights
        if (
            (kinds <= 0).any()
            or (kinds[1:] <= kinds[:-1]).any()
            or (len(kinds) > 0) != (len(found.keys) > 0)
        ):
            self._refuse("needs weights above 0 in ascending order, got others")
        if len(kinds) and int(kinds[-1]) > weight:
            self._refuse(f"a weight is larger than that of all together, {weight:,}")
        if len(kinds) == 1 and len(found.keys) * int(kinds[0]) != weight:
            self._refuse(f"needs counts that add up to its weight {weight:,}, got others")
        if len(kinds) > 1:
            self._check_sums(found.keys & ((1 << found.weight_bits) - 1), kinds, weight)
        if not len(kinds) and weight:
            self._refuse(f"needs counts that add up to its weight {weight:,}, got none")

    def _check_sums(self, numbers: NDArray[Any], kinds: Weights, weight: int) -> None:
        """Refuse weights, by their numbers in the table, that do not add up; each sum is looked at
        before it could wrap.
        """
        if self.dim and int(numbers.max()) >= len(kinds):
            self._refuse("needs weights of its table, got others")
        sums = np.zeros(self.dim, np.int64)
        for row in numbers:
            sums += kinds[row]
            if (sums > weight).any():
                break
        if (sums != weight).any():
            self._refuse(f"needs counts that add up to its weight {weight:,}, got others")

    def _check_names(self, names: Names | None) -> None:
        """Refuse a table of names that are too long, or not in ascending order."""
        if names is None or not len(names):
            return
        top, bits = names[:, -1], self.bits - 64 * (names.shape[1] - 1)
        if bits < 64 and (top >> np.uint64(bits)).any():
            self._refuse(f"needs names of {self.bits} bits, got longer ones")
        rising = top[1:] > top[:-1]
        if names.shape[1] == 2:
            rising |= (top[1:] == top[:-1]) & (names[1:, 0] > names[:-1, 0])
        if not rising.all():
            self._refuse("needs names in ascending order, each once, got others")

    def _refuse(self, why: str) -> NoReturn:
        raise WireError(f"histogram refused: {why}")

    def _messages(self) -> int:
        return sum(len(part.keys) for part in self._parts)

    def _width(self, weights: int, names: int) -> int:
        """Return how many bits a key has."""
        token_bits = max(0, names - 1).bit_length() if self.named else self.bits
        return token_bits + max(0, weights - 1).bit_length()

    def _tables(self) -> tuple[Weights, Names | None, int]:
        """Return the weights and names of all messages, and how many bits a key has."""
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
            [row for part in self._parts for row in part.under(weights, names, width)], keys
        )
