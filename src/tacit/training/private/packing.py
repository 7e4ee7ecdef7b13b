"""Pack texts of different lengths into shared rows, so that a transformer reads little padding.

A row has room for the longest text, and shorter texts share a row. Attention and positions are
restricted to each text. The outputs equal those of unpacked texts up to rounding.
"""

from __future__ import annotations

from typing import NamedTuple

import torch


class PackedTexts(NamedTuple):
    """Positions in packed rows: the text, the position in it, and the slot of each word."""

    text: torch.Tensor
    place: torch.Tensor
    slot: torch.Tensor
    shape: tuple[int, int]  # lines, and the room in each

    def lines(self, vectors: torch.Tensor) -> torch.Tensor:
        """Arrange word vectors (text, position, width) in packed rows."""
        width = vectors.shape[2]
        empty = vectors.new_zeros(self.shape[0] * self.shape[1], width)
        return empty.index_copy(0, self.slot, vectors[self.text, self.place]).view(
            *self.shape, width
        )

    def places(self) -> torch.Tensor:
        """Return the position of each word within its text, by packed row."""
        return (
            self.text.new_zeros(self.shape[0] * self.shape[1])
            .index_copy(0, self.slot, self.place)
            .view(self.shape)
        )

    def unseen(self, dtype: torch.dtype) -> torch.Tensor:
        """Return the attention mask: 0 within a text, the smallest float between texts."""
        owner = (
            self.text.new_full((self.shape[0] * self.shape[1],), -1)
            .index_copy(0, self.slot, self.text)
            .view(self.shape)
        )
        apart = owner[:, :, None] != owner[:, None, :]
        return torch.zeros(apart.shape, dtype=dtype).masked_fill(apart, torch.finfo(dtype).min)[
            :, None
        ]

    def means(self, states: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Return the mean output over the words of each text."""
        words = states.reshape(-1, states.shape[-1])[self.slot]
        return (
            states.new_zeros(len(lengths), states.shape[-1]).index_add(0, self.text, words)
            / lengths[:, None]
        )


def pack_texts(lengths: torch.Tensor) -> PackedTexts:
    """Assign texts of these lengths to packed rows: longest first, each to the first row with room
    (first fit).
    """
    sizes: list[int] = lengths.tolist()
    room, left, starts = max(sizes), list[int](), [0] * len(sizes)
    for number in sorted(range(len(sizes)), key=lambda number: -sizes[number]):
        line = next((line for line, free in enumerate(left) if free >= sizes[number]), len(left))
        if line == len(left):
            left.append(room)
        starts[number] = (line + 1) * room - left[line]
        left[line] -= sizes[number]
    text = torch.repeat_interleave(torch.arange(len(sizes)), lengths)
    place = torch.arange(len(text)) - torch.repeat_interleave(lengths.cumsum(0) - lengths, lengths)
    return PackedTexts(text, place, torch.tensor(starts)[text] + place, (len(left), room))
