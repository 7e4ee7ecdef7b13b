"""Chunks are merged in one tree, however the chunks are computed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from tacit.protocol.aggregation import split_into_chunks
from tacit.protocol.merge_tree import MergeTree, merge_block


@dataclass(frozen=True)
class Text:
    """A sum whose text shows the tree of its merges."""

    text: str

    def merged(self, other: Text) -> Text:
        return Text(f"({self.text}{other.text})")


def leaf(number: int) -> Text:
    return Text(f"{number:x}")


@pytest.mark.parametrize("chunks", [1, 2, 3, 5, 7, 8, 11, 15, 16])
def test_any_order_and_any_blocks_give_the_tree_of_one_machine(chunks: int) -> None:
    alone = merge_block(range(chunks), leaf)
    draw = np.random.default_rng(chunks)
    for _ in range(20):
        tree = MergeTree[Text](chunks)
        nodes, first = [], 0
        while first < chunks:
            level = int(draw.integers(0, 4))
            while first % (1 << level):
                level -= 1
            stop = min(chunks, first + (1 << level))
            nodes.append((level, first >> level, merge_block(range(first, stop), leaf)))
            first += 1 << level
        for place in draw.permutation(len(nodes)):
            tree.add(*nodes[place])
        assert tree.take_root() == alone


def test_the_tree_of_no_chunks_has_no_sum() -> None:
    assert MergeTree[Text](0).take_root() is None


@pytest.mark.parametrize(
    ("clients", "chunks", "largest"),
    [(0, 0, 0), (1, 1, 1), (16, 16, 1), (100, 15, 7), (1024, 16, 64), (1025, 17, 64),
     (16_384, 256, 64), (10**6, 256, 3907)],
)  # fmt: skip
def test_a_large_cohort_has_chunks_for_many_cores(clients: int, chunks: int, largest: int) -> None:
    found = list(split_into_chunks(np.arange(clients)))
    assert len(found) == chunks
    assert max(map(len, found), default=0) == largest
    assert np.array_equal(np.concatenate([*found, np.arange(0)]), np.arange(clients))
