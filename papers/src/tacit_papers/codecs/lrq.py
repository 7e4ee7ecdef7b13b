"""Layered randomised quantisation (LRQ): an update in few bits whose decoding error is Gaussian.

The client draws a seed, which it sends. From it client and server draw a step and an offset for each
number of the message. The client also sends the number of each cell. Over the draws, the error of the decoded number is exactly
Gaussian, whatever the number was: steps are the widths of the layers of a Gaussian density, and a
dither places the number evenly within its cell.

Guarantees: none of privacy. The papers on LRQ state that of Gaussian noise. It holds for a party
that sees decoded numbers and does not know the seeds. The server knows them, since it decodes: a
message shows it the cell of each number. In Tacit, `gaussian` adds noise that the server does not
know. Decoding is unbiased, with the variance of the noise, up to floating-point rounding. The
server refuses cells that no clipped update has. Source: Yan, Li, Lan, Wu and Song 2023, *Layered
Randomized Quantization for Communication-Efficient and Privacy-Preserving Distributed Learning*;
the layers are those of Hegazy and Li 2022, *Randomized Quantization with Exact Error Distribution*
(shifted layers).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit.codecs import Codec, EncodedUpdate, Extent, Memory, OwnMechanism, wrap_payload
from tacit.codecs.plain import decode_mean
from tacit.codecs.stages.clip_rows import clip_each
from tacit.codecs.sums import FloatSum
from tacit.codecs.sums.checks import check_size, check_weight
from tacit.codecs.sums.packing import count_packed_bytes, pack_integers, unpack_integers
from tacit.errors import WireError
from tacit.plan.kinds import Positive
from tacit.privacy.claim import Claim, Open
from tacit.randomness import ClientDraws, PublicDraws
from tacit.rows import Vector

_SEED = 32
"""Bytes of a seed."""
_NARROWEST = 2 * math.sqrt(2 * math.log(2))
"""The least width of a layer, in standard deviations."""


@dataclass(frozen=True, kw_only=True)
class LRQ:
    """The keys of `[codec.settings]`."""

    stddev: Positive
    """Standard deviation of the error of each decoded number."""
    clip: Positive = 1.0
    """The maximum L2 norm of an update."""


class Layers(NamedTuple):
    """What client and server share about a message: the width and the centre of each number's
    layer, and its dither in [-1/2, 1/2).
    """

    width: NDArray[np.float64]
    centre: NDArray[np.float64]
    dither: NDArray[np.float64]

    def find_cells(self, update: Vector) -> NDArray[np.int64]:
        """The cell of each number."""
        return np.rint(update / self.width + self.dither).astype(np.int64)

    def decode(self, cells: NDArray[np.int64]) -> NDArray[np.float64]:
        """The number that a cell stands for."""
        return np.asarray((cells - self.dither) * self.width + self.centre)


def draw_layers(seed: NDArray[np.uint8], count: int, stddev: float) -> Layers:
    """Draw a layer for each number of a message from its seed: a point under the Gaussian density picks its height, or the
    height below the top on the right side.
    """
    generator = PublicDraws(seed.tobytes()).at("layers").generator()
    point = generator.standard_normal(count)
    share = 1 - generator.random(count)  # of the density at the point, never 0
    under = -0.5 * point**2 + np.log(share)  # logarithm of the height, of the top
    below = np.log1p(-np.exp(np.minimum(under, -1e-300)))
    near, far = np.sqrt(-2 * under), np.sqrt(-2 * np.maximum(below, -700.0))
    is_right = point >= 0
    right, left = np.where(is_right, near, far), -np.where(is_right, far, near)
    return Layers(
        width=stddev * (right - left),
        centre=stddev * (right + left) / 2,
        dither=generator.random(count) - 0.5,
    )


class CellSum(FloatSum):
    """A sum of numbers that are decoded from their cells on arrival."""

    def __init__(self, dim: int, settings: LRQ) -> None:
        super().__init__(dim)
        self._settings, self._most = settings, count_cells(settings)

    def add(self, payload: NDArray[np.uint8], weight: int, public: PublicDraws) -> None:
        """Decode one payload and add it `weight` times; refuse cells that no clipped update has."""
        bits = (2 * self._most).bit_length()
        check_size(payload, _SEED + count_packed_bytes(self.dim, bits))
        check_weight(self.weight, weight)
        cells = unpack_integers(payload[_SEED:], self.dim, bits).astype(np.int64) - self._most
        if len(cells) and cells.max() > self._most:
            raise WireError(
                f"update refused: it contains cell {cells.max():,}; cells are within"
                f" ±{self._most:,}"
            )
        layers = draw_layers(payload[:_SEED], self.dim, self._settings.stddev)
        self.add_row(layers.decode(cells).astype(np.float32), weight)


def count_cells(settings: LRQ) -> int:
    """Largest absolute value of a cell of a clipped update."""
    return math.ceil(settings.clip / (_NARROWEST * settings.stddev) + 1)


def make(settings: LRQ, extent: Extent) -> Codec:
    """Build the layered quantiser for a clip and a standard deviation."""
    most = count_cells(settings)
    bits = (2 * most).bit_length()

    def encode(
        update: Vector, memory: Memory, *, own: ClientDraws, public: PublicDraws
    ) -> EncodedUpdate:
        seed = own.words(_SEED // 8).astype("<u8").view(np.uint8)
        layers = draw_layers(seed, len(update), settings.stddev)
        cells = layers.find_cells(_clip(update, settings.clip))
        packed = pack_integers(np.clip(cells, -most, most) + most, bits)
        return wrap_payload(np.concatenate([seed, packed]))

    return Codec(
        name="lrq",
        payload_size=lambda dim: _SEED + count_packed_bytes(dim, bits),
        encoder=encode,
        empty=lambda dim: CellSum(dim, settings),
        decoder=decode_mean,
        clip_update=lambda update: _clip(update, settings.clip),
        variance=lambda update: np.full(len(update), settings.stddev**2),
        claims=lambda dim, cohort: (_claim(settings),),
    )


def _clip(update: Vector, clip: float) -> Vector:
    finite = np.nan_to_num(update, nan=0.0, posinf=0.0, neginf=0.0).astype(np.float32)
    return clip_each(finite, np.array([0, len(finite)]), clip)


def _claim(settings: LRQ) -> Claim:
    return Claim(
        mechanism=(
            f"cells of numbers clipped to L2 norm {settings.clip:g}; decoded, they have a Gaussian"
            f" error (σ = {settings.stddev:g}), but the server knows its seed"
        ),
        event=Open(),
        unit="update",
        relation="replace all rows of one client",
        view="server",
        trust=("the server and everyone who reads its traffic",),
        rests_on="nobody",
        source="Yan et al. 2023: their bound is for a party without the seeds",
    )


lrq = OwnMechanism(settings=LRQ, make=make)
