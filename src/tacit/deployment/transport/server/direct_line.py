"""The coordinator's messages that the server passes on from memory."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field

from flwr.supercore.runtime import RuntimeHttpClient

from tacit.deployment.transport import direct_messages
from tacit.deployment.transport.direct_messages import (
    EXCHANGE_PATH,
    MAX_DIRECT_BYTES,
    ExchangeRequest,
    ExchangeResponse,
    OutgoingDirect,
    Reply,
)

Call = Callable[[Callable[[bytes], bytes | None], bytes], bytes | None]
"""Calls a method with a body, and retries while the server is unreachable."""


@dataclass
class DirectLine:
    """Messages to sites that are connected. A message waits here until the next exchange, and is kept
    until its response has arrived.
    """

    client: RuntimeHttpClient
    call: Call
    connected: set[int] = field(default_factory=set)
    is_supported: bool = True
    _sent: dict[str, OutgoingDirect] = field(default_factory=dict)
    _unsent: list[str] = field(default_factory=list)
    _received: list[str] = field(default_factory=list)
    _look_in_store: set[int] = field(default_factory=set)
    _version: int = -1

    @property
    def is_waiting(self) -> bool:
        """Whether a response is still to come."""
        return bool(self._sent)

    def reaches(self, node: int, message: bytes) -> bool:
        """Whether a message can be sent to a node in this way."""
        return node in self.connected and len(message) <= MAX_DIRECT_BYTES

    def send(self, node: int, message: bytes) -> str:
        """Send a message with the next exchange; return its id."""
        mark = uuid.uuid4().hex
        self._sent[mark] = OutgoingDirect(mark, node, message)
        self._unsent.append(mark)
        return mark

    def announce(self, node: int) -> None:
        """Tell a node with the next exchange that Flower's store has a message for it."""
        if self.is_supported:
            self._look_in_store.add(node)

    def exchange(self, seconds: float) -> list[tuple[OutgoingDirect, Reply]]:
        """Send what is to be sent, and return messages with their responses.

        Waits up to `seconds` for the first response, or until another site connects or leaves.
        """
        while self.is_supported:
            now, later = self._choose()
            request = ExchangeRequest(
                messages=[self._sent[mark] for mark in now],
                awaited=list(self._sent.keys() - {*later}),
                received=self._received,
                look_in_store=sorted(self._look_in_store),
                seconds=0.0 if later else seconds,
                version=self._version,
            )
            body = self.call(self._post, direct_messages.pack(request))
            if body is None:
                self.is_supported = False
                self.connected.clear()
                break
            found = direct_messages.unpack(body, ExchangeResponse)
            self._unsent, self._received = later, [one.mark for one in found.replies]
            self._look_in_store.clear()
            self.connected, self._version = {*found.connected}, found.version
            if found.replies or not later:
                return [
                    (self._sent.pop(one.mark), one)
                    for one in found.replies
                    if one.mark in self._sent
                ]
        return []

    def _choose(self) -> tuple[list[str], list[str]]:
        """The messages that fit into one request, and those for the next."""
        length = 0
        for place, mark in enumerate(self._unsent):
            length += len(self._sent[mark].message)
            if place and length > MAX_DIRECT_BYTES:
                return self._unsent[:place], self._unsent[place:]
        return self._unsent, []

    def _post(self, body: bytes) -> bytes | None:
        return direct_messages.post(self.client, EXCHANGE_PATH, body)
