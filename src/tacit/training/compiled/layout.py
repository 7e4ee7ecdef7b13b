"""Layout of a feed-forward net in one flat vector: layer after layer, weights (input-major) then
biases.

Input-major weights make the weight row of one input contiguous, so a sparse input touches only its
own rows. The first layer comes first, so a client's vector is its own first-layer rows followed by
everything else.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.randomness import Draws
from tacit.rows import Vector


@dataclass(frozen=True)
class Layout:
    """Layer widths from input to output; a pooled net's first or only layer (an embedding) has no
    biases.

    A gated net's second layer holds the LSTM's recurrent weights and has no biases either.
    """

    widths: tuple[int, ...]
    pooled: bool = False
    gated: bool = False

    @cached_property
    def size(self) -> int:
        """The number of parameters."""
        return sum(self.layers)

    @cached_property
    def layers(self) -> tuple[int, ...]:
        """The number of parameters of each layer."""
        return tuple(fan_in * fan_out + biases for fan_in, fan_out, biases in self._layers())

    @cached_property
    def first(self) -> int:
        """The number of first-layer weights."""
        return self.widths[0] * self.widths[1]

    def _layers(self) -> list[tuple[int, int, int]]:
        pairs = list(itertools.pairwise(self.widths))
        bare = 0 if self.pooled else 1 if self.gated else -1
        return [
            (fan_in, fan_out, 0 if n == bare else fan_out)
            for n, (fan_in, fan_out) in enumerate(pairs)
        ]

    def initial(self, draws: Draws) -> Vector:
        """Return Glorot-uniform weights and zero biases; an embedding starts uniform within
        ±0.05.
        """
        random, model, start = draws.generator(), np.zeros(self.size, np.float32), 0
        for fan_in, fan_out, biases in self._layers():
            limit = np.float32(
                (6 / (fan_in + fan_out)) ** 0.5 if biases or len(self.widths) == 2 else 0.05
            )
            weights = model[start : start + fan_in * fan_out]
            random.random(out=weights, dtype=np.float32)
            weights *= 2 * limit
            weights -= limit
            start += fan_in * fan_out + biases
        return model

    def tensors(self, model: Vector) -> dict[str, NDArray[Any]]:
        """Return named weights and biases, with the names and shapes used in `modules/networks.py`."""
        if self.gated:
            return self._list_gated_tensors(model)
        named: dict[str, NDArray[Any]] = {}
        start = 0
        head = "head." if self.pooled else ""
        for number, (fan_in, fan_out, biases) in enumerate(self._layers()):
            weights = model[start : start + fan_in * fan_out].reshape(fan_in, fan_out)
            start += fan_in * fan_out + biases
            if not biases and len(self.widths) > 2:
                named["table.weight"] = weights.copy()
                continue
            name = f"{head}layers.{number - self.pooled}" if biases else "layers.0"
            named[f"{name}.weight"] = np.ascontiguousarray(weights.T)
            if biases:
                named[f"{name}.bias"] = model[start - biases : start].copy()
        return named

    def _list_gated_tensors(self, model: Vector) -> dict[str, NDArray[Any]]:
        inputs, gates, units = self.widths[:3]
        ends = np.cumsum([inputs * gates, gates, gates * units])
        read, biases, former, rest = np.split(model, ends)
        named = {
            "lstm.weight_ih_l0": np.ascontiguousarray(read.reshape(inputs, gates).T),
            "lstm.weight_hh_l0": former.reshape(gates, units).copy(),
            "lstm.bias_ih_l0": biases.copy(),
        }
        return named | {
            f"head.{name}": values for name, values in Layout(self.widths[2:]).tensors(rest).items()
        }
