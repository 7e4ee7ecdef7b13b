"""Several tallies for messages with several tokens per coordinate: one tally for each token."""

from __future__ import annotations

from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from tacit.codecs.sums.checks import check_dimensions, check_size
from tacit.codecs.sums.packing import count_packed_bytes
from tacit.codecs.sums.tokens import TokenCounts, TokenTally
from tacit.errors import WireError
from tacit.randomness import PublicDraws

_LENGTH = 8


class JoinedTally:
    """Several tallies. Serialised: the bytes of each, preceded by their number (64 bits)."""

    def __init__(self, parts: tuple[TokenTally, ...]) -> None:
        self.parts, self.weight = parts, 0
        self.at_ends: float | None = (
            None  # share of values in the outermost channels, set when decoding
        )

    def add(self, payload: NDArray[np.uint8], weight: int, public: PublicDraws) -> None:
        """Add one client's tokens to all tallies; refuse all of them if one is invalid."""
        sizes = [count_packed_bytes(part.dim, part.bits) for part in self.parts]
        check_size(payload, sum(sizes))
        begins = [0, *accumulate(sizes)]
        pieces = [payload[begin:end].copy() for begin, end in pairwise(begins)]
        self._keep(
            [part.read(piece, weight) for part, piece in zip(self.parts, pieces, strict=True)],
            weight,
        )

    def merge(self, other: JoinedTally) -> None:
        """Add another joined tally to this one."""
        check_dimensions(len(self.parts), len(other.parts))
        for part, more in zip(self.parts, other.parts, strict=True):
            part.merge(more)
        self.weight += other.weight

    def pack(self) -> NDArray[np.uint8]:
        """Serialise all histograms."""
        pieces = [part.pack() for part in self.parts]
        return np.concatenate(
            [
                some
                for piece in pieces
                for some in (np.array([len(piece)], "<i8").view(np.uint8), piece)
            ]
        )

    def add_packed(self, payload: NDArray[np.uint8], weight: int) -> None:
        """Add serialised histograms; each must add up to the weight."""
        begin, read = 0, []
        for part in self.parts:
            length = (
                int(payload[begin : begin + _LENGTH].copy().view("<i8").sum())
                if len(payload) >= begin + _LENGTH
                else -1
            )
            begin += _LENGTH
            if not 0 <= length <= len(payload) - begin:
                raise WireError(
                    f"histogram refused: its {len(payload):,} bytes end before"
                    f" {len(self.parts)} histograms are complete"
                )
            read.append(part.read_packed(payload[begin : begin + length].copy(), weight))
            begin += length
        if begin != len(payload):
            raise WireError(
                f"histogram refused: {len(payload) - begin:,} bytes follow the"
                f" {len(self.parts)} agreed histograms"
            )
        self._keep(read, weight)

    def _keep(self, read: list[TokenCounts], weight: int) -> None:
        """Count checked tokens in all tallies."""
        for part, checked in zip(self.parts, read, strict=True):
            part.keep(checked, weight)
        self.weight += weight
