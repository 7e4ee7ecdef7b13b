"""A model's last layer by itself: a linear map from what the layers below see, trained and tried without them.

A head is a matrix with a line per input and one for the bias, and a column per logit. Rows come as a matrix of inputs whose
last column is one. Everything here is a pure function of such matrices, so many heads are tried in one product.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit.rows import Vector

Matrix = NDArray[np.float32]
Labels = NDArray[np.int32]


class HeadPlace(NamedTuple):
    """Where the last layer lies in a model's flat vector; `by_output` where weights stand output by output, as in PyTorch."""

    start: int
    inputs: int
    outputs: int
    by_output: bool = False

    @property
    def size(self) -> int:
        """Return the number of its parameters."""
        return (self.inputs + 1) * self.outputs

    def matrix(self, model: Vector) -> Matrix:
        """Return the head of a model, or of an update."""
        flat = model[self.start : self.start + self.size]
        if not self.by_output:
            return flat.reshape(self.inputs + 1, self.outputs)
        weights, bias = flat[: -self.outputs].reshape(self.outputs, self.inputs), flat[-self.outputs :]
        return np.vstack([weights.T, bias])

    def update(self, change: Matrix, size: int) -> Vector:
        """Return an update of a whole model of that size that changes nothing but the head."""
        row = np.zeros(size, np.float32)
        flat = np.concatenate([change[:-1].T.ravel(), change[-1]]) if self.by_output else change.ravel()
        row[self.start : self.start + self.size] = flat
        return row


class Steps(NamedTuple):
    """How a head is trained: full-batch steps along the sum of rows' gradients, divided by their number or a public one."""

    epochs: int
    lr: float
    divide_by: int | None = None


Total = Callable[[Matrix, Matrix, int], Matrix]
"""From rows, their slopes and the number of the step to the sum of their gradients, or to one with noise."""


def with_ones(below: Matrix) -> Matrix:
    """Return what the layers below give, with a column of ones for the bias."""
    return np.hstack([below, np.ones((len(below), 1), np.float32)])


def slopes(rows: Matrix, labels: Labels, head: Matrix) -> Matrix:
    """Return the loss gradient at each row's logits."""
    logits = rows @ head
    if head.shape[1] == 1:
        return np.asarray(1 / (1 + np.exp(-logits)) - labels[:, None], np.float32)
    logits -= logits.max(axis=1, keepdims=True)
    odds = np.exp(logits)
    odds /= odds.sum(axis=1, keepdims=True)
    odds[np.arange(len(labels)), labels] -= 1
    return np.asarray(odds, np.float32)


def gradient_sum(rows: Matrix, slopes: Matrix, step: int) -> Matrix:
    """Return the sum of rows' gradients, each its inputs times its slope."""
    return np.asarray(rows.T @ slopes)


def trained(rows: Matrix, labels: Labels, first: Matrix, steps: Steps, total: Total = gradient_sum) -> Matrix:
    """Return how the head changed by full-batch gradient steps."""
    head = first.copy()
    for step in range(steps.epochs):
        size = np.float32(steps.lr / (steps.divide_by or max(1, len(rows))))
        head -= size * total(rows, slopes(rows, labels, head), step)
    return head - first


def beside(heads: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return many heads (heads, inputs, outputs) side by side, as (outputs, inputs, heads): a matrix per output."""
    return np.ascontiguousarray(heads.transpose(2, 1, 0))


def losses(rows: Matrix, labels: Labels, heads: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the loss of each row under each of many heads that lie side by side, as (rows, heads): a product per output."""
    logits = np.matmul(rows, heads)
    if len(logits) == 1:
        return np.asarray(np.logaddexp(np.float32(0), np.where(labels[:, None] == 1, -logits[0], logits[0])), np.float32)
    chosen = logits[labels, np.arange(len(rows))]
    top = logits.max(axis=0)
    chosen -= top
    logits -= top
    return np.asarray(np.log(np.exp(logits, out=logits).sum(axis=0)) - chosen, np.float32)
