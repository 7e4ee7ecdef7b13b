"""Messages in the server's memory: delivered once, replied to by their site alone, and never lost in silence."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

pytest.importorskip("flwr", reason="needs tacit[flower]")

from tacit.deployment.transport import direct_messages
from tacit.deployment.transport.direct_messages import (
    Delivery,
    ExchangeRequest,
    ExchangeResponse,
    OutgoingDirect,
    Reply,
    WaitRequest,
)
from tacit.deployment.transport.superlink import mailboxes
from tacit.deployment.transport.superlink.mailboxes import Mailboxes

SITE, OTHER = 7, 8


class Peer:
    """The other side of a connection, until it hangs up."""

    def __init__(self) -> None:
        self.gone = asyncio.Event()

    async def receive(self) -> dict[str, Any]:
        await self.gone.wait()
        return {"type": "http.disconnect"}


class Boxes:
    """Mailboxes, and what they told Flower."""

    def __init__(self) -> None:
        self.told: list[tuple[str, int]] = []
        self.boxes = Mailboxes(
            lambda node: self.told.append(("online", node)),
            lambda node: self.told.append(("offline", node)),
        )

    async def connect(self, node: int = SITE) -> None:
        """Let a site come: its first request says that it should look into Flower's store."""
        assert await self.wait(node) == Delivery(look_in_store=True)

    async def wait(self, node: int = SITE, *held: str, peer: Peer | None = None) -> Delivery | None:
        return await self.boxes.wait(node, WaitRequest([*held]), (peer or Peer()).receive)

    async def exchange(
        self, *messages: OutgoingDirect, awaited: tuple[str, ...] = (), seconds: float = 0.0
    ) -> ExchangeResponse:
        request = ExchangeRequest([*messages], [*awaited], [], [], seconds, self.boxes._version)
        found = await self.boxes.exchange(request, Peer().receive)
        assert found is not None
        return found

    async def ask(self, mark: str, node: int = SITE) -> ExchangeResponse:
        return await self.exchange(OutgoingDirect(mark, node, b"abc"), awaited=(mark,))


def run(test: Callable[[Boxes], Awaitable[None]]) -> list[tuple[str, int]]:
    async def whole() -> list[tuple[str, int]]:
        boxes = Boxes()
        await test(boxes)
        return boxes.told

    return asyncio.run(whole())


def test_a_message_and_its_reply() -> None:
    async def test(boxes: Boxes) -> None:
        await boxes.connect()
        waiting = asyncio.ensure_future(boxes.wait())
        await asyncio.sleep(0)
        assert (await boxes.ask("one")).connected == [SITE]
        assert await waiting == Delivery("one", b"abc")
        assert not boxes.boxes.take_reply(OTHER, Reply("one", b"forged"))
        assert boxes.boxes.take_reply(SITE, Reply("one", b"cba"))
        assert not boxes.boxes.take_reply(SITE, Reply("one", b"twice"))
        assert (await boxes.exchange(awaited=("one",))).replies == [Reply("one", b"cba")]

    assert run(test) == [("online", SITE)]


def test_a_reply_to_a_message_that_was_not_delivered_is_refused() -> None:
    async def test(boxes: Boxes) -> None:
        await boxes.connect()
        await boxes.ask("one")
        assert not boxes.boxes.take_reply(SITE, Reply("one", b"guessed"))
        assert await boxes.wait() == Delivery("one", b"abc")

    run(test)


def test_the_coordinator_waits_for_a_reply() -> None:
    async def test(boxes: Boxes) -> None:
        await boxes.connect()
        await boxes.ask("one")
        assert await boxes.wait() == Delivery("one", b"abc")
        found = asyncio.ensure_future(boxes.exchange(awaited=("one",), seconds=60))
        await asyncio.sleep(0)
        assert not found.done()
        boxes.boxes.take_reply(SITE, Reply("one", None))
        assert (await found).replies == [Reply("one", None)]

    run(test)


