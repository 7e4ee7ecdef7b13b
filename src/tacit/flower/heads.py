"""Connections that cannot be held open: a head must come soon, and after a refusal nothing more is listened to.

uvicorn itself would wait for the rest of a head for ever, and take in the rest of a refused body, if only to drop it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_SECONDS = 10.0
_LAST_SECONDS = 0.2
"""For how long a closed connection may still take in what is on its way, so that the answer arrives."""


class HastyProtocol(HttpToolsProtocol):
    """Ends a connection that has not asked anything in time. Strangers get one request, since their answer closes it."""

    on_lost: Callable[[], None] = staticmethod(lambda: None)
    """Called once the connection has ended, whatever ended it."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the clock of a new connection."""
        super().connection_made(transport)
        self.loop.call_later(HEAD_SECONDS, self._end_if_silent)

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
