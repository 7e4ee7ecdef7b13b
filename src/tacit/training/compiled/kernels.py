"""Compiled training of feed-forward nets: forward, hand-written backward and optimiser, many
clients per call.

A client's vector holds the first-layer weight rows of inputs that occur in its data, followed by
all later parameters. Other first-layer rows have zero gradient, zero moments and hence zero update
under a fresh optimiser, so leaving them out is exact. Later layers read a batch as a matrix: their
three products per step are BLAS calls.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tacit.training.compiled.dropout import draw_kept
from tacit.training.compiled.first_layer import (
    Array,
    InputTable,
    add_row_gradient,
    add_row_product,
    compiled,
    gather,
    index_columns,
)
from tacit.training.compiled.gates import backward_gates, forward_gates
from tacit.training.compiled.optimizer import OptimiserRule, OptimiserState, take_step
from tacit.training.schedule import Pace, list_batch_ends, shuffle_rows


class NetShape(NamedTuple):
    """Layer widths from input to output; a pooled net's first layer is an embedding: no bias, no
    ReLU.

    A gated net's first two widths after the input are an LSTM's gates and its state (`gates.py`).
    The recurrent weights between them are never used: there is only one time step.
    """

    widths: Array
    pooled: bool
    gated: bool
    dropout: float  # share of a hidden layer's outputs that training drops


class ClientRows(NamedTuple):
    """The clients' rows: the input table, labels, and the first row of each client."""

    table: InputTable
    labels: Array
    starts: Array


class Index(NamedTuple):
    """Column numbers of the first clients, as many as fit a fixed budget; those of other clients
    are computed when they train.
    """

    own: Array  # each entry's number, entries in the table's order
    names: Array
    name_starts: Array


class Task(NamedTuple):
    """Settings shared by all clients of a learner. `whole`: every client's net is the whole model.

    `before`: number of optimiser steps behind the moments in `Scratch`; 0 for a fresh optimiser.
    """

    shape: NetShape
    held: ClientRows
    known: Index
    pace: Pace
    rule: OptimiserRule
    whole: bool
    before: int


class Buffers(NamedTuple):
    """Buffers for one batch: dense rows, every layer's outputs, the gradients at them, and the
    dropout mask.

    `kept` is empty without dropout, else it holds 0 or 1 / (1 - dropout) for every output.
    """

    picked: Array
    acts: Array
    slopes: Array
    kept: Array


class Visit(NamedTuple):
    """The rows that a client's steps use: its first row, its shuffled rows, the end of each step,
    earlier steps, and its seed.
    """

    base: int
    order: Array
    ends: Array
    before: int
    seed: Any


class Scratch(NamedTuple):
    """A worker's memory for a group of clients: their nets and column numbers, one after the other,
    and one client's moments.
    """

    nets: Array
    net_starts: Array
    names: Array
    name_starts: Array
    moments: Array
    numbers: Array  # one zero per column
    own: Array  # one client's entries, renumbered


@compiled
def count_outputs_before(widths: Array, layer: int) -> int:
    """Count the outputs per row in the layers before `layer`."""
    total = 0
    for before in range(1, layer + 1):
        total += widths[before]
    return total


@compiled
def count_biases(shape: NetShape, layer: int) -> int:
    """Return the number of biases of a layer."""
    without = (shape.pooled and layer == 0) or (shape.gated and layer == 1)
    return 0 if without else shape.widths[layer + 1]


@compiled
def forward(net: Array, shape: NetShape, table: InputTable, rows: Array, buffers: Buffers) -> None:
    """Fill `acts` with every layer's outputs for some rows, each layer as (rows, width): ReLU in
    between, logits last.

    Rows of a dense table are copied into `picked` first. Gate inputs are overwritten by gate
    outputs.
    """
    picked, acts, kept = buffers.picked, buffers.acts, buffers.kept
    widths, count, layers = shape.widths, rows.size, shape.widths.size - 1
    place = 0
    for layer in range(layers):
        fan_in, fan_out = widths[layer], widths[layer + 1]
        weights = net[place : place + fan_in * fan_out].reshape(fan_in, fan_out)
        biases = count_biases(shape, layer)
        bias = net[place + fan_in * fan_out : place + fan_in * fan_out + biases]
        here = count * count_outputs_before(widths, layer)
        out = acts[here : here + count * fan_out].reshape(count, fan_out)
        if shape.gated and layer == 1:
            forward_gates(acts[here - count * fan_in : here].reshape(count, fan_in), out)
        elif layer > 0:
            np.dot(acts[here - count * fan_in : here].reshape(count, fan_in), weights, out)
        elif table.starts.size:
            out[:] = np.float32(0)
            for r in range(count):
                add_row_product(table, rows[r], weights, out[r])
        else:
            for r in range(count):
                picked[r] = table.matrix[rows[r]]
            np.dot(picked[:count], weights, out)
        rectified = layer < layers - 1 and biases > 0 and not (shape.gated and layer == 0)
        for r in range(count if biases else 0):
            for k in range(fan_out):
                value = out[r, k] + bias[k]
                out[r, k] = max(value, np.float32(0)) if rectified else value
        if kept.size and rectified:
            for r in range(count):
                for k in range(fan_out):
                    out[r, k] *= kept[here + r * fan_out + k]
        place += fan_in * fan_out + biases


