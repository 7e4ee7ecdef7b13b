"""Compiled training of feed-forward nets: forward, hand-written backward and optimiser in one call a client.

A client's vector is its own first-layer rows (the inputs its data names) followed by all later parameters. Rows it
never names have zero gradient, zero moments and hence zero update under a fresh optimiser, so leaving them out is exact.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

Array = Any  # numba reads the arrays' types at run time

SGD, ADAM, ADAMW = 0, 1, 2
_FAST = {"contract", "reassoc", "nsz", "arcp"}
_compiled = numba.njit(nogil=True, cache=True, error_model="numpy", fastmath=_FAST)


@_compiled
def first_layer(starts: Array, columns: Array, values: Array, matrix: Array, row: int, weights: Array, out: Array) -> None:
    """Add one input row times the first layer's weights to `out`."""
    if starts.size and not values.size:
        add_lines(columns[starts[row] : starts[row + 1]], weights, out)
    elif starts.size:
        for place in range(starts[row], starts[row + 1]):
            line, value = weights[columns[place]], values[place]
            for k in range(out.size):
                out[k] += value * line[k]
    else:
        mix_lines(matrix[row], weights, out)


@_compiled
def mix_lines(values: Array, weights: Array, out: Array) -> None:
    """Add every line of `weights`, times its value, to `out`, four at a time; most values of a ReLU layer are zero."""
    whole = values.size // 4 * 4
    for i in range(0, whole, 4):
        a, b, c, d = values[i], values[i + 1], values[i + 2], values[i + 3]
        if a != 0 or b != 0 or c != 0 or d != 0:
            one, two, three, four = weights[i], weights[i + 1], weights[i + 2], weights[i + 3]
            for k in range(out.size):
                out[k] += (a * one[k] + b * two[k]) + (c * three[k] + d * four[k])
    for i in range(whole, values.size):
        value, line = values[i], weights[i]
        for k in range(out.size):
            out[k] += value * line[k]


@_compiled
def add_lines(named: Array, weights: Array, out: Array) -> None:
    """Add the named lines of `weights` to `out`, four at a time: the sum is loaded and stored a quarter as often."""
    whole = named.size // 4 * 4
    for place in range(0, whole, 4):
        one, two = weights[named[place]], weights[named[place + 1]]
        three, four = weights[named[place + 2]], weights[named[place + 3]]
        for k in range(out.size):
            out[k] += (one[k] + two[k]) + (three[k] + four[k])
    for place in range(whole, named.size):
        line = weights[named[place]]
        for k in range(out.size):
            out[k] += line[k]


@_compiled
def first_layer_back(starts: Array, columns: Array, values: Array, matrix: Array, row: int, grad: Array, slope: Array) -> None:
    """Add the outer product of one input row and `slope` to the first layer's gradient."""
    if starts.size:
        for place in range(starts[row], starts[row + 1]):
            line = grad[columns[place]]
            if values.size:
                value = values[place]
                for k in range(slope.size):
                    line[k] += value * slope[k]
            else:
                for k in range(slope.size):
                    line[k] += slope[k]
    else:
        for column in range(matrix.shape[1]):
            value = matrix[row, column]
            if value != 0:
                line = grad[column]
                for k in range(slope.size):
                    line[k] += value * slope[k]


@_compiled
def forward_row(
    net: Array, widths: Array, pooled: bool, starts: Array, columns: Array, values: Array, matrix: Array, row: int, acts: Array
) -> None:
    """Fill `acts` with every layer's output for one row: ReLU in between, logits at the end.

    A pooled net's first layer is an embedding: no bias, no ReLU.
    """
    layers = widths.size - 1
    place, here = 0, 0
    for layer in range(layers):
        fan_in, fan_out = widths[layer], widths[layer + 1]
        weights = net[place : place + fan_in * fan_out].reshape(fan_in, fan_out)
        biases = 0 if pooled and layer == 0 else fan_out
        bias = net[place + fan_in * fan_out : place + fan_in * fan_out + biases]
        out = acts[here : here + fan_out]
        for k in range(fan_out):
            out[k] = bias[k] if biases else np.float32(0)
        if layer == 0:
            first_layer(starts, columns, values, matrix, row, weights, out)
        else:
            mix_lines(acts[here - fan_in : here], weights, out)
        if layer < layers - 1 and biases:
            for k in range(fan_out):
                out[k] = max(out[k], np.float32(0))
        place += fan_in * fan_out + biases
        here += fan_out


