"""The interface of a query's block: what a person contributes to it, and what its sums say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.statistics.answer import Noise, NoisyFigure
from tacit.statistics.cells import Batch

Sums = NDArray[np.float64]
"""Sums of contributions with noise, one per coordinate of a block."""


class Entries(NamedTuple):
    """Contributions that are not zero: the person, the coordinate, and the value. Values of the same
    coordinate of a person add up.
    """

    owner: NDArray[np.int64]
    place: NDArray[np.int64]
    value: NDArray[np.float64]


class Result(NamedTuple):
    """The figures of a query, the scale from a coordinate's noise to that of a count, and a note."""

    figures: tuple[NoisyFigure, ...]
    scale: float
    note: str = ""


class QueryBlock(Protocol):
    """A query as coordinates of a sum.

    Guarantees: the contributions of a person in a round have an L2 norm of at most 1, whatever the
    rows. `before` are the block's sums of the first round; the same `before` gives the same
    contributions at every site.
    """

    size: int

    def contribute(self, batch: Batch, before: Sums | None, noise: Noise) -> Entries:
        """The contributions of some people; `before` is None in the first round."""

    def answer(self, sums: Sequence[Sums], noise: Noise) -> Result:
        """The figures, from the sums of each round."""


def build_entries(
    owner: NDArray[np.int64], place: NDArray[np.int64], value: float | NDArray[np.float64]
) -> Entries:
    """Entries with one value each, or one value for all."""
    return Entries(owner, place.astype(np.int64), np.broadcast_to(np.float64(value), owner.shape))


def join_entries(parts: Sequence[Entries]) -> Entries:
    """Entries one after the other."""
    return Entries(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def average(sums: Sequence[Sums]) -> Sums:
    """The mean over rounds, for a block whose contributions are the same in each."""
    return np.asarray(np.mean(sums, axis=0), np.float64)
