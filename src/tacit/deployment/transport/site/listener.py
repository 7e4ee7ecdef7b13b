"""A thread of a site that always waits at the server: by this the server knows that the site is there,
however long the site works on a message.
"""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Iterator

from tacit.deployment.transport.direct_messages import Delivery
from tacit.deployment.transport.site.server_connection import ServerConnection, StopRequested

_STEP_SECONDS = 0.25
"""How often `next` looks whether the site is to stop."""


class Unsupported(Exception):  # noqa: N818 - no error
    """The server is of a version that keeps no messages in memory."""


class RequestListener:
    """Receives messages in a thread, and hands them to the site one by one."""

    def __init__(self, server: ServerConnection) -> None:
        self._server = server
        self._arrived = queue.SimpleQueue[Delivery | BaseException]()
        self._held: list[str] = []
        self._has_ended = threading.Event()

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Listen while the block runs. The last request ends when the site leaves the server."""
        threading.Thread(target=self._listen, daemon=True).start()
        try:
            yield
        finally:
            self._has_ended.set()

    def next(self, stop: threading.Event) -> Delivery:
        """Wait for a message, which is held from now on until `release`.

        Raises Unsupported, StopRequested, or the error by which the connection ended.
        """
        while not stop.is_set():
            with contextlib.suppress(queue.Empty):
                found = self._arrived.get(timeout=_STEP_SECONDS)
                if isinstance(found, BaseException):
                    raise found
                return found
        raise StopRequested

    def release(self, delivery: Delivery) -> None:
        """A message has been replied to."""
        self._held.remove(delivery.mark)

    def _listen(self) -> None:
        try:
            while not self._has_ended.is_set():
                found = self._server.wait_for_message(list(self._held))
                if found is None:
                    raise Unsupported
                if found.mark:
                    self._held.append(found.mark)
                if found.mark or found.look_in_store:
                    self._arrived.put(found)
        except Exception as error:  # raised again in the site's own thread
            if not self._has_ended.is_set():
                self._arrived.put(error)
