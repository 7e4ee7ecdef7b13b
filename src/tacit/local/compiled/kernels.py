"""Compiled training of feed-forward nets: forward, hand-written backward and optimiser, many clients a call.

A client's vector is its own first-layer lines (the inputs its rows name) followed by all later parameters. Lines it
never names have zero gradient, zero moments and hence zero update under a fresh optimiser, so leaving them out is exact.
Later layers see a batch as a matrix: their three products per step are BLAS calls.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tacit.local.compiled.dropout import draw_kept
from tacit.local.compiled.first_layer import Array, Table, compiled, gather, own_columns, read_row, row_back
from tacit.local.compiled.gates import gates_back, open_gates
from tacit.local.compiled.optimizer import Rule, State, move
from tacit.local.schedule import Pace, batch_ends, row_order


class Shape(NamedTuple):
    """Widths from input to output; a pooled net's first layer is an embedding: no bias, no ReLU.

    A gated net's first two widths after the input are an LSTM's gates and its state (`gates.py`); the weights between them,
    by which a former state would be read, are never used, since there is one step and no former state.
    """

    widths: Array
    pooled: bool
    gated: bool
    dropout: float  # share of a hidden layer's outputs that training leaves out


class Held(NamedTuple):
    """The clients' rows: the table, its labels, and where each client's rows begin."""

    table: Table
    labels: Array
    starts: Array


class Index(NamedTuple):
    """The own columns of the first clients, as many as fit a fixed budget; all others are numbered when they train."""

    own: Array  # each entry's number, entries in the table's order
    names: Array
    name_starts: Array


class Task(NamedTuple):
    """What all clients of a learner have in common. `whole`: every client's net is the whole model.

    `before`: how many steps the client's moments in `Scratch` have behind them; 0 where the optimiser begins anew.
    """

    shape: Shape
    held: Held
    known: Index
    pace: Pace
    rule: Rule
    whole: bool
    before: int


class Buffers(NamedTuple):
    """Room for one batch: its dense rows, every layer's outputs, the slopes at them, and by how much outputs count.

    `kept` is empty where nothing is left out, else 0 or 1 / (1 - dropout) for every output.
    """

    picked: Array
    acts: Array
    slopes: Array
    kept: Array


class Visit(NamedTuple):
    """Which rows a client's steps see: its first row, its rows in shuffled order, where each step ends; steps before; its seed."""

    base: int
    order: Array
    ends: Array
    before: int
    seed: Any


class Scratch(NamedTuple):
    """A worker's memory for a group of clients: their nets and names, one after the other, and one client's moments."""

    nets: Array
    net_starts: Array
    names: Array
    name_starts: Array
    moments: Array
    numbers: Array  # one zero per column
    own: Array  # one client's entries, numbered anew


@compiled
def outputs_before(widths: Array, layer: int) -> int:
    """Return how many outputs a row has in the layers before `layer`."""
    total = 0
    for before in range(1, layer + 1):
        total += widths[before]
    return total


@compiled
def biases_of(shape: Shape, layer: int) -> int:
    """Return how many biases a layer has."""
    without = (shape.pooled and layer == 0) or (shape.gated and layer == 1)
    return 0 if without else shape.widths[layer + 1]


@compiled
def forward(net: Array, shape: Shape, table: Table, rows: Array, buffers: Buffers) -> None:
    """Fill `acts` with every layer's outputs for some rows, layer after layer as (rows, width): ReLU between, logits last.

    A dense table's rows are copied into `picked` first. Gates are replaced by what they let through.
    """
    picked, acts, kept = buffers.picked, buffers.acts, buffers.kept
    widths, count, layers = shape.widths, rows.size, shape.widths.size - 1
    place = 0
    for layer in range(layers):
        fan_in, fan_out = widths[layer], widths[layer + 1]
        weights = net[place : place + fan_in * fan_out].reshape(fan_in, fan_out)
        biases = biases_of(shape, layer)
        bias = net[place + fan_in * fan_out : place + fan_in * fan_out + biases]
        here = count * outputs_before(widths, layer)
        out = acts[here : here + count * fan_out].reshape(count, fan_out)
        if shape.gated and layer == 1:
            open_gates(acts[here - count * fan_in : here].reshape(count, fan_in), out)
        elif layer > 0:
            np.dot(acts[here - count * fan_in : here].reshape(count, fan_in), weights, out)
        elif table.starts.size:
            out[:] = np.float32(0)
            for r in range(count):
                read_row(table, rows[r], weights, out[r])
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


