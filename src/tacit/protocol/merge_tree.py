"""Merging of chunks' sums in a fixed tree, so that float sums are the same to the bit wherever, and in
whichever order, the chunks were computed.

Chunks are merged in pairs, then pairs of pairs, and so on; a part without a partner waits for the next
level. The tree depends on the number of chunks alone. A block of 2^level neighbouring chunks is a node
of it, so one machine can merge a block by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, Protocol, Self, TypeVar


class Mergeable(Protocol):
    """A result that takes over a later one."""

    def merged(self, other: Self) -> Self:
        """Merge with the result of the chunks that follow; both are consumed."""


Node = TypeVar("Node", bound=Mergeable)
_Item = TypeVar("_Item")


class MergeTree(Generic[Node]):
    """The sums of `chunks` chunks, merged as soon as both parts of a node are there."""

    def __init__(self, chunks: int) -> None:
        self.chunks = chunks
        self._waiting: dict[tuple[int, int], Node] = {}

    def add(self, level: int, place: int, found: Node) -> None:
        """Add the sum of chunks place · 2^level up to the next multiple of 2^level."""
        while (1 << level) < self.chunks:
            if place % 2 == 0 and (place + 1) << level >= self.chunks:
                level, place = level + 1, place // 2  # it has no partner on this level
                continue
            partner = self._waiting.pop((level, place ^ 1), None)
            if partner is None:
                break
            found = found.merged(partner) if place % 2 == 0 else partner.merged(found)
            level, place = level + 1, place // 2
        self._waiting[(level, place)] = found

    def take_root(self) -> Node | None:
        """The sum of all chunks; None if there are none. Requires that all were added."""
        if not self.chunks:
            return None
        ((_, found),) = self._waiting.items()
        return found


def merge_block(chunks: Sequence[_Item], compute: Callable[[_Item], Node]) -> Node:
    """Compute the sums of neighbouring chunks one by one and merge them as the tree does; at least
    one chunk, and the first one's number is a multiple of the number of chunks rounded up to a power
    of two.
    """
    if len(chunks) == 1:
        return compute(chunks[0])
    half = 1 << ((len(chunks) - 1).bit_length() - 1)
    first = merge_block(chunks[:half], compute)
    return first.merged(merge_block(chunks[half:], compute))