def test_what_a_restarted_site_no_longer_holds_is_lost() -> None:
    async def test(boxes: Boxes) -> None:
        await boxes.connect()
        for mark in ("one", "two"):
            await boxes.ask(mark)
            await boxes.wait(SITE, "one")
        again = asyncio.ensure_future(boxes.wait(SITE, "two"))
        await asyncio.sleep(0)
        found = await boxes.exchange(awaited=("one", "two"))
        assert found.replies == [Reply("one", None)]
        again.cancel()

    run(test)


def test_a_lost_connection_is_told_and_an_open_one_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mailboxes, "LOSS_SECONDS", 0.01)
    monkeypatch.setattr(mailboxes, "_SILENT_SECONDS", 0.01)

    async def test(boxes: Boxes) -> None:
        busy, killed = Peer(), Peer()
        for node in (SITE, OTHER):
            await boxes.connect(node)
            await boxes.ask(str(node), node)
            assert (await boxes.wait(node)) == Delivery(str(node), b"abc")
        working = asyncio.ensure_future(boxes.wait(SITE, str(SITE), peer=busy))
        gone = asyncio.ensure_future(boxes.wait(OTHER, str(OTHER), peer=killed))
        await asyncio.sleep(0)
        killed.gone.set()
        assert await gone is None
        found = await boxes.exchange(awaited=(str(SITE), str(OTHER)), seconds=60)
        assert (found.replies, found.connected) == ([Reply(str(OTHER), None)], [SITE])
        while ("offline", OTHER) not in boxes.told:
            await asyncio.sleep(0.01)
        working.cancel()

    assert ("offline", SITE) not in run(test)


def test_a_site_that_returns_in_time_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(boxes: Boxes) -> None:
        await boxes.connect()
        first = Peer()
        waiting = asyncio.ensure_future(boxes.wait(peer=first))
        await asyncio.sleep(0)
        first.gone.set()
        assert await waiting is None
        assert (await boxes.ask("one")).connected == [SITE]
        assert await boxes.wait() == Delivery("one", b"abc")

    assert ("offline", SITE) not in run(test)


def test_a_site_that_leaves_gets_nothing_more() -> None:
    async def test(boxes: Boxes) -> None:
        await boxes.connect()
        waiting = asyncio.ensure_future(boxes.wait())
        await asyncio.sleep(0)
        boxes.boxes.disconnect(SITE)
        assert await waiting == Delivery()
        found = await boxes.ask("one")
        assert (found.connected, found.replies) == ([], [Reply("one", None)])

    run(test)


def test_messages_from_before_a_restart_are_lost() -> None:
    async def test(boxes: Boxes) -> None:
        assert (await boxes.exchange(awaited=("one",))).replies == [Reply("one", None)]

    run(test)


def test_replies_that_do_not_fit_come_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mailboxes, "MAX_DIRECT_BYTES", 5)

    async def test(boxes: Boxes) -> None:
        await boxes.connect()
        for mark in ("one", "two"):
            await boxes.ask(mark)
            await boxes.wait(SITE, "one")
            boxes.boxes.take_reply(SITE, Reply(mark, b"abc"))
        assert (await boxes.exchange(awaited=("one", "two"))).replies == [Reply("one", b"abc")]
        assert (await boxes.exchange(awaited=("two",))).replies == [Reply("two", b"abc")]

    run(test)


def test_open_requests_end_with_the_server() -> None:
    async def test(boxes: Boxes) -> None:
        await boxes.connect()
        waiting = asyncio.ensure_future(boxes.wait())
        watching = asyncio.ensure_future(boxes.exchange(seconds=60))
        await asyncio.sleep(0)
        boxes.boxes.close()
        assert await waiting == Delivery()
        assert (await watching).replies == []

    run(test)


def test_bodies_are_checked() -> None:
    for data in (b"", b"\xc1", direct_messages.pack(WaitRequest(["a"]))[:-1]):
        with pytest.raises(ValueError, match=r".+"):
            direct_messages.unpack(data, WaitRequest)
