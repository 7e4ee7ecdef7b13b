"""Full-batch gradient descent on one client's rows, optimised for thousands of cheap steps.

Equal rows have equal gradients, so each distinct row is computed once and weighted by its
multiplicity: the same step up to rounding. Rows are stored in blocks, one line per input, followed
by a line of ones whose weights are the biases.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit.training.compiled.first_layer import Array, compiled
from tacit.training.compiled.optimizer import OptimiserRule, OptimiserState, take_step
from tacit.training.compiled.tiles import LANES, gradient_tile, product_tile

_LINE = 16  # rows of one cache line, and of one tile
_BLOCK_LINES = (7, 9, 11, 13)
"""Block lengths to choose from, in cache lines: odd, so that the lines of a block do not compete
for the same cache sets.
"""

FEWEST_STEPS = 16
"""Below this number of steps, arranging the rows in blocks is not worth it."""

_five, _one = product_tile(5), product_tile(1)
_four_by_three, _four_by_one, _one_by_one = (
    gradient_tile(4, 3),
    gradient_tile(4, 1),
    gradient_tile(1, 1),
)


class Blocks(NamedTuple):
    """A client's distinct rows: inputs (block, input plus a line of ones, row), labels, and each
    row's share of all rows.
    """

    inputs: Array
    labels: Array
    shares: Array


class BlockBuffers(NamedTuple):
    """Buffers for one block: every layer's outputs with a line of ones each, the gradients at them,
    and the parameter gradient.
    """

    acts: Array
    slopes: Array
    gradient: Array


def build_blocks(matrix: NDArray[np.float32], labels: NDArray[np.int32]) -> Blocks:
    """Deduplicate rows and arrange them in blocks; the last block is padded with rows of weight 0."""
    whole = np.ascontiguousarray(np.column_stack([matrix, labels.view(np.float32)]), np.float32)
    _, first, counts = np.unique(
        whole.view(f"V{whole.strides[0]}")[:, 0], return_index=True, return_counts=True
    )
    lines = min(_BLOCK_LINES, key=lambda lines: -(-len(first) // (_LINE * lines)) * lines)
    length = _LINE * lines
    room = -(-len(first) // length) * length
    inputs, padded = np.zeros((room, matrix.shape[1] + 1), np.float32), np.zeros(room, np.int32)
    shares = np.zeros(room, np.float32)
    inputs[: len(first), :-1], inputs[:, -1] = matrix[first], 1
    padded[: len(first)], shares[: len(first)] = labels[first], counts / len(labels)
    cut = inputs.reshape(-1, length, inputs.shape[1]).transpose(0, 2, 1)
    return Blocks(np.ascontiguousarray(cut), padded.reshape(-1, length), shares.reshape(-1, length))


@compiled
def product(weights: Array, by_input: int, by_output: int, lines: Array, out: Array) -> None:
    """Fill `out` with the weighted sums of `lines`; weight strides are in floats."""
    inputs, rows = lines.shape
    outputs, stride = out.shape[0], 4 * rows
    size = 5 if outputs >= 5 else 1
    for row in range(0, rows, _LINE):
        for tile in range(-(-outputs // size)):
            k = min(tile * size, outputs - size)  # the last tile computes some sums again
            target, source = out.ctypes.data + k * stride + 4 * row, lines.ctypes.data + 4 * row
            place = weights.ctypes.data + 4 * k * by_output
            if size == 5:
                _five(target, stride, source, stride, place, 4 * by_input, 4 * by_output, inputs)
            else:
                _one(target, stride, source, stride, place, 4 * by_input, 4 * by_output, inputs)


@compiled
def compute_gradient(lines: Array, slopes: Array, out: Array) -> None:
    """Set `out` (inputs, outputs) to the sum over rows of input times slope."""
    inputs, rows = lines.shape
    outputs, stride, vectors = slopes.shape[0], 4 * rows, rows // LANES
    high = 4 if inputs >= 4 else 1
    wide = 3 if outputs >= 3 and high == 4 else 1
    for upper in range(-(-inputs // high)):
        j = min(upper * high, inputs - high)
        source = lines.ctypes.data + j * stride
        for tile in range(-(-outputs // wide)):
            k = min(tile * wide, outputs - wide)
            target, slope = out.ctypes.data + 4 * (j * outputs + k), slopes.ctypes.data + k * stride
            if wide == 3:
                _four_by_three(target, 4 * outputs, 4, source, stride, slope, stride, vectors)
            elif high == 4:
                _four_by_one(target, 4 * outputs, 4, source, stride, slope, stride, vectors)
            else:
                _one_by_one(target, 4 * outputs, 4, source, stride, slope, stride, vectors)


@compiled
def fill_logit_gradients(logits: Array, labels: Array, shares: Array, slopes: Array) -> None:
    """Fill `slopes` with the gradient of the mean loss at the logits: logistic for one logit,
    cross-entropy for several.
    """
    classes, rows = logits.shape
    one = np.float32(1)
    if classes == 1:
        for r in range(rows):
            slopes[0, r] = (one / (one + np.exp(-logits[0, r])) - np.float32(labels[r])) * shares[r]
        return
    for r in range(rows):
        top = logits[0, r]
        for k in range(1, classes):
            top = max(top, logits[k, r])
        total = np.float32(0)
        for k in range(classes):
            slopes[k, r] = np.exp(logits[k, r] - top)
            total += slopes[k, r]
        for k in range(classes):
            slopes[k, r] *= shares[r] / total
        slopes[labels[r], r] -= shares[r]


@compiled
def rectify(values: Array, outputs: Array) -> None:
    """Set `values` to zero where `outputs` are not positive; written as a product so that it
    vectorises.
    """
    flat, over = values.reshape(values.size), outputs.reshape(outputs.size)
    for i in range(flat.size):
        flat[i] *= np.float32(over[i] > 0)


@compiled
def add_block(
    net: Array, grad: Array, widths: Array, blocks: Blocks, number: int, room: BlockBuffers
) -> None:
    """Add the gradient of one block of rows to `grad`."""
    layers = widths.size - 1
    lines = blocks.inputs[number]
    place, here = 0, 0
    for layer in range(layers):
        outputs = widths[layer + 1]
        out = room.acts[here : here + outputs]
        product(net[place:], outputs, 1, lines, out)
        place += (widths[layer] + 1) * outputs
        if layer < layers - 1:
            rectify(out, out)
            lines = room.acts[here : here + outputs + 1]
            here += outputs + 1
    fill_logit_gradients(
        room.acts[here : here + widths[layers]],
        blocks.labels[number],
        blocks.shares[number],
        room.slopes[here:],
    )
    for layer in range(layers - 1, -1, -1):
        inputs, outputs = widths[layer], widths[layer + 1]
        place -= (inputs + 1) * outputs
        slope = room.slopes[here : here + outputs]
        if layer > 0:
            here -= inputs + 1
        lines = room.acts[here : here + inputs + 1] if layer > 0 else blocks.inputs[number]
        compute_gradient(lines, slope, room.gradient[place:])
        if layer > 0:
            below = room.slopes[here : here + inputs]
            product(net[place:], 1, outputs, slope, below)
            rectify(below, lines)
    for i in range(grad.size):
        grad[i] += room.gradient[i]


@compiled
def descend(
    state: OptimiserState, widths: Array, blocks: Blocks, rule: OptimiserRule, steps: int
) -> None:
    """Run `steps` full-batch steps of one client on its net, in place."""
    lines, rows = widths[1:].sum() + widths.size - 1, blocks.inputs.shape[2]
    acts, slopes = np.ones((lines, rows), np.float32), np.empty((lines, rows), np.float32)
    room = BlockBuffers(acts, slopes, np.empty(state.net.size, np.float32))
    for step in range(steps):
        for number in range(blocks.inputs.shape[0]):
            add_block(state.net, state.grad, widths, blocks, number, room)
        take_step(state, rule, step + 1)