@_compiled
def output_slope(logits: Array, label: int, share: Any, slope: Array) -> None:
    """Fill `slope` with the loss gradient at the logits: logistic loss for one logit, cross-entropy for several."""
    if logits.size == 1:
        slope[0] = (np.float32(1) / (np.float32(1) + np.exp(-logits[0])) - np.float32(label)) * share
        return
    top = logits[0]
    for k in range(1, logits.size):
        top = max(top, logits[k])
    total = np.float32(0)
    for k in range(logits.size):
        slope[k] = np.exp(logits[k] - top)
        total += slope[k]
    for k in range(logits.size):
        slope[k] *= share / total
    slope[label] -= share


@_compiled
def backward_row(
    net: Array, grad: Array, widths: Array, pooled: bool, starts: Array, columns: Array, values: Array, matrix: Array, row: int,
    acts: Array, slopes: Array,
) -> None:  # fmt: skip
    """Add one row's gradient to `grad`, given its activations and the slope at the logits (at the end of `slopes`)."""
    layers = widths.size - 1
    place, here = grad.size, acts.size
    for layer in range(layers - 1, -1, -1):
        fan_in, fan_out = widths[layer], widths[layer + 1]
        biases = 0 if pooled and layer == 0 else fan_out
        place -= fan_in * fan_out + biases
        here -= fan_out
        slope = slopes[here : here + fan_out]
        grad_bias = grad[place + fan_in * fan_out : place + fan_in * fan_out + biases]
        for k in range(biases):
            grad_bias[k] += slope[k]
        grad_weights = grad[place : place + fan_in * fan_out].reshape(fan_in, fan_out)
        if layer == 0:
            first_layer_back(starts, columns, values, matrix, row, grad_weights, slope)
            return
        weights = net[place : place + fan_in * fan_out].reshape(fan_in, fan_out)
        below, slope_below = acts[here - fan_in : here], slopes[here - fan_in : here]
        for i in range(fan_in):
            value = below[i]
            passed = np.float32(0)
            if value > 0 or (pooled and layer == 1):
                line, grad_line = weights[i], grad_weights[i]
                for k in range(fan_out):
                    grad_line[k] += value * slope[k]
                    passed += line[k] * slope[k]
            slope_below[i] = passed


@_compiled
def move(
    net: Array, grad: Array, mean: Array, square: Array, anchor: Array, kind: int, step: int, lr: float, decay: float, pull: float
) -> None:
    """Take one optimiser step and clear the gradient; `pull` draws towards `anchor` (the proximal term).

    The first step sets the moments whatever they held before.
    """
    if pull > 0:
        for i in range(net.size):
            grad[i] += np.float32(pull) * (net[i] - anchor[i])
    if kind == SGD:
        rate = np.float32(lr)
        for i in range(net.size):
            net[i] -= rate * grad[i]
            grad[i] = np.float32(0)
        return
    if kind == ADAMW and decay > 0:
        keep = np.float32(1 - lr * decay)
        for i in range(net.size):
            net[i] *= keep
    rate = np.float32(lr / (1 - 0.9**step))
    scale = np.float32(1 / np.sqrt(1 - 0.999**step))
    b1, c1, b2, c2, tiny = np.float32(0.9), np.float32(0.1), np.float32(0.999), np.float32(0.001), np.float32(1e-8)
    if step == 1:  # fresh moments are zero: writing them without reading saves clearing them for every client
        for i in range(net.size):
            slope = grad[i]
            m = c1 * slope
            v = c2 * slope * slope
            mean[i] = m
            square[i] = v
            net[i] -= rate * m / (np.sqrt(v) * scale + tiny)
            grad[i] = np.float32(0)
        return
    for i in range(net.size):
        slope = grad[i]
        m = b1 * mean[i] + c1 * slope
        v = b2 * square[i] + c2 * slope * slope
        mean[i] = m
        square[i] = v
        net[i] -= rate * m / (np.sqrt(v) * scale + tiny)
        grad[i] = np.float32(0)