@compiled
def fill_logit_gradient(logits: Array, label: int, share: Any, slope: Array) -> None:
    """Fill `slope` with the loss gradient at the logits: logistic loss for one logit, cross-entropy
    for several.
    """
    if logits.size == 1:
        slope[0] = (
            np.float32(1) / (np.float32(1) + np.exp(-logits[0])) - np.float32(label)
        ) * share
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


@compiled
def backward(
    net: Array, grad: Array, shape: NetShape, table: InputTable, rows: Array, buffers: Buffers
) -> None:
    """Write the gradient of the rows into `grad`, which must be zero, given all outputs and the
    gradients at the logits.
    """
    picked, acts, slopes = buffers.picked, buffers.acts, buffers.slopes
    widths, count = shape.widths, rows.size
    scale = np.float32(
        1 / (1 - shape.dropout)
    )  # dropped outputs are zero, and so are their gradients
    place = net.size
    for layer in range(widths.size - 2, -1, -1):
        fan_in, fan_out = widths[layer], widths[layer + 1]
        biases = count_biases(shape, layer)
        place -= fan_in * fan_out + biases
        here = count * count_outputs_before(widths, layer)
        slope = slopes[here : here + count * fan_out].reshape(count, fan_out)
        grad_bias = grad[place + fan_in * fan_out : place + fan_in * fan_out + biases]
        for r in range(count if biases else 0):
            for k in range(fan_out):
                grad_bias[k] += slope[r, k]
        grad_weights = grad[place : place + fan_in * fan_out].reshape(fan_in, fan_out)
        if layer == 0:
            if table.starts.size:
                for r in range(count):
                    add_row_gradient(table, rows[r], slope[r], grad_weights)
            else:
                np.dot(picked[:count].T, slope, grad_weights)
            return
        weights = net[place : place + fan_in * fan_out].reshape(fan_in, fan_out)
        below = acts[here - count * fan_in : here].reshape(count, fan_in)
        slope_below = slopes[here - count * fan_in : here].reshape(count, fan_in)
        if shape.gated and layer == 1:
            backward_gates(below, slope, slope_below)
            continue
        np.dot(below.T, slope, grad_weights)
        np.dot(slope, weights.T, slope_below)
        if layer > 1 + shape.gated or not (shape.pooled or shape.gated):
            for r in range(count):
                for k in range(fan_in):
                    slope_below[r, k] = (
                        slope_below[r, k] * scale if below[r, k] > 0 else np.float32(0)
                    )


@compiled
def train_client(
    state: OptimiserState,
    shape: NetShape,
    table: InputTable,
    labels: Array,
    visit: Visit,
    rule: OptimiserRule,
) -> None:
    """Run all local steps of one client on its net in place."""
    base, order, ends = visit.base, visit.order, visit.ends
    largest, begin = 0, 0
    for end in ends:
        largest, begin = max(largest, end - begin), end
    outputs, classes = count_outputs_before(shape.widths, shape.widths.size - 1), shape.widths[-1]
    acts, slopes = np.empty(largest * outputs, np.float32), np.empty(largest * outputs, np.float32)
    picked = np.empty((0 if table.starts.size else largest, table.matrix.shape[1]), np.float32)
    kept = np.empty(largest * outputs if shape.dropout > 0 else 0, np.float32)
    buffers = Buffers(picked, acts, slopes, kept)
    begin = 0
    for step in range(ends.size):
        rows = base + order[begin : ends[step]]
        draw_kept(kept[: rows.size * outputs], shape.dropout, visit.seed + np.uint64(step))
        forward(state.net, shape, table, rows, buffers)
        share, first = np.float32(1.0 / rows.size), rows.size * (outputs - classes)
        for r in range(rows.size):
            at = first + r * classes
            fill_logit_gradient(
                acts[at : at + classes], labels[rows[r]], share, slopes[at : at + classes]
            )
        backward(state.net, state.grad, shape, table, rows, buffers)
        begin = ends[step]
        take_step(state, rule, visit.before + step + 1)


