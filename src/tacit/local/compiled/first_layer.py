"""The first layer, where most parameters are: it reads and writes only the lines a row names."""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np

Array = Any  # numba reads the arrays' types at run time

FAST = {"contract", "reassoc", "nsz", "arcp"}
_LOOK = 1024  # entries after which we look whether most columns are named already
compiled = numba.njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)


class Table(NamedTuple):
    """Input rows as the kernels read them: sparse (starts, columns, values; no values means ones) or a matrix.

    Entry `place` of the sparse form stands at columns[place - shift], so that one client's columns can be numbered anew
    in a small array of their own.
    """

    starts: Array
    columns: Array
    values: Array
    matrix: Array
    shift: int


@compiled
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


@compiled
def read_row(table: Table, row: int, weights: Array, out: Array) -> None:
    """Add one sparse row times the first layer's weights to `out`."""
    begin, end = table.starts[row], table.starts[row + 1]
    named = table.columns[begin - table.shift : end - table.shift]
    if not table.values.size:
        add_lines(named, weights, out)
        return
    for i in range(named.size):
        line, value = weights[named[i]], table.values[begin + i]
        for k in range(out.size):
            out[k] += value * line[k]


@compiled
def row_back(table: Table, row: int, slope: Array, grad: Array) -> None:
    """Add the outer product of one sparse row and `slope` to the first layer's gradient."""
    for place in range(table.starts[row], table.starts[row + 1]):
        line = grad[table.columns[place - table.shift]]
        if table.values.size:
            value = table.values[place]
            for k in range(slope.size):
                line[k] += value * slope[k]
        else:
            for k in range(slope.size):
                line[k] += slope[k]


@compiled
def own_columns(columns: Array, width: int, scratch: Array, named: Array, own: Array) -> int:
    """Number a client's columns in rising order and return how many there are.

    `named` takes the columns (and one entry more), `own` each entry's number. A client that names more than half of all
    columns is treated as naming them all, and `width` is returned: copying whole is then cheaper than picking. `scratch`
    holds one zero per column, and does so again afterwards. Written without branches: which word is new is anyone's guess.
    """
    count = 0
    for first in range(0, columns.size, _LOOK):
        for entry in range(first, min(first + _LOOK, columns.size)):
            number = scratch[columns[entry]]
            fresh = np.int32(number == 0)
            named[count] = columns[entry]
            count += int(fresh)
            scratch[columns[entry]] = number + fresh
        if 2 * count > width:
            break
    if 2 * count > width:
        for i in range(count):
            scratch[named[i]] = 0
        return width
    named[:count].sort()
    for i in range(count):
        scratch[named[i]] = i + 1
    for entry in range(columns.size):
        own[entry] = scratch[columns[entry]] - 1
    for i in range(count):
        scratch[named[i]] = 0
    return count


@compiled
def gather(model: Array, named: Array, width: int, first: int, net: Array) -> None:
    """Copy the named first-layer lines and everything after the first layer into `net`."""
    for i in range(named.size):
        source, target = named[i] * width, i * width
        for k in range(width):
            net[target + k] = model[source + k]
    shift = named.size * width - first
    for i in range(first, model.size):
        net[i + shift] = model[i]


@compiled
def leave_changes(model: Array, names: Array, name_starts: Array, width: int, first: int, nets: Array, starts: Array) -> None:
    """Leave in each client's net only what training changed: the lines it names, or all, then everything after the first layer."""
    for n in range(starts.size - 1):
        net, named = nets[starts[n] : starts[n + 1]], names[name_starts[n] : name_starts[n + 1]]
        if net.size == model.size:
            for i in range(net.size):
                net[i] -= model[i]
            continue
        for i in range(named.size):
            here, there = i * width, named[i] * width
            for k in range(width):
                net[here + k] -= model[there + k]
        shift = named.size * width - first
        for i in range(first, model.size):
            net[i + shift] -= model[i]


@compiled
def lay_out(values: Array, named: Array, width: int, first: int, update: Array) -> None:
    """Write values to where they belong in a whole update, at the named lines and after the first layer."""
    for i in range(named.size):
        here, there = i * width, named[i] * width
        for k in range(width):
            update[there + k] = values[here + k]
    shift = named.size * width - first
    for i in range(first, update.size):
        update[i] = values[i + shift]


@compiled
def clear_lines(update: Array, named: Array, width: int) -> None:
    """Set a former client's first-layer lines back to zero."""
    for i in range(named.size):
        target = named[i] * width
        for k in range(width):
            update[target + k] = np.float32(0)
