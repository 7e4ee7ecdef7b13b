"""How a feed-forward net lies in one flat vector: layer after layer, weights (input-major) then biases.

Input-major weights make the row of one input contiguous, so a sparse row reads and writes only the rows it names; the
first layer's rows come first, so a client's vector is just its own rows followed by everything else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.draws import Draws
from tacit.rows import Vector


@dataclass(frozen=True)
class Layout:
    """Widths of a net from input to output."""

    widths: tuple[int, ...]

    @property
    def size(self) -> int:
        """Return the number of parameters."""
        return sum(fan_in * fan_out + fan_out for fan_in, fan_out in self._layers())

    @property
    def first(self) -> int:
        """Return the length of the first layer's weights."""
        return self.widths[0] * self.widths[1]

    def _layers(self) -> list[tuple[int, int]]:
        return list(zip(self.widths[:-1], self.widths[1:], strict=True))

    def initial(self, draws: Draws) -> Vector:
        """Return Glorot-uniform weights and zero biases."""
        random = draws.generator()
        parts = []
        for fan_in, fan_out in self._layers():
            limit = (6 / (fan_in + fan_out)) ** 0.5
            parts += [random.uniform(-limit, limit, fan_in * fan_out), np.zeros(fan_out)]
        return np.concatenate(parts).astype(np.float32)

    def tensors(self, model: Vector) -> dict[str, NDArray[Any]]:
        """Return named weights and biases, weights as (out, in) like torch.nn.Linear."""
        named: dict[str, NDArray[Any]] = {}
        start = 0
        for number, (fan_in, fan_out) in enumerate(self._layers()):
            weights = model[start : start + fan_in * fan_out].reshape(fan_in, fan_out)
            named[f"layers.{number}.weight"] = np.ascontiguousarray(weights.T)
            start += fan_in * fan_out
            named[f"layers.{number}.bias"] = model[start : start + fan_out].copy()
            start += fan_out
        return named