@compiled
def number_clients(held: ClientRows, width: int, count: int, index: Index) -> None:
    """Fill an index with the column numbers of the first `count` clients; clients with most columns
    have none.
    """
    table, scratch = held.table, np.zeros(width, np.int32)
    for client in range(count):
        begin, end = table.starts[held.starts[client]], table.starts[held.starts[client + 1]]
        named = index.names[index.name_starts[client] :]
        found = index_columns(
            table.columns[begin:end],
            width,
            scratch,
            named,
            index.own[begin - table.starts[held.starts[0]] :],
        )
        index.name_starts[client + 1] = index.name_starts[client] + (found if found < width else 0)


@compiled
def build_client_table(
    task: Task, client: int, named: Array, scratch: Scratch
) -> tuple[int, InputTable]:
    """Return the number of first-layer rows in a client's net, and its inputs in terms of them.

    `named` receives the column of each row, unless the net has all of them.
    """
    table, starts, index, width = (
        task.held.table,
        task.held.starts,
        task.known,
        task.shape.widths[0],
    )
    begin, end = table.starts[starts[client]], table.starts[starts[client + 1]]
    if client < index.name_starts.size - 1:
        known = index.names[index.name_starts[client] : index.name_starts[client + 1]]
        if known.size == 0 and begin < end:
            return width, table
        named[: known.size] = known
        return known.size, InputTable(
            table.starts, index.own, table.values, table.matrix, table.starts[starts[0]]
        )
    count = index_columns(table.columns[begin:end], width, scratch.numbers, named, scratch.own)
    if count == width:
        return width, table
    return count, InputTable(table.starts, scratch.own, table.values, table.matrix, begin)


@compiled
def train_clients(model: Array, task: Task, clients: Array, seeds: Array, scratch: Scratch) -> None:
    """Train some clients from `model`, independently; leave their nets and column numbers in
    `scratch`.
    """
    widths, held, moments = task.shape.widths, task.held, scratch.moments
    first, width = widths[0] * widths[1], widths[1]
    own_widths = widths.copy()
    for i in range(clients.size):
        base, end = held.starts[clients[i]], held.starts[clients[i] + 1]
        named = scratch.names[scratch.name_starts[i] :]
        count, table = (
            (widths[0], held.table)
            if task.whole
            else build_client_table(task, clients[i], named, scratch)
        )
        size = count * width + model.size - first
        net = scratch.nets[scratch.net_starts[i] : scratch.net_starts[i] + size]
        scratch.net_starts[i + 1] = scratch.net_starts[i] + size
        scratch.name_starts[i + 1] = scratch.name_starts[i] + (count if count < widths[0] else 0)
        if count < widths[0]:
            gather(model, named[:count], width, first, net)
        else:
            net[:] = model
        state = OptimiserState(
            net, moments[0, :size], moments[1, :size], moments[2, :size], moments[3, :size]
        )
        if task.rule.pull > 0:
            state.anchor[:] = net
        own_widths[0] = count
        ends = list_batch_ends(task.pace, end - base)
        order = shuffle_rows(end - base, ends[-1] if ends.size else 0, seeds[i])
        shape = NetShape(own_widths, task.shape.pooled, task.shape.gated, task.shape.dropout)
        train_client(
            state,
            shape,
            table,
            held.labels,
            Visit(base, order, ends, task.before, seeds[i]),
            task.rule,
        )


@compiled
def predict_rows(net: Array, shape: NetShape, table: InputTable, first: int, logits: Array) -> None:
    """Fill `logits` for consecutive rows, starting at `first`."""
    count, classes = logits.shape
    rows = np.arange(first, first + count)
    acts = np.empty(count * count_outputs_before(shape.widths, shape.widths.size - 1), np.float32)
    picked = np.empty((0 if table.starts.size else count, table.matrix.shape[1]), np.float32)
    forward(net, shape, table, rows, Buffers(picked, acts, acts, acts[:0]))
    logits[:] = acts[acts.size - count * classes :].reshape(count, classes)
