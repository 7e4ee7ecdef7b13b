"""A model's last layer by itself: a linear map that is trained and evaluated on fixed inputs.

A head is a matrix with one row per input, one for the bias, and one column per logit. The last
column of the input matrix is one. All functions are pure, so any number of heads can be evaluated
in one matrix product.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit.randomness import Draws
from tacit.rows import Vector

Matrix = NDArray[np.float32]
Labels = NDArray[np.int32]


class HeadPlace(NamedTuple):
    """The position of the last layer in a model's flat vector; `by_output` if weights are stored
    output by output, as in PyTorch.
    """

    start: int
    inputs: int
    outputs: int
    by_output: bool = False

    @property
    def size(self) -> int:
        """The number of its parameters."""
        return (self.inputs + 1) * self.outputs

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape in which the head is trained: one row per input, and one for the bias."""
        return (self.inputs + 1, self.outputs)

    def matrix(self, model: Vector) -> Matrix:
        """Extract the head from a model or an update."""
        flat = model[self.start : self.start + self.size]
        if not self.by_output:
            return flat.reshape(self.inputs + 1, self.outputs)
        weights, bias = (
            flat[: -self.outputs].reshape(self.outputs, self.inputs),
            flat[-self.outputs :],
        )
        return np.vstack([weights.T, bias])

    def update(self, change: Matrix, size: int) -> Vector:
        """Return a full update of that size in which only the head changes."""
        row = np.zeros(size, np.float32)
        flat = (
            np.concatenate([change[:-1].T.ravel(), change[-1]])
            if self.by_output
            else change.ravel()
        )
        row[self.start : self.start + self.size] = flat
        return row


class Steps(NamedTuple):
    """How a head is trained: steps along the sum of row gradients, divided by the number of rows or
    a public number.

    With `batch`, each pass deals every row at random to one of its steps, independently of the
    others: one row more or less changes one step per pass.
    """

    epochs: int
    lr: float
    divide_by: int | None = None
    batch: int | None = None
    order: Draws | None = None

    def count_batches(self, rows: int) -> int:
        """Number of steps of a pass: by the public number of rows, or by the client's own."""
        return 1 if self.batch is None else max(1, -(-(self.divide_by or rows) // self.batch))


Total = Callable[[Matrix, Matrix, int], Matrix]
"""Maps rows, their slopes and the number of the step to the sum of their gradients, with or without
noise.
"""


def append_ones(below: Matrix) -> Matrix:
    """Append a column of ones for the bias."""
    return np.hstack([below, np.ones((len(below), 1), np.float32)])


def compute_slopes(rows: Matrix, labels: Labels, head: Matrix) -> Matrix:
    """Gradient of the loss at each row's logits."""
    return compute_logit_slopes(rows @ head, labels)


def compute_logit_slopes(logits: Matrix, labels: Labels) -> Matrix:
    """Gradient of the loss at some logits, which this overwrites."""
    if logits.shape[1] == 1:
        return np.asarray(1 / (1 + np.exp(-logits)) - labels[:, None], np.float32)
    logits -= logits.max(axis=1, keepdims=True)
    odds = np.exp(logits)
    odds /= odds.sum(axis=1, keepdims=True)
    odds[np.arange(len(labels)), labels] -= 1
    return np.asarray(odds, np.float32)


def sum_gradients(rows: Matrix, slopes: Matrix, step: int) -> Matrix:
    """Sum of the row gradients, each the outer product of inputs and slope."""
    return np.asarray(rows.T @ slopes)


def train_head(
    rows: Matrix, labels: Labels, first: Matrix, steps: Steps, total: Total = sum_gradients
) -> Matrix:
    """Train a head: its change after gradient steps."""

    def gradient(places: NDArray[np.bool_] | None, head: Matrix, step: int) -> Matrix:
        some, known = (rows, labels) if places is None else (rows[places], labels[places])
        return total(some, compute_slopes(some, known, head), step)

    return descend(first, len(rows), steps, gradient)


Gradient = Callable[[NDArray[np.bool_] | None, Matrix, int], Matrix]
"""Maps the rows of a batch (None: all), the weights and the number of the step to the sum of
gradients.
"""


def descend(first: Matrix, rows: int, steps: Steps, gradient: Gradient) -> Matrix:
    """Take gradient steps from `first` on a number of rows; return the change."""
    found, batches = first.copy(), steps.count_batches(rows)
    size = np.float32(steps.lr * batches / (steps.divide_by or max(1, rows)))
    for epoch in range(steps.epochs):
        for number, places in enumerate(_deal_rows(rows, steps, epoch, batches)):
            found -= size * gradient(places, found, epoch * batches + number)
    return found - first


def _deal_rows(
    rows: int, steps: Steps, epoch: int, batches: int
) -> Iterator[NDArray[np.bool_] | None]:
    """Yield the batches of a pass; None if it has only one, with all rows."""
    if batches == 1:
        yield None
        return
    assert steps.order is not None
    dealt = steps.order.at(epoch).generator().integers(batches, size=rows)
    for batch in range(batches):
        yield dealt == batch


def stack_heads(heads: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rearrange heads (heads, inputs, outputs) to (outputs, inputs, heads): one matrix per output."""
    return np.ascontiguousarray(heads.transpose(2, 1, 0))


def compute_losses(rows: Matrix, labels: Labels, heads: NDArray[np.float32]) -> NDArray[np.float32]:
    """Loss of each row under each of many stacked heads, as (rows, heads): one product
    per output.
    """
    logits = np.matmul(rows, heads)
    if len(logits) == 1:
        return np.asarray(
            np.logaddexp(np.float32(0), np.where(labels[:, None] == 1, -logits[0], logits[0])),
            np.float32,
        )
    chosen = logits[labels, np.arange(len(rows))]
    top = logits.max(axis=0)
    chosen -= top
    logits -= top
    return np.asarray(np.log(np.exp(logits, out=logits).sum(axis=0)) - chosen, np.float32)


def compute_logit_losses(logits: Matrix, labels: Labels) -> Vector:
    """Loss of each row, by its logits."""
    if logits.shape[1] == 1:
        signed = np.where(labels == 1, -logits[:, 0], logits[:, 0])
        return np.asarray(np.logaddexp(np.float32(0), signed), np.float32)
    raised = logits - logits.max(axis=1, keepdims=True)
    chosen = raised[np.arange(len(labels)), labels]
    return np.asarray(np.log(np.exp(raised).sum(axis=1)) - chosen, np.float32)
