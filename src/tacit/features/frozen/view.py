"""Image preprocessing of a network: size, mean and standard deviation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch.nn import functional

Triple = tuple[float, float, float]


@dataclass(frozen=True, kw_only=True)
class NetworkView:
    """A network with its preprocessing: images of one size, as (value - mean) / std per channel,
    values 0 to 255.
    """

    network: Callable[[torch.Tensor], torch.Tensor]
    size: tuple[int, int]
    middle: Triple
    spread: Triple
    width: int

    @torch.no_grad()
    def numbers(self, pictures: torch.Tensor) -> torch.Tensor:
        """Compute one row of features per image; images are bytes (count, height, width, 1 or 3)."""
        bands = pictures.permute(0, 3, 1, 2).float().expand(-1, 3, -1, -1)
        scaled = functional.interpolate(
            bands, size=self.size, mode="bilinear", align_corners=False, antialias=True
        )
        middle, spread = (
            torch.tensor(ends).view(1, 3, 1, 1) for ends in (self.middle, self.spread)
        )
        return self.network(
            ((scaled - middle) / spread).contiguous(memory_format=torch.channels_last)
        )
