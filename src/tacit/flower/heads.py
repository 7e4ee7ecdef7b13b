"""Connections whose first request must have a whole head soon: uvicorn itself would wait for the rest of one for ever."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_SECONDS = 10.0


class HastyProtocol(HttpToolsProtocol):
    """Ends a connection that has not asked anything in time. Strangers get one request, since their answer closes it."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the clock of a new connection."""
        super().connection_made(transport)
        self.loop.call_later(HEAD_SECONDS, self._end_if_silent)

    def _end_if_silent(self) -> None:
        asked = getattr(self, "cycle", None) is not None
        if not asked and not self.transport.is_closing():
            self.transport.close()
