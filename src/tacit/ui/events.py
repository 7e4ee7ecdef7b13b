"""Server-sent events: a page receives changes without a reload. Open streams are bounded."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse

from tacit.ui.json_text import encode_json

MAX_STREAMS = 48
MAX_PER_SESSION = 12
_LONGEST_SECONDS = 3600.0
"""A browser reconnects by itself when a stream ends."""
_HEARTBEAT_SECONDS = 15.0
_SHARE = 100
"""Pause between two reads, as a multiple of the duration of a read: pages use little of the CPU."""
_LONGEST_PAUSE = 0.7

Change = Mapping[str, Any]
"""What a page receives: `parts` (HTML by element id) and `charts` (figures by name)."""


class EventStreams:
    """The open streams of an application."""

    def __init__(self) -> None:
        self._open: Counter[str] = Counter()
        self._stopping = False

    def stop(self) -> None:
        """End all streams, so that the server can stop."""
        self._stopping = True

    def open(
        self,
        request: Request,
        key: str,
        read: Callable[[], Change | None],
        pause: float = 0.25,
        *,
        is_open: Callable[[], bool] = lambda: True,
    ) -> Response:
        """Stream what `read` returns, which is called again and again in a thread; None: no change.

        `key` identifies the session that opens the stream, and `is_open` tells whether it still is.
        """
        if self._is_full(key):
            return PlainTextResponse(
                "Too many open pages; close some.\n", 503, headers={"retry-after": "30"}
            )
        return StreamingResponse(
            self._run(request, key, read, pause, is_open),
            media_type="text/event-stream",
            headers={"cache-control": "no-store", "x-accel-buffering": "no"},
        )

    def _is_full(self, key: str) -> bool:
        return sum(self._open.values()) >= MAX_STREAMS or self._open[key] >= MAX_PER_SESSION

    async def _run(
        self,
        request: Request,
        key: str,
        read: Callable[[], Change | None],
        pause: float,
        is_open: Callable[[], bool],
    ) -> AsyncIterator[str]:
        if self._is_full(key):  # others that were opened at the same time have begun since
            yield "retry: 30000\n\n"
            return
        self._open[key] += 1
        began = sent = time.monotonic()
        try:
            yield "retry: 2000\n\n"
            while not self._stopping and time.monotonic() - began < _LONGEST_SECONDS:
                if await request.is_disconnected() or not is_open():
                    return
                change, cost = await run_in_threadpool(_measure, read)
                if change:
                    yield change
                    sent = time.monotonic()
                elif time.monotonic() - sent > _HEARTBEAT_SECONDS:
                    yield ": still here\n\n"
                    sent = time.monotonic()
                await asyncio.sleep(min(_LONGEST_PAUSE, max(pause, _SHARE * cost)))
        finally:
            self._open[key] -= 1
            if not self._open[key]:
                del self._open[key]


def _measure(read: Callable[[], Change | None]) -> tuple[str, float]:
    """Call a reader: its change as an event, empty if there is none, and the CPU time in seconds."""
    before = time.thread_time()
    change = read()
    text = "" if change is None else f"data: {encode_json(change)}\n\n"
    return text, time.thread_time() - before
