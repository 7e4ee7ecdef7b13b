"""Texts of different lengths laid side by side, so that a transformer reads hardly any padding.

A line has room for the longest text, and shorter ones share a line; a word sees the words of its own text alone and counts its
place from there. The states are those of texts in lines of their own, up to rounding.
"""

from __future__ import annotations

from typing import NamedTuple

import torch


class SideBySide(NamedTuple):
    """Where the words of some texts lie: the text and the place of each word, and its slot among those of all lines."""

    text: torch.Tensor
    place: torch.Tensor
    slot: torch.Tensor
    shape: tuple[int, int]  # lines, and the room in each

    def lines(self, vectors: torch.Tensor) -> torch.Tensor:
        """Return the words' vectors (text, place, width) in lines."""
        width = vectors.shape[2]
        empty = vectors.new_zeros(self.shape[0] * self.shape[1], width)
        return empty.index_copy(0, self.slot, vectors[self.text, self.place]).view(*self.shape, width)

    def places(self) -> torch.Tensor:
        """Return the place of each word in its text, by line."""
        return self.text.new_zeros(self.shape[0] * self.shape[1]).index_copy(0, self.slot, self.place).view(self.shape)

    def unseen(self, dtype: torch.dtype) -> torch.Tensor:
        """Return what is added to attention: nothing between words of one text, the least there is between all others."""
        owner = self.text.new_full((self.shape[0] * self.shape[1],), -1).index_copy(0, self.slot, self.text).view(self.shape)
        apart = owner[:, :, None] != owner[:, None, :]
        return torch.zeros(apart.shape, dtype=dtype).masked_fill(apart, torch.finfo(dtype).min)[:, None]

    def means(self, states: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Return the mean over each text's words of states in lines."""
        words = states.reshape(-1, states.shape[-1])[self.slot]
        return states.new_zeros(len(lengths), states.shape[-1]).index_add(0, self.text, words) / lengths[:, None]


def side_by_side(lengths: torch.Tensor) -> SideBySide:
    """Return where texts of these lengths go: the longest first, each into the first line that has room for it."""
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
    return SideBySide(text, place, torch.tensor(starts)[text] + place, (len(left), room))
