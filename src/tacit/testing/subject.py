"""The codec under test, with the calls that every check makes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from tacit.codecs import Codec, Extent, Payload, Sum
from tacit.errors import WireError
from tacit.randomness import ClientDraws, Draws, PublicDraws, ServerDraws
from tacit.rows import Vector

ROUNDS = 3
_SECRET = bytes(range(16))
_FALSE_ALARM = 5e-7


class LawError(AssertionError):
    """A codec breaks a law; the message names the check and what it found."""


def require(holds: bool, why: str) -> None:
    """Raise LawError with a reason unless a statement holds."""
    if not holds:
        raise LawError(why)


@dataclass(frozen=True)
class Subject:
    """A codec under test, rebuilt for runs of different extent.

    `scale` is the size of the coordinates that are encoded, such as the codec's clip.
    """

    build: Callable[[Extent], Codec]
    scale: float = 1.0

    def at_client(self, cohort: int = 1, helpers: int = 0, round_no: int = 1) -> Codec:
        """Build the clients' codec: with the clients' secret, if it needs one."""
        codec = self.build(Extent(rounds=ROUNDS, cohort=cohort, helpers=helpers))
        return codec if codec.keyed is None else codec.keyed(_SECRET, round_no)


def encode(codec: Codec, update: Vector, own: Draws, public: PublicDraws) -> Payload:
    """Encode an update as a client without memory."""
    client = ClientDraws(own.key, own.path)
    return codec.encode(update, {}, own=client, public=public).payload


def decode(codec: Codec, total: Sum, seed: int = 0) -> Vector:
    """Decode a sum with draws of the decoder and public draws from a seed."""
    root = Draws.seeded(seed)
    return codec.decode(total, public=PublicDraws(root.key), own=ServerDraws(root.key))


def decode_without_noise(codec: Codec, total: Sum) -> Vector:
    """Decode a sum and subtract the noise of decoding: the same draws add the same noise to an
    empty sum.
    """
    value = decode(codec, total)
    if codec.sum_noise is None:
        return value
    noise = decode(codec, codec.empty(len(value)))
    return (value.astype(np.float64) - noise).astype(np.float32)


def send(codec: Codec, total: Sum, update: Vector, address: Draws, weight: int = 1) -> None:
    """Encode an update with draws below an address, and add the message to a sum."""
    below = address.at("public")
    public = PublicDraws(below.key, below.path)
    total.add(encode(codec, update, address.at("own"), public), weight, public)


def decode_mean(codec: Codec, update: Vector, addresses: list[Draws]) -> Vector:
    """Decode the mean of one update sent once from each address."""
    total = codec.empty(len(update))
    for address in addresses:
        send(codec, total, update, address)
    return decode_without_noise(codec, total)


def is_refused(total: Sum, call: Callable[[], object]) -> bool:
    """Whether a call raises WireError; raise LawError if it raises anything else or changes the sum
    before it refuses.
    """
    before, weight = total.pack().tobytes(), total.weight
    try:
        call()
    except WireError:
        unchanged = (total.pack().tobytes(), total.weight) == (before, weight)
        require(unchanged, "the sum changed although it refused what was added")
        return True
    except Exception as error:
        raise LawError(f"a sum must raise WireError on bad input, not {error!r}") from error
    return False


def has_client_noise(codec: Codec, update: Vector) -> bool:
    """Whether a client randomises the message of this update."""
    return bool(codec.variance(update).any())


def deviations(checks: int = 1) -> float:
    """Number of standard deviations that `checks` normal figures all stay within, except with
    probability 5e-7.
    """
    return float(norm.isf(_FALSE_ALARM / (2 * checks)))


def as_bytes(value: float, kind: str, size: int) -> NDArray[np.uint8]:
    """Fill `size` bytes with one value of a number format."""
    return np.resize(np.array([value], kind).view(np.uint8), size)
