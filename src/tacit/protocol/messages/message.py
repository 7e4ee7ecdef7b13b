"""A message: four magic bytes, the header's length, a strict header, then the payload as raw bytes.

The payload is never copied or re-encoded: a frame is the header and a view of the payload, the two
pieces a socket would gather. A receiver states beforehand what it expects; sizes are compared
before anything is allocated.
"""

from __future__ import annotations

import struct
from typing import Annotated, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from tacit.errors import WireError

_MAGIC = b"TAC1"
_LEAD = struct.Struct("<4sI")
_HEADER_LIMIT = 4096

NonNegative = Annotated[int, msgspec.Meta(ge=0, le=2**62)]
Word = Annotated[str, msgspec.Meta(min_length=1, max_length=80)]


class Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """Sender, content and round of a message; array-like, so that field names take no bytes."""

    run: Word
    round_no: NonNegative
    sender: NonNegative
    codec: Word
    dim: NonNegative
    weight: NonNegative
    payload_size: NonNegative


class Message(msgspec.Struct, frozen=True):
    """A header with its payload."""

    header: Header
    payload: NDArray[np.uint8]


Frame = tuple[bytes, memoryview]
"""The pieces of a message in sending order: its head, and its payload."""


def frame(header: Header, payload: NDArray[np.uint8]) -> Frame:
    """The pieces of a message in sending order: its head, and a view of its payload."""
    return encode_head(header), payload.data.cast("B")


def encode_head(header: Header) -> bytes:
    """Encode the head of a message: everything before its payload."""
    head = msgspec.msgpack.encode(header)
    return _LEAD.pack(_MAGIC, len(head)) + head


def compute_head_sizes(
    header: Header, senders: NDArray[np.int64], weights: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Sizes in bytes of the heads of messages that differ from `header` only in sender and weight."""
    own = len(encode_head(header)) - int(_lengths(np.array([header.sender, header.weight])).sum())
    return own + _lengths(senders) + _lengths(weights)


def _lengths(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number of bytes that integers take in MessagePack."""
    return np.array([1, 2, 3, 5, 9])[
        np.searchsorted([1 << 7, 1 << 8, 1 << 16, 1 << 32], numbers, side="right")
    ]


def size(message: Frame) -> int:
    """Length of a message in bytes."""
    return len(message[0]) + message[1].nbytes


def parse(head: bytes | memoryview, payload: memoryview) -> Message:
    """Read a message from its head and its payload; raise WireError on anything malformed."""
    if len(head) < _LEAD.size or len(head) > _LEAD.size + _HEADER_LIMIT:
        raise WireError(
            f"message refused: a head has {_LEAD.size} to {_LEAD.size + _HEADER_LIMIT} bytes, got"
            f" {len(head)}"
        )
    magic, length = _LEAD.unpack(memoryview(head)[: _LEAD.size])
    if magic != _MAGIC or length != len(head) - _LEAD.size:
        raise WireError(f"message refused: its head must begin with {_MAGIC!r} and its own length")
    try:
        header = msgspec.msgpack.decode(memoryview(head)[_LEAD.size :], type=Header)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise WireError(f"message refused: its header is malformed ({error})") from None
    if len(payload) != header.payload_size:
        raise WireError(
            f"message refused: header says {header.payload_size} payload bytes, got {len(payload)}"
        )
    return Message(header, np.frombuffer(payload, np.uint8))


def read_sender(message: Frame) -> int:
    """The sender that a message names; -1 if its head is malformed."""
    try:
        return parse(*message).header.sender
    except WireError:
        return -1


def expect(message: Message, **wanted: Any) -> Message:
    """Check that the header has the expected values; raise WireError naming the first that differs."""
    for key, value in wanted.items():
        got = getattr(message.header, key)
        if got != value:
            raise WireError(
                f"message from sender {message.header.sender} refused: {key} must be {value!r}, got"
                f" {got!r}"
            )
    return message
