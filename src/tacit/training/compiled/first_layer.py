"""First-layer kernels.

Most parameters are in this layer, so only weight rows of non-zero inputs are read and written.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np

Array = Any  # numba reads the arrays' types at run time

FAST = {"contract", "reassoc", "nsz", "arcp"}
_LOOK = 1024  # entries after which we check whether most columns occur already
compiled = numba.njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)


class InputTable(NamedTuple):
    """Input rows as the kernels read them: sparse (starts, columns, values; no values means ones)
    or a matrix.

    In the sparse form, entry `place` is at columns[place - shift], so that one client's columns can
    be renumbered in a small array.
    """

    starts: Array
    columns: Array
    values: Array
    matrix: Array
    shift: int


@compiled
def add_lines(named: Array, weights: Array, out: Array) -> None:
    """Add the named weight rows to `out`, four at a time, to load and store the sum a quarter as
    often.
    """
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
def add_row_product(table: InputTable, row: int, weights: Array, out: Array) -> None:
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
def add_row_gradient(table: InputTable, row: int, slope: Array, grad: Array) -> None:
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
def index_columns(columns: Array, width: int, scratch: Array, named: Array, own: Array) -> int:
    """Number the columns that occur in a client's rows, in increasing order, and return how many
    there are.

    `named` receives the columns (and one more entry), `own` the number of each entry. If more than
    half of all columns occur, all are treated as occurring and `width` is returned: one full copy
    is then cheaper than a gather. `scratch` holds one zero per column before and after the call.
    The loop is branch-free because branches on words predict badly.
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
    """Copy the named first-layer weight rows and all later parameters into `net`."""
    for i in range(named.size):
        source, target = named[i] * width, i * width
        for k in range(width):
            net[target + k] = model[source + k]
    shift = named.size * width - first
    for i in range(first, model.size):
        net[i + shift] = model[i]


@compiled
def subtract_model(
    model: Array,
    names: Array,
    name_starts: Array,
    width: int,
    first: int,
    nets: Array,
    starts: Array,
) -> None:
    """Replace each client's net by its difference from `model`: its first-layer rows, then all
    later parameters.
    """
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
def scatter_update(values: Array, named: Array, width: int, first: int, update: Array) -> None:
    """Write a client's values to their positions in a full update."""
    for i in range(named.size):
        here, there = i * width, named[i] * width
        for k in range(width):
            update[there + k] = values[here + k]
    shift = named.size * width - first
    for i in range(first, update.size):
        update[i] = values[i + shift]


@compiled
def clear_lines(update: Array, named: Array, width: int) -> None:
    """Reset the first-layer rows of the previous client to zero."""
    for i in range(named.size):
        target = named[i] * width
        for k in range(width):
            update[target + k] = np.float32(0)
