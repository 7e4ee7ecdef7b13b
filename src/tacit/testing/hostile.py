"""Checks of hostile input to a sum, from a client, a site or the server: it is refused with nothing
added, or it could be honest.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tacit.codecs import Codec, Sum
from tacit.errors import WireError
from tacit.randomness import Draws, PublicDraws
from tacit.testing.subject import Subject, as_bytes, decode, encode, is_refused, require

DIM = 37
PUBLIC = PublicDraws(b"public")
WRONG_WEIGHTS = (0, -1, -(2**62), 2**62, 2**63 - 1, 2**63, 2**64 + 1, 2**200)
EXTREMES: dict[str, list[float]] = {
    "<i4": [-(2**31), 1 - 2**31, 2**31 - 1, 46341, -46341, 2**16],
    "<i8": [-(2**63), 1 - 2**63, 2**63 - 1, 3037000500, 2**32, 2**62, -1],
    "<f4": [math.nan, math.inf, -math.inf, 3.4028235e38],
    "<f8": [math.nan, math.inf, -math.inf, 1.7e308, -1.7e308, 1e300],
    "<u1": [0, 255, 127, 128],
}


def sum_honest(codec: Codec, clients: int = 3, weight: int = 2) -> Sum:
    """Build the sum of some honest clients."""
    total = codec.empty(DIM)
    for n in range(clients):
        update = np.cos(np.arange(DIM, dtype=np.float32) * n) * np.float32(0.1)
        payload = encode(codec, update, Draws.seeded(n), PUBLIC.at(n))
        total.add(payload, weight, PUBLIC.at(n))
    return total


def check_sound(codec: Codec, total: Sum) -> None:
    """A sum decodes to finite numbers, and can be serialised."""
    try:
        require(bool(np.isfinite(decode(codec, total)).all()), "a sum decodes to NaN or infinity")
    except WireError:  # only clients can see that tokens are not theirs
        require(codec.decoded_by == "clients", "a sum accepted bytes that it cannot decode")
    codec.empty(DIM).add_packed(total.pack().copy(), total.weight)
    require(0 <= total.weight < 2**62, f"a sum has the impossible weight {total.weight}")


def check_sizes(subject: Subject) -> None:
    """A payload or a packed sum of another size is refused."""
    codec = subject.at_client()
    total, size = sum_honest(codec), codec.payload_size(DIM)
    for wrong in sorted({0, 1, 3, size - 1, size + 1, 2 * size, 8 * DIM + 8} - {size}):
        zeros = np.zeros(wrong, np.uint8)
        _require_refusal(total, partial(total.add, zeros, 1, PUBLIC), f"{wrong} bytes")
    packed = total.pack()
    for other in (
        packed[:-1],
        packed[:-8],
        np.append(packed, np.uint8(0)),
        packed[:0],
        packed[:7],
        np.tile(packed, 2),
    ):
        _require_refusal(
            total,
            partial(total.add_packed, other.copy(), 6),
            f"a packed sum of {len(other)} bytes",
        )


def _require_refusal(total: Sum, call: Callable[[], object], what: str) -> None:
    require(is_refused(total, call), f"a sum accepts {what}; raise WireError instead")


def check_weights(subject: Subject) -> None:
    """Weights that no client has are refused, and so are weights that would overflow in total."""
    codec = subject.at_client()
    total, payload = sum_honest(codec), encode(codec, np.zeros(DIM, np.float32), _ROOT, PUBLIC)
    packed = total.pack()
    for weight in WRONG_WEIGHTS:
        said = f"the weight {weight}"
        _require_refusal(total, partial(total.add, payload.copy(), weight, PUBLIC), said)
        _require_refusal(total, partial(total.add_packed, packed.copy(), weight), said)
    check_sound(codec, total)
    heavy = _add_heaviest(codec, payload)
    other = codec.empty(DIM)
    other.add(payload.copy(), heavy.weight, PUBLIC)
    said = "weights that together are too large"
    _require_refusal(heavy, lambda: heavy.merge(other), said)
    _require_refusal(heavy, lambda: heavy.add(payload.copy(), heavy.weight, PUBLIC), said)
    _require_refusal(heavy, lambda: heavy.add_packed(other.pack().copy(), other.weight), said)
    check_sound(codec, heavy)


_ROOT = Draws.seeded(0)


def _add_heaviest(codec: Codec, payload: NDArray[np.uint8]) -> Sum:
    """Build a sum of one message with the largest power of 2 that is accepted as its weight."""
    for power in range(61, 0, -1):
        heavy = codec.empty(DIM)
        if not is_refused(heavy, partial(heavy.add, payload.copy(), 1 << power, PUBLIC)):
            return heavy
    heavy = codec.empty(DIM)
    heavy.add(payload.copy(), 1, PUBLIC)
    return heavy


def check_other_coordinates(subject: Subject) -> None:
    """A sum over another number of coordinates is not merged."""
    codec = subject.at_client()
    total = sum_honest(codec)
    for dim in (1, DIM - 1, DIM + 1):
        _require_refusal(
            total,
            partial(total.merge, codec.empty(dim)),
            f"a sum over {dim} coordinates into one over {DIM}",
        )


def check_empty_sum(subject: Subject) -> None:
    """A sum of no clients holds nothing."""
    codec = subject.at_client()
    total = codec.empty(DIM)
    _require_refusal(
        total,
        lambda: total.add_packed(sum_honest(codec).pack().copy(), 0),
        "numbers of no clients",
    )
    nothing = codec.empty(DIM).pack().copy()
    require(
        not is_refused(total, lambda: total.add_packed(nothing, 0)),
        "an empty sum must be addable",
    )
    require(total.weight == 0, f"the sum of no clients has weight {total.weight}")


def check_extreme_numbers(subject: Subject) -> None:
    """Extreme numbers of any format are refused, or the sum stays sound."""
    codec = subject.at_client()
    for kind, values in EXTREMES.items():
        for value in values:
            check_bytes(codec, as_bytes(value, kind, codec.payload_size(DIM)))
            check_packed_bytes(codec, as_bytes(value, kind, 8 * DIM), 6)


def check_any_bytes(subject: Subject) -> None:
    """Random bytes, and honest sums with some bytes changed, are refused, or the sum stays sound."""
    codec = subject.at_client()
    generator = np.random.Generator(np.random.Philox(key=7))
    honest = sum_honest(codec).pack()
    for _ in range(60):
        check_bytes(codec, generator.integers(0, 256, codec.payload_size(DIM), np.uint8))
        changed = honest.copy()
        for at in generator.integers(0, len(changed), 3):
            changed[at] = generator.choice([0, 1, 127, 128, 255])
        check_packed_bytes(codec, changed, int(generator.choice([0, 1, 5, 6, 7, 2**40])))


def check_bytes(codec: Codec, payload: NDArray[np.uint8]) -> Sum:
    """A sum refuses a payload, or stays sound."""
    total = sum_honest(codec)
    is_refused(total, lambda: total.add(payload.copy(), 1, PUBLIC))
    check_sound(codec, total)
    return total


def check_packed_bytes(codec: Codec, packed: NDArray[np.uint8], weight: int) -> Sum:
    """A sum refuses a packed sum of that weight, or stays sound."""
    total = sum_honest(codec)
    is_refused(total, lambda: total.add_packed(packed.copy(), weight))
    check_sound(codec, total)
    return total