@_compiled
def train_client(
    net: Array, grad: Array, mean: Array, square: Array, anchor: Array, widths: Array, pooled: bool,
    starts: Array, columns: Array, values: Array, matrix: Array, labels: Array, base: int,
    order: Array, ends: Array, kind: int, lr: float, decay: float, pull: float,
) -> None:  # fmt: skip
    """Run all local steps of one client on `net` in place; `order` and `ends` say which rows each step sees."""
    total = 0
    for layer in range(1, widths.size):
        total += widths[layer]
    acts, slopes = np.empty(total, np.float32), np.empty(total, np.float32)
    out = widths[widths.size - 1]
    begin = 0
    for step in range(ends.size):
        share = np.float32(1.0 / (ends[step] - begin))
        for place in range(begin, ends[step]):
            row = base + order[place]
            forward_row(net, widths, pooled, starts, columns, values, matrix, row, acts)
            output_slope(acts[total - out :], labels[row], share, slopes[total - out :])
            backward_row(net, grad, widths, pooled, starts, columns, values, matrix, row, acts, slopes)
        begin = ends[step]
        move(net, grad, mean, square, anchor, kind, step + 1, lr, decay, pull)


@_compiled
def gather(model: Array, rows: Array, width: int, first: int, net: Array) -> None:
    """Copy a client's first-layer rows and everything after the first layer into `net`."""
    for i in range(rows.size):
        source, target = rows[i] * width, i * width
        for k in range(width):
            net[target + k] = model[source + k]
    shift = rows.size * width - first
    for i in range(first, model.size):
        net[i + shift] = model[i]


@_compiled
def difference(model: Array, rows: Array, width: int, first: int, net: Array, update: Array) -> None:
    """Write what training changed into `update`, at the client's rows and after the first layer."""
    for i in range(rows.size):
        source, target = i * width, rows[i] * width
        for k in range(width):
            update[target + k] = net[source + k] - model[target + k]
    shift = rows.size * width - first
    for i in range(first, model.size):
        update[i] = net[i + shift] - model[i]


@_compiled
def clear_rows(update: Array, rows: Array, width: int) -> None:
    """Set a former client's first-layer rows back to zero."""
    for i in range(rows.size):
        target = rows[i] * width
        for k in range(width):
            update[target + k] = np.float32(0)


@_compiled
def predict_rows(
    net: Array, widths: Array, pooled: bool, starts: Array, columns: Array, values: Array, matrix: Array, first: int, logits: Array
) -> None:
    """Fill `logits` for consecutive rows beginning at `first`."""
    total = 0
    for layer in range(1, widths.size):
        total += widths[layer]
    acts = np.empty(total, np.float32)
    out = widths[widths.size - 1]
    for i in range(logits.shape[0]):
        forward_row(net, widths, pooled, starts, columns, values, matrix, first + i, acts)
        for k in range(out):
            logits[i, k] = acts[total - out + k]


@numba.njit(nogil=True, cache=True)
def named_columns(columns: Array, scratch: Array) -> Array:
    """Return the distinct columns, ascending; `scratch` is one zero a column, and zero again afterwards."""
    count = 0
    for column in columns:
        count += 1 - scratch[column]
        scratch[column] = 1
    named = np.empty(count, np.int32)
    count = 0
    for column in columns:
        if scratch[column]:
            scratch[column] = 0
            named[count] = column
            count += 1
    named.sort()
    return named


@numba.njit(nogil=True, cache=True)
def renumber(columns: Array, named: Array, scratch: Array, own: Array) -> None:
    """Fill `own` with each column's place in `named`; `scratch` is left at zero."""
    for place in range(named.size):
        scratch[named[place]] = place
    for entry in range(columns.size):
        own[entry] = scratch[columns[entry]]
    for column in named:
        scratch[column] = 0
