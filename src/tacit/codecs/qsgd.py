"""A few bits per parameter by stochastic rounding to evenly spaced levels, without protection: a
baseline for bytes.

Levels are evenly spaced between plus and minus the norm of the update: its L2 norm, as published,
or its maximum norm, which has a smaller rounding error. The norm is sent too, as 32 bits. With two
bits or more one level is zero, so coordinates that did not change have no error. One bit is a
random sign.

Guarantees: unbiased; the variance of a coordinate is that of rounding between its two neighbours.
No privacy: rounding moves a value by less than a step, and the norm is exact. The server refuses an
update that is not finite. Source: Alistarh, Grubic, Li, Tomioka, Vojnovic 2017, *QSGD*, with levels
on both sides of zero counted in the bits.
"""

from __future__ import annotations

from typing import Literal, assert_never

import numpy as np
from numpy.typing import NDArray

from tacit import plan
from tacit.codecs.contract import Codec, EncodedUpdate, Memory, wrap_payload
from tacit.codecs.plain import decode_mean
from tacit.codecs.sums.scaled import ScaledSum, build_scaled_payload, count_scaled_bytes
from tacit.privacy.claim import Claim, Open
from tacit.randomness import ClientDraws, PublicDraws
from tacit.rows import Vector


def make(settings: plan.QSGD) -> Codec:
    """Build the quantiser for a plan's number of bits and kind of norm."""
    bits, levels = settings.bits, count_levels(settings.bits)

    def encode(
        update: Vector, memory: Memory, *, own: ClientDraws, public: PublicDraws
    ) -> EncodedUpdate:
        size = compute_norm(update, settings.norm)
        words = np.empty(len(update), np.uint32)
        own.fill(words)
        places = compute_positions(update, size, levels)
        up = words < np.rint((places % 1) * 2.0**32)
        return wrap_payload(
            build_scaled_payload(size, (places.astype(np.int64) + up).astype(np.uint32), bits)
        )

    def variance(update: Vector) -> NDArray[np.float64]:
        size = compute_norm(update, settings.norm)
        above = compute_positions(update, size, levels) % 1
        return np.asarray((2 * size / (levels - 1)) ** 2 * above * (1 - above))

    return Codec(
        name="qsgd",
        payload_size=lambda dim: count_scaled_bytes(dim, bits),
        encoder=encode,
        empty=lambda dim: ScaledSum(dim, levels, bits),
        decoder=decode_mean,
        clip_update=lambda update: update,
        variance=variance,
        claims=lambda dim, cohort: (_claim(bits),),
    )


def count_levels(bits: int) -> int:
    """Number of levels: odd, with zero in the middle, unless there is only one bit."""
    return max(2, (1 << bits) - 1)


def compute_norm(update: Vector, kind: Literal["l2", "max"]) -> float:
    """L2 or maximum norm as a float32 that is not below any absolute value; not finite if a value
    is not.
    """
    match kind:
        case "max":
            return float(np.abs(update).max(initial=0.0))
        case "l2":
            with np.errstate(over="ignore"):
                norm = np.float32(np.sqrt(np.square(update, dtype=np.float64).sum()))
                return float(np.nextafter(norm, np.float32(np.inf))) if norm else 0.0
        case _:
            assert_never(kind)


def compute_positions(update: Vector, size: float, levels: int) -> NDArray[np.float64]:
    """Position of each value, in levels above the lowest one."""
    if not 0 < size < np.inf:
        return np.full(len(update), (levels - 1) // 2, np.float64)
    return np.asarray((update.astype(np.float64) / size + 1) * ((levels - 1) / 2))


def _claim(bits: int) -> Claim:
    return Claim(
        mechanism=f"stochastic rounding to {bits} bit{'s' if bits > 1 else ''} per parameter",
        event=Open(),
        unit="update",
        relation="replace all rows of one client",
        view="server",
        trust=("the server and everyone who reads its traffic",),
        rests_on="nobody",
        source="none: stochastic rounding saves bytes and protects nothing",
    )
