"""What every codec is: a pair of functions and the claim that goes with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tacit.claim import Claim
from tacit.draws import Draws
from tacit.rows import Vector

Payload = NDArray[np.uint8]


@dataclass(frozen=True, kw_only=True)
class Codec:
    """One way to turn an update into bytes, and the sum of many such messages into their mean update.

    `encode` runs at the client with two kinds of randomness: the client's own, which nobody may know, and the
    message's public one, which the server can repeat. `places` says which coordinates a message speaks of, from its
    public randomness alone; None means all of them, in order. `decode` runs at the server on what `adds_as` accumulates
    over a cohort, together with the cohort's total weight. `unbiased` says that, over the codec's own randomness,
    decoding gives the clipped update back.
    """

    name: str
    payload_size: Callable[[int], int]
    encode: Callable[[Vector, Draws, Draws], Payload]
    decode: Callable[[NDArray[Any], int], Vector]
    adds_as: Literal["floats", "bits", "signs"]
    clipped: Callable[[Vector], Vector]
    variance: Callable[[Vector], NDArray[np.float64]]
    claim: Callable[[int], Claim]
    places: Callable[[int, Draws], NDArray[np.int64]] | None = None
    unbiased: bool = True
