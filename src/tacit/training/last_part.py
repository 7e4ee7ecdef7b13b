"""The last layers of a model by themselves: any layers, trained and evaluated on fixed rows.

A part is a flat vector, the end of the model's. The layers below it stay as they are. A last layer
that is linear with a bias has a faster form (`head.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.rows import Vector
from tacit.training.head import (
    HeadPlace,
    Labels,
    Matrix,
    Steps,
    compute_logit_losses,
    compute_logit_slopes,
    descend,
)


class PartPlace(NamedTuple):
    """The position of a model's last layers in its flat vector."""

    start: int
    size: int

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape in which the part is trained: flat."""
        return (self.size,)

    def matrix(self, model: Vector) -> Vector:
        """Extract the part from a model or an update."""
        return model[self.start : self.start + self.size]

    def update(self, change: Vector, size: int) -> Vector:
        """Return a full update of that size in which only the part changes."""
        row = np.zeros(size, np.float32)
        row[self.start : self.start + self.size] = change
        return row


LastPart = HeadPlace | PartPlace


class PartRows(Protocol):
    """A client's rows, as a model with a variable last part reads them."""

    def __len__(self) -> int:
        """The number of rows."""

    def take(self, places: NDArray[np.bool_]) -> PartRows:
        """Some of the rows."""

    def sum_gradients(self, part: Vector) -> Vector:
        """Sum of the rows' gradients at a part."""

    def list_gradients(self, part: Vector) -> Iterator[Matrix]:
        """The gradient of each row at a part, flat, a few rows at a time."""

    def compute_losses(self, part: Vector) -> Vector:
        """The loss of each row."""


PartTotal = Callable[[PartRows, Vector, int], Vector]
"""Maps rows, a part and the number of the step to the sum of gradients, with or without noise."""


def sum_part_gradients(rows: PartRows, part: Vector, step: int) -> Vector:
    """Sum of the row gradients."""
    return rows.sum_gradients(part)


def train_part(
    rows: PartRows, first: Vector, steps: Steps, total: PartTotal = sum_part_gradients
) -> Vector:
    """Train a part: its change after gradient steps."""

    def gradient(places: NDArray[np.bool_] | None, part: Matrix, step: int) -> Matrix:
        return total(rows if places is None else rows.take(places), part, step)

    return descend(first, len(rows), steps, gradient)


_AT_ONCE = 1 << 18
"""Gradient values that are held at once."""


class DenseLayer(NamedTuple):
    """The widths of a linear layer, and whether it has a bias."""

    inputs: int
    outputs: int
    bias: bool


@dataclass(frozen=True)
class FeedForwardRows:
    """Rows as inputs of linear layers with ReLU between them. Weights are stored input by input,
    then biases, layer after layer.
    """

    inputs: Matrix
    labels: Labels
    layers: tuple[DenseLayer, ...]

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, places: NDArray[np.bool_]) -> FeedForwardRows:
        """Some of the rows."""
        return replace(self, inputs=self.inputs[places], labels=self.labels[places])

    def sum_gradients(self, part: Vector) -> Vector:
        """Sum of the rows' gradients at a part."""
        pieces = list[Vector]()
        for (below, slopes), layer in zip(self._backward(part), self.layers, strict=True):
            pieces.append((below.T @ slopes).ravel())
            if layer.bias:
                pieces.append(slopes.sum(axis=0))
        return np.concatenate(pieces).astype(np.float32)

    def list_gradients(self, part: Vector) -> Iterator[Matrix]:
        """The gradient of each row at a part."""
        each = max(1, _AT_ONCE // max(1, part.size))
        for start in range(0, len(self), each):
            some = self.take(np.arange(len(self)) // each == start // each)
            pieces = list[Matrix]()
            for (below, slopes), layer in zip(some._backward(part), self.layers, strict=True):
                pieces.append((below[:, :, None] * slopes[:, None, :]).reshape(len(some), -1))
                if layer.bias:
                    pieces.append(slopes)
            yield np.hstack(pieces)

    def compute_losses(self, part: Vector) -> Vector:
        """The loss of each row."""
        return compute_logit_losses(self._forward(part)[-1], self.labels)

    def _matrices(self, part: Vector) -> list[tuple[Matrix, Vector]]:
        found, start = list[tuple[Matrix, Vector]](), 0
        for layer in self.layers:
            end = start + layer.inputs * layer.outputs
            biases = part[end : end + layer.outputs] if layer.bias else np.zeros(1, np.float32)
            found.append((part[start:end].reshape(layer.inputs, layer.outputs), biases))
            start = end + (layer.outputs if layer.bias else 0)
        return found

    def _forward(self, part: Vector) -> list[Matrix]:
        """The inputs of each layer, and the logits."""
        seen = [self.inputs]
        for number, (weights, biases) in enumerate(self._matrices(part)):
            below = seen[-1] if number == 0 else np.maximum(seen[-1], 0)
            seen.append(np.asarray(below @ weights + biases, np.float32))
        return seen

    def _backward(self, part: Vector) -> list[tuple[Matrix, Matrix]]:
        """For each layer its inputs, and the slopes of the loss at its outputs."""
        seen, matrices = self._forward(part), self._matrices(part)
        slopes, found = compute_logit_slopes(seen[-1], self.labels), list[tuple[Matrix, Matrix]]()
        for number in range(len(matrices) - 1, -1, -1):
            below = seen[number] if number == 0 else np.maximum(seen[number], 0)
            found.append((below, slopes))
            if number:
                slopes = np.asarray((slopes @ matrices[number][0].T) * (seen[number] > 0))
        return found[::-1]
