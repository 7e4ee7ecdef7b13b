"""An LSTM layer that reads a whole row as its only time step.

The initial hidden and cell states are zero, so h = o · tanh(i · g) with i = σ(·), g = tanh(·), o =
σ(·) of the row; the forget gate and the recurrent weights are not used. Gate order is PyTorch's: i,
f, g, o.
"""

from __future__ import annotations

import numpy as np

from tacit.training.compiled.first_layer import Array, compiled


@compiled
def forward_gates(gates: Array, state: Array) -> None:
    """Fill `state` (rows, units) from the gate inputs (rows, 4 units); leave i, tanh(i · g),
    tanh(g), o in `gates`.
    """
    units, one = state.shape[1], np.float32(1)
    for r in range(state.shape[0]):
        row = gates[r]
        for k in range(units):
            enter = one / (one + np.exp(-row[k]))
            value = np.tanh(row[2 * units + k])
            leave = one / (one + np.exp(-row[3 * units + k]))
            memory = np.tanh(enter * value)
            row[k], row[units + k], row[2 * units + k], row[3 * units + k] = (
                enter,
                memory,
                value,
                leave,
            )
            state[r, k] = leave * memory


@compiled
def backward_gates(gates: Array, slope: Array, slope_below: Array) -> None:
    """Fill the gradients at the gate inputs from those at the state; `gates` is as `forward_gates`
    left it.
    """
    units, one = slope.shape[1], np.float32(1)
    for r in range(slope.shape[0]):
        row, below = gates[r], slope_below[r]
        for k in range(units):
            enter, memory, value, leave = (
                row[k],
                row[units + k],
                row[2 * units + k],
                row[3 * units + k],
            )
            at_memory = slope[r, k] * leave * (one - memory * memory)
            below[k] = at_memory * value * enter * (one - enter)
            below[units + k] = np.float32(0)
            below[2 * units + k] = at_memory * enter * (one - value * value)
            below[3 * units + k] = slope[r, k] * memory * leave * (one - leave)
