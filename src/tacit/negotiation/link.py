"""The connection between two parties: one greeting each, then small typed frames. All input is
checked.

It replaces mpyc's own message exchanger and offers the same two calls, `send` and `receive`. mpyc's
listens on every network address, accepts messages of up to 4 GB, and finally unpickles what peers
sent.
"""

from __future__ import annotations

import asyncio
import contextlib
import struct
from enum import IntEnum
from typing import TYPE_CHECKING

from tacit.negotiation.failures import Reason

if TYPE_CHECKING:
    from tacit.negotiation.circle import Circle

MAGIC = b"TACNEG1\n"
_DIGEST = 32
_HEAD = struct.Struct("<BqI")
PAYLOAD_LIMIT, EARLY_LIMIT = 1 << 13, 1 << 12
"""Bytes of one message, and messages that may come before they are awaited: several times what
seven honest parties need.
"""


class Kind(IntEnum):
    """The type of a frame."""

    SHARE = 0
    """A part of the computation, labelled by mpyc's program counter."""
    READY = 1
    """The sender has computed everything and waits for the others before anything is opened."""
    CONFIRM = 2
    """The sender's transcript hash, after the opening."""
    STOP = 3
    """The sender gives up: a reason, and the party it blames."""


_KINDS = frozenset(Kind)


def greeting(party: int, digests: list[bytes]) -> bytes:
    """First bytes of a party: its number, and a hash of each public parameter."""
    return MAGIC + bytes([party]) + b"".join(digests)


class Link(asyncio.Protocol):
    """One connection. The connecting side knows `peer` at once, the other side after the greeting."""

    def __init__(self, circle: Circle, peer: int | None) -> None:
        self.peer = peer
        self.transport: asyncio.Transport | None = None
        self.entered: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._circle = circle
        self._connects = peer is not None
        self._bytes = bytearray()
        self._unsent = bytearray()
        self._early: dict[int, bytes] = {}
        self._awaited: dict[int, asyncio.Future[bytes]] = {}

    @property
    def waits(self) -> bool:
        """Whether a message of the computation is awaited from this peer."""
        return bool(self._awaited)

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Greet, if this side connected."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        if self._connects:
            transport.write(self._circle.greeting)

    def data_received(self, data: bytes) -> None:
        """Process received bytes frame by frame; the greeting comes first."""
        self._bytes += data
        if not self.entered.done() and not self._take_greeting():
            return
        while len(self._bytes) >= _HEAD.size:
            kind, label, size = _HEAD.unpack_from(self._bytes)
            if kind not in _KINDS or size > PAYLOAD_LIMIT:
                self._garbage()
                return
            if len(self._bytes) < _HEAD.size + size:
                return
            payload = bytes(self._bytes[_HEAD.size : _HEAD.size + size])
            del self._bytes[: _HEAD.size + size]
            self._take(Kind(kind), label, payload)

    def connection_lost(self, exc: Exception | None) -> None:
        """Report that the peer left; the circle decides whether that is a failure."""
        if not self.ended.done():
            self.ended.set_result(None)
        if self.entered.done() and self.peer is not None:
            self._circle.blame(self.peer, Reason.GONE)

    # What mpyc calls.

    def send(self, label: int, payload: bytes) -> None:
        """Send a message of the computation."""
        self._circle.record_length(label, len(payload))
        self.send_frame(Kind.SHARE, payload, label)

    def receive(self, label: int) -> bytes | asyncio.Future[bytes]:
        """The message of the computation with a label, or a future of it."""
        payload = self._early.pop(label, None)
        if payload is None:
            awaited = self._awaited[label] = asyncio.get_running_loop().create_future()
            return awaited
        if not self._fits(label, payload):
            return (
                asyncio.get_running_loop().create_future()
            )  # never comes: the circle is already stopping
        return payload

    # What the circle calls.

    def send_frame(self, kind: Kind, payload: bytes = b"", label: int = 0) -> None:
        """Queue a frame; frames of one event-loop step are sent together, because there are
        thousands of a few bytes.
        """
        if not self._unsent:
            asyncio.get_running_loop().call_soon(self._flush)
        self._unsent += _HEAD.pack(kind, label, len(payload)) + payload

    def _flush(self) -> None:
        if self._unsent and self.transport is not None and not self.transport.is_closing():
            self.transport.write(bytes(self._unsent))
        self._unsent.clear()

    def hang_up(self) -> None:
        """Flush, then close this side's half; the connection ends when the peer closes its own."""
        self._flush()
        if self.transport is not None and not self.transport.is_closing():
            with contextlib.suppress(OSError):  # the peer may be gone, and asyncio not know it yet
                self.transport.write_eof()

    def turn_away(self, reason: bytes) -> None:
        """Greet only to say why this peer is rejected, and close."""
        if self.transport is not None:
            self.transport.write(self._circle.greeting)
            self.send_frame(Kind.STOP, reason)
            self._flush()
            self.transport.close()

    def close(self) -> None:
        """Abort the connection."""
        if self.transport is not None:
            self.transport.abort()

    # Taking in.

    def _take_greeting(self) -> bool:
        size = len(self._circle.greeting)
        start = bytes(self._bytes[: len(MAGIC)])
        if start != MAGIC[: len(start)]:
            self.close()  # a stranger, not a party: the right one may still come
            return False
        if len(self._bytes) < size:
            return False
        party = self._bytes[len(MAGIC)]
        digests = [
            bytes(self._bytes[at : at + _DIGEST]) for at in range(len(MAGIC) + 1, size, _DIGEST)
        ]
        del self._bytes[:size]
        if not self._circle.accept_greeting(self, party, digests):
            if self.transport is not None:
                self.transport.close()
            return False
        if not self._connects and self.transport is not None:
            self.transport.write(self._circle.greeting)
        self.entered.set_result(None)
        return True

    def _take(self, kind: Kind, label: int, payload: bytes) -> None:
        assert self.peer is not None
        if kind is Kind.STOP:
            self._circle.handle_stop(self.peer, payload)
            return
        self._circle.record_frame(self.peer, kind, label, payload)
        if kind is not Kind.SHARE:
            return
        awaited = self._awaited.pop(label, None)
        if awaited is None:
            if label in self._early or len(self._early) >= EARLY_LIMIT:
                self._garbage()
            self._early[label] = payload
        elif self._fits(label, payload) and not awaited.done():
            awaited.set_result(payload)

    def _fits(self, label: int, payload: bytes) -> bool:
        length = self._circle.find_length(label)
        if length is None or length == len(payload):
            return True
        self._garbage()
        return False

    def _garbage(self) -> None:
        self._bytes.clear()
        if self.peer is not None:
            self._circle.blame(self.peer, Reason.GARBAGE)
