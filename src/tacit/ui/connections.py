"""Connections of the pages: one that sends no whole request in time is closed, so that it takes nobody's
place.
"""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_SECONDS = 10.0
"""Longest time from a connection, or from the last response on it, to the end of the next headers."""


class PromptProtocol(H11Protocol):
    """Uvicorn's HTTP protocol with a time limit for the headers of each request."""

    _limit: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._begin_wait()

    def data_received(self, data: bytes) -> None:
        """Stop to wait once a request has begun to be answered."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._end_wait()

    def on_response_complete(self) -> None:
        """Wait for the next request on the connection."""
        super().on_response_complete()
        if self.cycle.response_complete:
            self._begin_wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._end_wait()
        super().connection_lost(exc)

    def _begin_wait(self) -> None:
        self._end_wait()
        self._limit = self.loop.call_later(REQUEST_SECONDS, self._close)

    def _end_wait(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None

    def _close(self) -> None:
        if not self.transport.is_closing():
            self.transport.close()
