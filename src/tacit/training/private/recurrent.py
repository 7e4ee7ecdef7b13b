"""A bidirectional LSTM layer over sequences of different lengths that returns only the two last
states.

PyTorch's LSTM records every operation of every step for its backward pass and accumulates weight
gradients per step. Here a step is one matrix product and one pass over its gates, a zero initial
state is not multiplied, and each weight gradient is one product at the end. Results equal those of
`nn.LSTM` up to rounding.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numba
import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.autograd.function import once_differentiable

Matrix = NDArray[np.float32]
_NAMES = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


class PackedStep(NamedTuple):
    """The rows of one step in a packed sequence, and those of the step before; the first `shared`
    sequences continue.
    """

    lines: slice
    before: slice
    shared: int


def build_packed_steps(sizes: list[int], backwards: bool) -> list[PackedStep]:
    """List the steps of packed sequences in reading order; `sizes` holds the number of sequences at
    each step.
    """
    ends = np.cumsum(sizes).tolist()
    lines = [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]
    if backwards:
        lines.reverse()
    steps, before = [], slice(0, 0)
    for now in lines:
        shared = min(now.stop - now.start, before.stop - before.start)
        steps.append(PackedStep(now, slice(before.start, before.start + shared), shared))
        before = now
    return steps


class LastStates(torch.autograd.Function):
    """Last states of one direction, with a hand-written backward pass."""

    @staticmethod
    def forward(
        ctx: Any, sizes: list[int], backwards: bool, vectors: torch.Tensor, *weights: torch.Tensor
    ) -> torch.Tensor:
        """Return the last state of each sequence; weights are input and recurrent weights, then the
        two biases.
        """
        of_inputs, of_states, *biases = weights
        width, steps, turned = (
            of_states.shape[1],
            build_packed_steps(sizes, backwards),
            of_states.t(),
        )
        gates = torch.addmm(biases[0] + biases[1], vectors, of_inputs.t())
        cells, bent, states = (vectors.new_empty(len(vectors), width) for _ in range(3))
        for lines, before, shared in steps:
            gate = gates[lines]
            if shared:
                gate[:shared].addmm_(states[before], turned)
            gate[:, : 2 * width].sigmoid_()
            gate[:, 2 * width : 3 * width].tanh_()
            gate[:, 3 * width :].sigmoid_()
            _cells(gate.numpy(), cells[before].numpy(), cells[lines].numpy())
            torch.tanh(cells[lines], out=bent[lines])
            torch.mul(gate[:, 3 * width :], bent[lines], out=states[lines])
        ctx.save_for_backward(vectors, of_inputs, of_states, gates, cells, bent, states)
        ctx.steps = steps
        return _last(states, steps, sizes[0])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: torch.Tensor) -> tuple[Any, ...]:
        """Return the gradients of the vectors and of those weights that are trained."""
        vectors, of_inputs, of_states, gates, cells, bent, states = ctx.saved_tensors
        slopes, of_state, of_cell = torch.empty_like(gates), slope.clone(), torch.zeros_like(slope)
        for lines, before, shared in reversed(ctx.steps):
            some = lines.stop - lines.start
            seen = (gates[lines].numpy(), cells[before].numpy(), bent[lines].numpy())
            _slopes(*seen, of_state[:some].numpy(), of_cell[:some].numpy(), slopes[lines].numpy())
            if shared:  # a first state has no use for its slope
                torch.mm(slopes[lines][:shared], of_states, out=of_state[:shared])
        needs = ctx.needs_input_grad[2:]
        found = [
            slopes @ of_inputs if needs[0] else None,
            slopes.t() @ vectors if needs[1] else None,
        ]
        found.append(_compute_recurrent_gradient(slopes, states, ctx.steps) if needs[2] else None)
        of_bias = slopes.sum(0) if needs[3] or needs[4] else None
        return None, None, *found, *(of_bias if wanted else None for wanted in needs[3:])


def _last(states: torch.Tensor, steps: list[PackedStep], many: int) -> torch.Tensor:
    last = states.new_empty(many, states.shape[1])
    for lines, _, _ in steps:
        last[: lines.stop - lines.start] = states[lines]
    return last


def _compute_recurrent_gradient(
    slopes: torch.Tensor, states: torch.Tensor, steps: list[PackedStep]
) -> torch.Tensor:
    """Return the gradient of the recurrent weights, from steps that had an earlier state."""
    ours = torch.cat(
        [torch.arange(lines.start, lines.start + shared) for lines, _, shared in steps]
    )
    theirs = torch.cat([torch.arange(before.start, before.stop) for _, before, _ in steps])
    return slopes[ours].t() @ states[theirs]


@numba.njit(nogil=True, cache=True)
def _cells(gate: Matrix, before: Matrix, after: Matrix) -> None:
    """Compute a step's cell states from its gates and the previous cell states."""
    width = after.shape[1]
    for row in range(after.shape[0]):
        if row < before.shape[0]:
            for i in range(width):
                after[row, i] = (
                    gate[row, width + i] * before[row, i] + gate[row, i] * gate[row, 2 * width + i]
                )
        else:
            for i in range(width):
                after[row, i] = gate[row, i] * gate[row, 2 * width + i]


@numba.njit(nogil=True, cache=True)
def _slopes(
    gate: Matrix, before: Matrix, bent: Matrix, of_state: Matrix, of_cell: Matrix, slopes: Matrix
) -> None:
    """Compute the gradients at a step's gates, and propagate the cell gradient to the previous
    step.
    """
    width, one = bent.shape[1], np.float32(1)
    for row in range(bent.shape[0]):
        for i in range(width):
            into, keep, new, out = (
                gate[row, i],
                gate[row, width + i],
                gate[row, 2 * width + i],
                gate[row, 3 * width + i],
            )
            tanh, slope = bent[row, i], of_state[row, i]
            cell = of_cell[row, i] + slope * out * (one - tanh * tanh)
            kept = before[row, i] if row < before.shape[0] else np.float32(0)
            slopes[row, i] = cell * new * into * (one - into)
            slopes[row, width + i] = cell * kept * keep * (one - keep)
            slopes[row, 2 * width + i] = cell * into * (one - new * new)
            slopes[row, 3 * width + i] = slope * tanh * out * (one - out)
            of_cell[row, i] = cell * keep


@cache
def warm_up() -> None:
    """Compile the kernels before workers are forked."""
    vectors = torch.zeros(2, 1, 1, requires_grad=True)
    packed = nn.utils.rnn.pack_padded_sequence(vectors, torch.ones(2), batch_first=True)
    compute_last_states(nn.LSTM(1, 1, bidirectional=True), packed).sum().backward()  # type: ignore[no-untyped-call]


def compute_last_states(lstm: nn.LSTM, packed: nn.utils.rnn.PackedSequence) -> torch.Tensor:
    """Return the last states of both directions, concatenated, in the order of the packed rows."""
    sizes = packed.batch_sizes.tolist()
    both = [
        LastStates.apply(
            sizes, bool(end), packed.data, *(getattr(lstm, f"{name}_l0{end}") for name in _NAMES)
        )  # type: ignore[no-untyped-call]
        for end in ("", "_reverse")
    ]
    found = torch.cat(both, dim=1)
    return found if packed.unsorted_indices is None else found[packed.unsorted_indices]
