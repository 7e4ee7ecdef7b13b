"""What travels between a driver and its actors: a body, and arrays of bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from tacit.errors import WireError

Blob = NDArray[np.uint8]


class Packet(NamedTuple):
    """A small body, encoded strictly, and large arrays of bytes that are not copied."""

    body: bytes
    blobs: Sequence[Blob] = ()


class ArrayShape(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """The name, type and shape of an array whose bytes follow."""

    name: str
    dtype: str
    shape: tuple[int, ...]


class Answerer(Protocol):
    """What an actor does with a packet; runs in the actor."""

    def answer(self, kind: str, own: Packet, shared: Packet) -> Packet:
        """Answer a call; `shared` is the same for several calls."""


def pack_arrays(arrays: Mapping[str, NDArray[Any]]) -> tuple[list[ArrayShape], list[Blob]]:
    """The shapes of some arrays, and their bytes."""
    shapes, blobs = list[ArrayShape](), list[Blob]()
    for name, array in arrays.items():
        whole = np.ascontiguousarray(array)
        shapes.append(ArrayShape(name, whole.dtype.str, whole.shape))
        blobs.append(whole.reshape(-1).view(np.uint8))
    return shapes, blobs


def unpack_arrays(shapes: Sequence[ArrayShape], blobs: Sequence[Blob]) -> dict[str, NDArray[Any]]:
    """The arrays of these shapes, without copying; raise WireError if bytes are missing."""
    if len(shapes) != len(blobs):
        raise WireError(f"packet refused: {len(blobs):,} arrays where {len(shapes):,} were stated")
    try:
        return {
            one.name: blob.view(np.dtype(one.dtype)).reshape(one.shape)
            for one, blob in zip(shapes, blobs, strict=True)
        }
    except (TypeError, ValueError) as error:
        raise WireError(f"packet refused: an array is not as stated ({error})") from None