@compiled
def backward(net: Array, grad: Array, shape: Shape, table: Table, rows: Array, buffers: Buffers) -> None:
    """Write the rows' gradient into `grad` (zero before), given all outputs and the slopes at the logits."""
    picked, acts, slopes = buffers.picked, buffers.acts, buffers.slopes
    widths, count = shape.widths, rows.size
    scale = np.float32(1 / (1 - shape.dropout))  # outputs that were left out are zero, and so are their slopes
    place = net.size
    for layer in range(widths.size - 2, -1, -1):
        fan_in, fan_out = widths[layer], widths[layer + 1]
        biases = biases_of(shape, layer)
        place -= fan_in * fan_out + biases
        here = count * outputs_before(widths, layer)
        slope = slopes[here : here + count * fan_out].reshape(count, fan_out)
        grad_bias = grad[place + fan_in * fan_out : place + fan_in * fan_out + biases]
        for r in range(count if biases else 0):
            for k in range(fan_out):
                grad_bias[k] += slope[r, k]
        grad_weights = grad[place : place + fan_in * fan_out].reshape(fan_in, fan_out)
        if layer == 0:
            if table.starts.size:
                for r in range(count):
                    row_back(table, rows[r], slope[r], grad_weights)
            else:
                np.dot(picked[:count].T, slope, grad_weights)
            return
        weights = net[place : place + fan_in * fan_out].reshape(fan_in, fan_out)
        below = acts[here - count * fan_in : here].reshape(count, fan_in)
        slope_below = slopes[here - count * fan_in : here].reshape(count, fan_in)
        if shape.gated and layer == 1:
            gates_back(below, slope, slope_below)
            continue
        np.dot(below.T, slope, grad_weights)
        np.dot(slope, weights.T, slope_below)
        if layer > 1 + shape.gated or not (shape.pooled or shape.gated):
            for r in range(count):
                for k in range(fan_in):
                    slope_below[r, k] = slope_below[r, k] * scale if below[r, k] > 0 else np.float32(0)


@compiled
def train_client(state: State, shape: Shape, table: Table, labels: Array, visit: Visit, rule: Rule) -> None:
    """Run all local steps of one client on its net in place."""
    base, order, ends = visit.base, visit.order, visit.ends
    largest, begin = 0, 0
    for end in ends:
        largest, begin = max(largest, end - begin), end
    outputs, classes = outputs_before(shape.widths, shape.widths.size - 1), shape.widths[-1]
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
            output_slope(acts[at : at + classes], labels[rows[r]], share, slopes[at : at + classes])
        backward(state.net, state.grad, shape, table, rows, buffers)
        begin = ends[step]
        move(state, rule, visit.before + step + 1)


@compiled
def number_clients(held: Held, width: int, count: int, index: Index) -> None:
    """Fill an index with the own columns of the first `count` clients; one that names most columns has no names there."""
    table, scratch = held.table, np.zeros(width, np.int32)
    for client in range(count):
        begin, end = table.starts[held.starts[client]], table.starts[held.starts[client + 1]]
        named = index.names[index.name_starts[client] :]
        found = own_columns(table.columns[begin:end], width, scratch, named, index.own[begin - table.starts[held.starts[0]] :])
        index.name_starts[client + 1] = index.name_starts[client] + (found if found < width else 0)


@compiled
def own_table(task: Task, client: int, named: Array, scratch: Scratch) -> tuple[int, Table]:
    """Return how many first-layer lines are the client's own, all if it names most, and its rows in terms of them.

    `named` takes the names of the lines, unless they are all of them.
    """
    table, starts, index, width = task.held.table, task.held.starts, task.known, task.shape.widths[0]
    begin, end = table.starts[starts[client]], table.starts[starts[client + 1]]
    if client < index.name_starts.size - 1:
        known = index.names[index.name_starts[client] : index.name_starts[client + 1]]
        if known.size == 0 and begin < end:
            return width, table
        named[: known.size] = known
        return known.size, Table(table.starts, index.own, table.values, table.matrix, table.starts[starts[0]])
    count = own_columns(table.columns[begin:end], width, scratch.numbers, named, scratch.own)
    if count == width:
        return width, table
    return count, Table(table.starts, scratch.own, table.values, table.matrix, begin)


@compiled
def train_clients(model: Array, task: Task, clients: Array, seeds: Array, scratch: Scratch) -> None:
    """Train some clients from `model`, each by itself; their nets and the names of their lines are left in `scratch`."""
    widths, held, moments = task.shape.widths, task.held, scratch.moments
    first, width = widths[0] * widths[1], widths[1]
    own_widths = widths.copy()
    for i in range(clients.size):
        base, end = held.starts[clients[i]], held.starts[clients[i] + 1]
        named = scratch.names[scratch.name_starts[i] :]
        count, table = (widths[0], held.table) if task.whole else own_table(task, clients[i], named, scratch)
        size = count * width + model.size - first
        net = scratch.nets[scratch.net_starts[i] : scratch.net_starts[i] + size]
        scratch.net_starts[i + 1] = scratch.net_starts[i] + size
        scratch.name_starts[i + 1] = scratch.name_starts[i] + (count if count < widths[0] else 0)
        if count < widths[0]:
            gather(model, named[:count], width, first, net)
        else:
            net[:] = model
        state = State(net, moments[0, :size], moments[1, :size], moments[2, :size], moments[3, :size])
        if task.rule.pull > 0:
            state.anchor[:] = net
        own_widths[0] = count
        ends = batch_ends(task.pace, end - base)
        order = row_order(end - base, ends[-1] if ends.size else 0, seeds[i])
        shape = Shape(own_widths, task.shape.pooled, task.shape.gated, task.shape.dropout)
        train_client(state, shape, table, held.labels, Visit(base, order, ends, task.before, seeds[i]), task.rule)


@compiled
def predict_rows(net: Array, shape: Shape, table: Table, first: int, logits: Array) -> None:
    """Fill `logits` for consecutive rows beginning at `first`."""
    count, classes = logits.shape
    rows = np.arange(first, first + count)
    acts = np.empty(count * outputs_before(shape.widths, shape.widths.size - 1), np.float32)
    picked = np.empty((0 if table.starts.size else count, table.matrix.shape[1]), np.float32)
    forward(net, shape, table, rows, Buffers(picked, acts, acts, acts[:0]))
    logits[:] = acts[acts.size - count * classes :].reshape(count, classes)
