"""A user's own module, as a plan names it."""

import torch
from torch import nn


class Tiny(nn.Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.first, self.drop, self.last = (
            nn.Linear(inputs, 6),
            nn.Dropout(0.2),
            nn.Linear(6, outputs),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.drop(torch.relu(self.first(x))))
