"""Encoded rows, as features pass them to training: every client's rows as arrays, client after
client in one block.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]
"""One flat float32 row: a model or an update."""


class SparseUpdates(NamedTuple):
    """Updates that are zero except in some rows of the first layer and from `end` on: their values
    there, in increasing order.

    Update n has values[starts[n]:starts[n + 1]]: first its rows, then from `end` on. Its rows are
    named[name_starts[n]:name_starts[n + 1]], increasing; row m of `width` values begins at m ·
    width.
    """

    values: Vector
    starts: NDArray[np.int64]
    named: NDArray[np.int32]
    name_starts: NDArray[np.int64]
    width: int
    end: int

    @classmethod
    def of(cls, row: Vector) -> SparseUpdates:
        """Wrap one dense update."""
        none = np.zeros(2, np.int64)
        return cls(row, np.array([0, len(row)]), np.empty(0, np.int32), none, 1, 0)


@dataclass(frozen=True, kw_only=True)
class Sparse:
    """Rows that are mostly zero. The entries of row i are at starts[i]:starts[i+1]."""

    starts: NDArray[np.int64]
    columns: NDArray[np.int32]
    values: Vector | None  # None: every entry is one
    width: int

    def __len__(self) -> int:
        return len(self.starts) - 1

    def take(self, order: NDArray[np.int64]) -> Sparse:
        """Select rows, in the given order."""
        lengths = np.diff(self.starts)[order]
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        places = np.arange(starts[-1]) + np.repeat(self.starts[order] - starts[:-1], lengths)
        values = None if self.values is None else self.values[places]
        return Sparse(starts=starts, columns=self.columns[places], values=values, width=self.width)

    def followed_by(self, other: Self) -> Sparse:
        """Append the rows of another value."""
        values = None
        if self.values is not None or other.values is not None:
            ones = (
                np.ones(len(one.columns), np.float32) if one.values is None else one.values
                for one in (self, other)
            )
            values = np.concatenate([*ones])
        starts = np.concatenate([self.starts, self.starts[-1] + other.starts[1:]])
        return Sparse(
            starts=starts,
            columns=np.concatenate([self.columns, other.columns]),
            values=values,
            width=self.width,
        )


@dataclass(frozen=True, kw_only=True)
class Dense:
    """Rows as a full matrix: float32 features, or int32 token indices (`tokens`), padded to equal
    length.
    """

    matrix: NDArray[Any]
    width: int  # number of columns, or for tokens the number of distinct token indices
    tokens: bool = False

    def __len__(self) -> int:
        return len(self.matrix)

    def take(self, order: NDArray[np.int64]) -> Dense:
        """Select rows, in the given order."""
        return Dense(matrix=self.matrix[order], width=self.width, tokens=self.tokens)

    def followed_by(self, other: Self) -> Dense:
        """Append the rows of another value."""
        return Dense(
            matrix=np.concatenate([self.matrix, other.matrix]), width=self.width, tokens=self.tokens
        )


@dataclass(frozen=True, kw_only=True)
class Mixed:
    """Token sequences with further features; the width is that of the tokens."""

    tokens: Dense
    dense: Dense

    @property
    def width(self) -> int:
        """Number of distinct token indices."""
        return self.tokens.width

    def __len__(self) -> int:
        return len(self.tokens)

    def take(self, order: NDArray[np.int64]) -> Mixed:
        """Select rows, in the given order."""
        return Mixed(tokens=self.tokens.take(order), dense=self.dense.take(order))

    def followed_by(self, other: Self) -> Mixed:
        """Append the rows of another value."""
        return Mixed(
            tokens=self.tokens.followed_by(other.tokens),
            dense=self.dense.followed_by(other.dense),
        )


Inputs = Sparse | Dense | Mixed


@dataclass(frozen=True, kw_only=True)
class Rows:
    """Inputs with their labels; labels are class indices."""

    inputs: Inputs
    labels: NDArray[np.int32]
    classes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, order: NDArray[np.int64]) -> Rows:
        """Select rows, in the given order."""
        return Rows(inputs=self.inputs.take(order), labels=self.labels[order], classes=self.classes)

    def followed_by(self, other: Rows) -> Rows:
        """Concatenate with other rows, whose inputs are of the same kind."""
        inputs: Inputs = self.inputs.followed_by(other.inputs)  # type: ignore[arg-type]
        return Rows(
            inputs=inputs, labels=np.concatenate([self.labels, other.labels]), classes=self.classes
        )


@dataclass(frozen=True, kw_only=True)
class Clients:
    """Who holds which row: client c holds rows order[starts[c]:starts[c+1]] of the table."""

    order: NDArray[np.int64]
    starts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts) - 1

    def sizes(self) -> NDArray[np.int64]:
        """Number of rows of each client."""
        return np.diff(self.starts)

    def select(self, is_kept: NDArray[np.bool_]) -> Clients:
        """The same clients with some of their rows: one flag per entry of `order`."""
        before = np.concatenate([[0], np.cumsum(is_kept)])
        return Clients(order=self.order[is_kept], starts=before[self.starts].astype(np.int64))

    def in_place(self) -> Clients:
        """The same clients over rows that are already in client order."""
        return Clients(order=np.arange(len(self.order)), starts=self.starts)


@dataclass(frozen=True, kw_only=True)
class Lexicon:
    """The words of token indices, and their public vectors if there are any (zero where a word has
    none).

    Token `len(words)` is the padding. A site or a simulator holds one lexicon for all clients, so
    that one block of rows serves clients with different vocabularies. A client's handling of its
    own words depends on nobody else's words. `spread` is the standard deviation of coordinates of
    random vectors, a constant of the public table. `stems` are public vectors of shortened words,
    whether or not a text contains them. A word that occurs fewer than `min_count` times in a
    client's own texts is unknown to that client.
    """

    words: tuple[str, ...]
    vectors: NDArray[np.float32] | None = None
    spread: float = 0.4
    """About the standard deviation of GloVe's coordinates."""
    stems: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)
    min_count: int = 1

    def known(self) -> NDArray[np.bool_]:
        """Which words have a public vector."""
        if self.vectors is None:
            return np.zeros(len(self.words), np.bool_)
        return np.asarray(np.abs(self.vectors).sum(axis=1) > 0)


def find_picture_shape(values: int) -> tuple[int, int] | None:
    """Side and channels of a square image with this number of values, grey or RGB; None if there
    is none.

    No number is both a square and three times a square, so the shape follows from the count.
    """
    for channels in (1, 3):
        side = math.isqrt(values // channels)
        if side and side * side * channels == values:
            return side, channels
    return None
