"""Connections that cannot be held open: a head must come soon and be short, and after a refusal
nothing more is listened to.

uvicorn itself would wait for the rest of a head for ever, hold a head of any length in memory, and
take in the rest of a refused body, if only to drop it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_SECONDS = 10.0
HEAD_LIMIT = 65_536
"""Bytes after which a head that is still incomplete ends its connection. Flower's own heads have
about 2,000.
"""
_LAST_SECONDS = 0.2
"""For how long a closed connection may still take in what is on its way, so that the answer
arrives.
"""


class HastyProtocol(HttpToolsProtocol):
    """Ends a connection that has not asked anything in time. Strangers get one request, since their
    answer closes it.
    """

    on_lost: Callable[[], None] = staticmethod(lambda: None)
    """Called once the connection has ended, whatever ended it."""

    _head_bytes: int | None = None
    """Bytes that arrived of a head which is not complete; None between a complete head and the next
    request.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the clock of a new connection."""
        super().connection_made(transport)
        self.loop.call_later(HEAD_SECONDS, self._end_if_silent)

    def on_message_begin(self) -> None:
        """Begin to count a head."""
        super().on_message_begin()
        self._head_bytes = 0

    def on_headers_complete(self) -> None:
        """Count no further: bodies have limits of their own."""
        self._head_bytes = None
        super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        """Take in what arrives, unless a head gets too long: then end the connection."""
        for start in range(0, len(data), HEAD_LIMIT):
            if self.transport.is_closing():
                return
            part = data[start : start + HEAD_LIMIT]
            super().data_received(part)
            if self._head_bytes is not None:
                self._head_bytes += len(part)
                if self._head_bytes > HEAD_LIMIT:
                    self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Let go of a connection, and tell who counts them."""
        super().connection_lost(exc)
        self.on_lost()

    def on_response_complete(self) -> None:
        """Cut a connection soon after the answer that closed it."""
        super().on_response_complete()
        if self.transport.is_closing():
            self.loop.call_later(_LAST_SECONDS, self._cut)

    def _cut(self) -> None:
        if self.transport.get_write_buffer_size() == 0:
            self.transport.abort()

    def _end_if_silent(self) -> None:
        asked = getattr(self, "cycle", None) is not None
        if not asked and not self.transport.is_closing():
            self.transport.close()
