"""Two small LLVM kernels that keep a tile of results in registers: all the arithmetic of full-batch
training.

Matrices have one contiguous line of rows per unit, so eight rows are one SIMD vector (one row per
lane). Addresses and strides are in bytes. Compiled plain loops reach about half of this speed, BLAS
on such small matrices a third.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

LANES = 8
_BYTES = 4 * LANES
_FLOAT, _WORD = ir.FloatType(), ir.IntType(64)
_VECTOR = ir.VectorType(_FLOAT, LANES)
_ZERO = ir.Constant(_VECTOR, [0.0] * LANES)
_SAME_LANE = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)

Builder = Any
Value = Any


def product_tile(outputs: int) -> Any:
    """Generate code that fills `outputs` lines of 16 rows with sum over j of weight[j, output] *
    input[j, row].

    Arguments: out and its stride, input and its stride, weights with their strides by j and by
    output, number of j.
    """

    def body(builder: Builder, values: list[Value]) -> None:
        out, out_stride, line, line_stride, weights, by_input, by_output, count = values
        places = [builder.mul(by_output, _number(k)) for k in range(outputs)]

        def step(at: list[Value], sums: list[Value]) -> list[Value]:
            rows = [_load(builder, at[0], _number(_BYTES * half)) for half in range(2)]
            shared = [_broadcast(builder, at[1], place) for place in places]
            return [
                _multiply_add(builder, shared[k], rows[half], sums[2 * k + half])
                for k in range(outputs)
                for half in range(2)
            ]

        sums = _loop(builder, count, [(line, line_stride), (weights, by_input)], 2 * outputs, step)
        for k in range(outputs):
            start = builder.add(out, builder.mul(out_stride, _number(k)))
            for half in range(2):
                address = builder.add(start, _number(_BYTES * half))
                builder.store(
                    sums[2 * k + half], builder.inttoptr(address, _VECTOR.as_pointer()), align=4
                )

    return _code(body)


def gradient_tile(inputs: int, outputs: int) -> Any:
    """Generate code that sets gradient[j, k] to the sum over rows of input[j, row] * slope[k, row],
    for a tile of (j, k).

    Arguments: gradient with its strides by j and by k, input and its stride, slope and its stride,
    number of vectors.
    """

    def body(builder: Builder, values: list[Value]) -> None:
        gradient, by_input, by_output, line, line_stride, slope, slope_stride, count = values
        at_line = [builder.mul(line_stride, _number(j)) for j in range(inputs)]
        at_slope = [builder.mul(slope_stride, _number(k)) for k in range(outputs)]

        def step(at: list[Value], sums: list[Value]) -> list[Value]:
            left = [_load(builder, at[0], place) for place in at_line]
            right = [_load(builder, at[1], place) for place in at_slope]
            return [
                _multiply_add(builder, left[i // outputs], right[i % outputs], sums[i])
                for i in range(inputs * outputs)
            ]

        one = _number(_BYTES)
        sums = _loop(builder, count, [(line, one), (slope, one)], inputs * outputs, step)
        for i, lanes in enumerate(sums):
            place = builder.add(
                builder.mul(by_input, _number(i // outputs)),
                builder.mul(by_output, _number(i % outputs)),
            )
            address = builder.inttoptr(builder.add(gradient, place), _FLOAT.as_pointer())
            builder.store(_sum_lanes(builder, lanes), address, align=4)

    return _code(body)


def _code(body: Callable[[Builder, list[Value]], None]) -> Any:
    """Return a function of eight integers that compiled code can call."""

    @intrinsic
    def tile(typing, a, b, c, d, e, f, g, h):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
            body(builder, list(values))
            return context.get_dummy_value()

        return types.void(*[types.int64] * 8), generate

    return tile


def _loop(
    builder: Builder,
    count: Value,
    walked: list[tuple[Value, Value]],
    sums: int,
    step: Callable[[list[Value], list[Value]], list[Value]],
) -> list[Value]:
    """Return the sums after `count` (at least one) steps; each address advances by its stride."""
    before, body = builder.block, builder.append_basic_block("body")
    after = builder.append_basic_block("after")
    builder.branch(body)
    builder.position_at_end(body)
    done, at = builder.phi(_WORD), [builder.phi(_WORD) for _ in walked]
    held = [builder.phi(_VECTOR) for _ in range(sums)]
    new = step(at, held)
    following = [
        builder.add(address, stride) for address, (_, stride) in zip(at, walked, strict=True)
    ]
    next_done = builder.add(done, _number(1))
    first = [_number(0), *(start for start, _ in walked), *[_ZERO] * sums]
    for phi, start, then in zip(
        (done, *at, *held), first, (next_done, *following, *new), strict=True
    ):
        phi.add_incoming(start, before)
        phi.add_incoming(then, body)
    builder.cbranch(builder.icmp_signed("<", next_done, count), body, after)
    builder.position_at_end(after)
    return new


def _number(value: int) -> Value:
    return ir.Constant(_WORD, value)


def _load(builder: Builder, address: Value, offset: Value) -> Value:
    return builder.load(
        builder.inttoptr(builder.add(address, offset), _VECTOR.as_pointer()), align=4
    )


def _broadcast(builder: Builder, address: Value, offset: Value) -> Value:
    number = builder.load(
        builder.inttoptr(builder.add(address, offset), _FLOAT.as_pointer()), align=4
    )
    nothing = ir.Constant(_VECTOR, ir.Undefined)
    return builder.shuffle_vector(
        builder.insert_element(nothing, number, ir.Constant(ir.IntType(32), 0)), nothing, _SAME_LANE
    )


def _multiply_add(builder: Builder, left: Value, right: Value, total: Value) -> Value:
    """Return left * right + total, rounded once (fused multiply-add)."""
    kind = ir.FunctionType(_VECTOR, [_VECTOR] * 3)
    return builder.call(_declare(builder, kind, f"llvm.fma.v{LANES}f32"), [left, right, total])


def _sum_lanes(builder: Builder, lanes: Value) -> Value:
    """Return the sum of all lanes, adding halves first."""
    kind = ir.FunctionType(_FLOAT, [_FLOAT, _VECTOR])
    reduce = _declare(builder, kind, f"llvm.vector.reduce.fadd.v{LANES}f32")
    return builder.call(reduce, [ir.Constant(_FLOAT, 0.0), lanes], fastmath=("reassoc",))


def _declare(builder: Builder, kind: Value, name: str) -> Value:
    """Declare one of LLVM's intrinsic functions."""
    found: Value = builder.module.globals.get(name)
    return ir.Function(builder.module, kind, name) if found is None else found
