"""Messages in the server's memory between the coordinators of runs and the sites that are connected.

All of it runs in the event loop of the server. A site is connected while a request of it is open. If
that connection ends, as it does when a site's process is killed, Flower learns after
`LOSS_SECONDS` that the site is offline. A busy or slow site keeps its connection, because a thread
of its own waits on it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from tacit.deployment.transport import direct_messages
from tacit.deployment.transport.direct_messages import (
    MAX_DIRECT_BYTES,
    Delivery,
    ExchangeRequest,
    ExchangeResponse,
    Reply,
    WaitRequest,
)

LOSS_SECONDS = 2.0
"""How long a site may be without its connection before it counts as offline."""
_SILENT_SECONDS = 10.0
"""How long a site whose connection is open may take until its next request."""
_REPORT_SECONDS = 20.0
"""How often Flower is notified that a connected site is online."""
_FORGET_SECONDS = 120.0
"""How long a message is kept that no coordinator waits for."""
_GATHER_SECONDS = 0.02
"""How long further responses are awaited after the first one."""
_MAX_QUEUED = 64
_MAX_QUEUED_BYTES = 512 * 2**20
"""Most messages that wait for one site, and most bytes that wait for all."""

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]


@dataclass(eq=False)
class _DirectMessage:
    """A message on its way: not delivered while `message` is there, replied to once `reply` is."""

    mark: str
    node: int
    message: bytes | None
    touched: float
    reply: Reply | None = None


@dataclass(eq=False)
class _Box:
    """The messages for one site, and the request by which it waits for them."""

    queue: list[_DirectMessage] = field(default_factory=list)
    waiting: asyncio.Future[None] | None = None
    is_connected: bool = False
    look_in_store: bool = False
    reported: float = float("-inf")
    timer: asyncio.TimerHandle | None = None


class Mailboxes:
    """Passes messages on between coordinators and connected sites.

    `report_online` and `report_offline` tell Flower about a node; they may block, and run in a
    thread.
    """

    def __init__(
        self, report_online: Callable[[int], object], report_offline: Callable[[int], object]
    ) -> None:
        self._report_online, self._report_offline = report_online, report_offline
        self._boxes: dict[int, _Box] = {}
        self._messages: dict[str, _DirectMessage] = {}
        self._watchers: set[asyncio.Future[None]] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._version = 0
        self._is_closed = False

    async def wait(self, node: int, request: WaitRequest, receive: Receive) -> Delivery | None:
        """Wait for a message to a site; None if the site has gone.

        Messages that were delivered to the site and that it does not name as held are lost.
        """
        box = self._boxes.setdefault(node, _Box())
        self._end_wait(box)
        self._lose(node, {*request.held})
        self._connect(node, box)
        if not self._has_something(box) and not self._is_closed:
            box.waiting = asyncio.get_running_loop().create_future()
            mine = box.waiting
            has_gone = await _wait_unless_gone(mine, receive, direct_messages.WAIT_SECONDS)
            if box.waiting is not mine:
                return Delivery()  # a later request took its place
            box.waiting = None
            if has_gone:
                self._expect_return(node, box, LOSS_SECONDS, has_gone=True)
                return None
        self._expect_return(node, box, _SILENT_SECONDS, has_gone=False)
        delivery = Delivery(look_in_store=box.look_in_store)
        box.look_in_store = False
        if box.queue and box.is_connected:
            message = box.queue.pop(0)
            delivery.mark, delivery.message = message.mark, message.message or b""
            message.message = None
        return delivery

    def take_reply(self, node: int, reply: Reply) -> bool:
        """Take a site's response; False if nobody waits for it."""
        message = self._messages.get(reply.mark)
        if message is None or message.node != node or message.reply or message.message is not None:
            return False
        message.reply = reply
        self._wake()
        return True

    async def exchange(self, request: ExchangeRequest, receive: Receive) -> ExchangeResponse | None:
        """Take a coordinator's messages and return responses, or who is connected; None if the
        coordinator has gone.
        """
        loop = asyncio.get_running_loop()
        self._take_messages(request, loop.time())
        # `seconds` may be no number, which is not above zero
        wanted = min(request.seconds, direct_messages.WAIT_SECONDS) if request.seconds > 0 else 0.0
        end, gathered = loop.time() + wanted, False
        while True:
            ready, pending = self._find_replies(request.awaited, loop.time())
            left = end - loop.time()
            if ready and pending and not gathered:
                left, gathered = min(left, _GATHER_SECONDS), True
            elif ready or self._version != request.version or self._is_closed:
                left = 0.0
            if left <= 0:
                return self._respond(ready)
            watcher: asyncio.Future[None] = loop.create_future()
            self._watchers.add(watcher)
            try:
                if gathered:
                    await asyncio.sleep(left)
                elif await _wait_unless_gone(watcher, receive, left):
                    return None
            finally:
                self._watchers.discard(watcher)

    def disconnect(self, node: int) -> None:
        """A site leaves: it receives nothing more, and what it has not replied to is lost."""
        box = self._boxes.get(node)
        if box is not None:
            self._set_offline(node, box)
            self._end_wait(box)

    def close(self) -> None:
        """End all open requests."""
        self._is_closed = True
        for box in self._boxes.values():
            self._end_wait(box)
        self._wake()

    def _take_messages(self, request: ExchangeRequest, now: float) -> None:
        for mark in request.received:
            self._messages.pop(mark, None)
        for old in [one for one in self._messages.values() if now - one.touched > _FORGET_SECONDS]:
            self._forget(old)
        for node in request.look_in_store:
            box = self._boxes.get(node)
            if box is not None:  # a site looks there anyway when it comes
                box.look_in_store = True
                self._wake_site(box)
        for one in request.messages:
            if one.mark in self._messages:
                continue  # the coordinator repeats a request whose response it did not receive
            box = self._boxes.get(one.node)
            if box is None or not box.is_connected or not self._is_below_limits(box, one.message):
                continue  # it counts as lost, and the coordinator sends it through Flower's store
            message = _DirectMessage(one.mark, one.node, one.message, now)
            self._messages[one.mark] = message
            box.queue.append(message)
            self._wake_site(box)

    def _is_below_limits(self, box: _Box, message: bytes) -> bool:
        queued = sum(
            len(one.message or b"") for other in self._boxes.values() for one in other.queue
        )
        return len(box.queue) < _MAX_QUEUED and queued + len(message) <= _MAX_QUEUED_BYTES

    def _find_replies(self, awaited: list[str], now: float) -> tuple[list[Reply], bool]:
        """Responses to the awaited messages, and whether others are still to come."""
        ready, is_pending = [], False
        for mark in awaited:
            message = self._messages.get(mark)
            if message is None:
                ready.append(Reply(mark))  # from before a restart of this server
                continue
            message.touched = now
            if message.reply is None:
                is_pending = True
            else:
                ready.append(message.reply)
        return ready, is_pending

    def _respond(self, ready: list[Reply]) -> ExchangeResponse:
        """As many responses as fit; the others come with the next exchange."""
        chosen, length = list[Reply](), 0
        for reply in ready:
            length += len(reply.message or b"")
            if chosen and length > MAX_DIRECT_BYTES:
                break
            chosen.append(reply)
        connected = [node for node, box in self._boxes.items() if box.is_connected]
        return ExchangeResponse(chosen, connected, self._version)

    def _connect(self, node: int, box: _Box) -> None:
        if box.timer is not None:
            box.timer.cancel()
            box.timer = None
        now = asyncio.get_running_loop().time()
        if not box.is_connected:
            box.is_connected, box.look_in_store, box.reported = True, True, float("-inf")
            self._version += 1
            self._wake()
        if now - box.reported > _REPORT_SECONDS:
            box.reported = now
            self._start(self._report(node, box))

    def _expect_return(self, node: int, box: _Box, seconds: float, *, has_gone: bool) -> None:
        """Count a site as disconnected unless it waits again in time; as offline if its connection
        has ended.
        """

        def give_up() -> None:
            box.timer = None
            self._set_disconnected(node, box)
            if has_gone:
                self._start(self._report(node, box))

        if box.timer is not None:
            box.timer.cancel()
        box.timer = asyncio.get_running_loop().call_later(seconds, give_up)

    def _set_offline(self, node: int, box: _Box) -> None:
        if box.timer is not None:
            box.timer.cancel()
            box.timer = None
        self._set_disconnected(node, box)

    def _set_disconnected(self, node: int, box: _Box) -> None:
        for message in box.queue:
            message.message, message.reply = None, Reply(message.mark)
        box.queue.clear()
        self._lose(node, set())
        if box.is_connected:
            box.is_connected = False
            self._version += 1
            self._wake()

    async def _report(self, node: int, box: _Box) -> None:
        """Notify Flower whether a site is connected; again if that changed meanwhile."""
        with contextlib.suppress(Exception):  # Flower's store fails or closes: its own log says why
            while True:
                reported = box.is_connected
                await asyncio.to_thread(
                    self._report_online if reported else self._report_offline, node
                )
                if reported == box.is_connected:
                    return

    def _lose(self, node: int, held: set[str]) -> None:
        """Report delivered messages without a response as lost, except those that the site holds."""
        for message in self._messages.values():
            if (
                message.node == node
                and message.reply is None
                and message.message is None
                and message.mark not in held
            ):
                message.reply = Reply(message.mark)
                self._wake()

    def _forget(self, message: _DirectMessage) -> None:
        del self._messages[message.mark]
        box = self._boxes.get(message.node)
        if box is not None and message in box.queue:
            box.queue.remove(message)

    def _has_something(self, box: _Box) -> bool:
        return bool(box.queue) or box.look_in_store

    def _wake_site(self, box: _Box) -> None:
        if box.waiting is not None and not box.waiting.done():
            box.waiting.set_result(None)

    def _end_wait(self, box: _Box) -> None:
        self._wake_site(box)
        box.waiting = None

    def _wake(self) -> None:
        for watcher in self._watchers:
            if not watcher.done():
                watcher.set_result(None)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _wait_unless_gone(
    awaited: asyncio.Future[None], receive: Receive, seconds: float
) -> bool:
    """Wait for a future up to some seconds; True if the peer's connection ended before it."""
    peer = asyncio.ensure_future(receive())
    both: set[asyncio.Future[Any]] = {awaited, peer}
    try:
        await asyncio.wait(both, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        return peer.done() and not awaited.done()
    finally:
        peer.cancel()
