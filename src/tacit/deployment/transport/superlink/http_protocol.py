"""HTTP connections that cannot be held open: a request head must be short and arrive in time, and a
refusal ends the connection.

uvicorn alone would wait forever for the rest of a head, keep a head of any length in memory, and
receive the rest of a refused body.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tacit.deployment.transport.superlink.request_filter import CERTIFICATE

HEAD_SECONDS = 10.0
HEAD_LIMIT = 65_536
"""Largest request head in bytes; a longer one ends its connection. Flower's own heads have about
2,000.
"""
_LAST_SECONDS = 0.2
"""How long a closed connection may still receive data in transit, so that its response arrives."""


class TimeLimitedProtocol(HttpToolsProtocol):
    """Ends a connection that sends no complete request in time.

    Unauthenticated clients get one request: the response to it closes the connection.
    """

    on_lost: Callable[[], None] = staticmethod(lambda: None)
    """Called once when the connection has ended."""

    _head_bytes: int | None = None
    """Bytes received of an incomplete head; None between a complete head and the next request."""

    _certificate: bytes | None = None
    """The certificate of the other side (DER), if TLS asked for one and has verified it."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timer of a new connection."""
        super().connection_made(transport)
        line = transport.get_extra_info("ssl_object")
        self._certificate = line.getpeercert(binary_form=True) if line else None
        self.loop.call_later(HEAD_SECONDS, self._end_if_silent)

    def on_message_begin(self) -> None:
        """Start to count the bytes of a head."""
        super().on_message_begin()
        if self._certificate:
            self.scope["extensions"] = {CERTIFICATE: self._certificate}  # type: ignore[dict-item]
        self._head_bytes = 0

    def on_headers_complete(self) -> None:
        """Stop counting: bodies have their own limits."""
        self._head_bytes = None
        super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        """Process received data; end the connection if a head exceeds its limit."""
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
        """Release the connection and call `on_lost`."""
        super().connection_lost(exc)
        self.on_lost()

    def on_response_complete(self) -> None:
        """Abort the connection shortly after a response that closed it."""
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
