"""Collisions of truncated hashes: how often two channels have the same token, and how many values
are then read wrongly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.codecs.hashcomb.tokens import PAPER_BITS, hash_name
from tacit.quantisation.quantiser import Quantiser

LEVELS = tuple(range(8, 17))
_WIDE = 128


@dataclass(frozen=True, kw_only=True)
class Collisions:
    """Pairs of channels with the same token over a whole tree of `levels` levels, and their effect
    at the finest level.

    `wide` counts pairs at 128 bits, `misread` is the share of values whose channel has the token of
    a lower one.
    """

    levels: int
    channels: int
    expected: float
    observed: int
    wide: int
    misread: float


def count_collisions(
    quantiser: Quantiser, secret: bytes, values: NDArray[np.float32]
) -> list[Collisions]:
    """Count collisions in trees of 8 to 16 levels over a range, and the share of values that they
    make unreadable.
    """
    tree = [
        [quantiser.node(level, channel) for channel in range(1 << level)]
        for level in range(LEVELS[-1] + 1)
    ]
    names = [name for level in tree for name in level]
    short = np.array([hash_name(secret, name) for name in names], np.int64)
    wide = np.array(
        [hash_name(secret, name, _WIDE).to_bytes(_WIDE // 8, "little") for name in names],
        f"V{_WIDE // 8}",
    )
    found = []
    for levels in LEVELS:
        count = (2 << levels) - 1
        found.append(
            Collisions(
                levels=levels,
                channels=count,
                expected=count * (count - 1) / 2 / 2**PAPER_BITS,
                observed=_pairs(short[:count]),
                wide=_pairs(wide[:count]),
                misread=_misread(short[count >> 1 : count], quantiser, levels, values),
            )
        )
    return found


def _pairs(tokens: NDArray[np.generic]) -> int:
    counts = np.unique(tokens, return_counts=True)[1].astype(np.int64)
    return int((counts * (counts - 1) // 2).sum())


def _misread(
    tokens: NDArray[np.int64], quantiser: Quantiser, levels: int, values: NDArray[np.float32]
) -> float:
    """Share of values in channels of the finest level whose token equals that of a lower channel."""
    first = np.unique(tokens, return_index=True)[1]
    wrong = np.ones(len(tokens), np.bool_)
    wrong[first] = False
    return float(wrong[quantiser.channels(values, np.full(len(values), levels, np.uint8))].mean())
