"""Parties as forked processes, some of which misbehave."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable
from typing import Any

from tacit.errors import TacitError
from tacit.negotiation import Address, Negotiated, NegotiationTerms, PartyPlace, negotiate, shares
from tacit.negotiation.circle import FrameObserver
from tacit.negotiation.result import from_text, to_text

Work = Callable[[PartyPlace], dict[str, Any]]
PATIENCE = 60.0
"""Seconds after which a process that still runs is a failed test; nothing waits for so long."""


def terms(parties: int = 3, run: str = "test", levels: int = 8) -> NegotiationTerms:
    return NegotiationTerms(run=run, parties=parties, levels=levels, enlargement=2.0)


def listeners(parties: int) -> list[socket.socket]:
    return [socket.create_server(("127.0.0.1", 0)) for _ in range(parties)]


def together(
    work: list[Work | None], sockets: list[socket.socket] | None = None
) -> list[dict[str, Any]]:
    """Run one process per party and return what each says; `None` is a party that never starts, {} one that died."""
    sockets = sockets or listeners(len(work))
    addresses = tuple(Address(*one.getsockname()) for one in sockets)
    children = [
        _fork(PartyPlace(party, addresses, sockets[party]), task, sockets)
        for party, task in enumerate(work)
    ]
    for one in sockets:
        one.close()
    until = time.monotonic() + PATIENCE
    return [_answer(child, until) for child in children]


def _fork(
    place: PartyPlace, task: Work | None, sockets: list[socket.socket]
) -> tuple[int, int] | None:
    if task is None:
        return None
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        return child, reading
    try:
        # Otherwise the ports of a party that is gone would still be open here.
        for party, one in enumerate(sockets):
            if party != place.party:
                one.close()
        os.write(writing, json.dumps(task(place)).encode())
    except BaseException as error:
        print(f"party {place.party}: {error!r}", file=sys.stderr)
    finally:
        os._exit(0)


def _answer(child: tuple[int, int] | None, until: float) -> dict[str, Any]:
    if child is None:
        return {}
    number, reading = child
    said = b""
    try:
        while select.select([reading], [], [], max(0.0, until - time.monotonic()))[0]:
            piece = os.read(reading, 1 << 16)
            if not piece:
                return json.loads(said) if said else {}
            said += piece
        raise AssertionError(f"process {number} hangs")
    finally:
        os.close(reading)
        os.kill(number, signal.SIGKILL)
        os.waitpid(number, 0)


def party(
    local_range: tuple[float, float],
    agreed_terms: NegotiationTerms,
    *,
    seconds: float = PATIENCE / 2,
    observer: FrameObserver | None = None,
) -> Work:
    """Return the work of an honest party, which also tells whether it opened anything."""

    def work(place: PartyPlace) -> dict[str, Any]:
        opened: list[int] = []
        really_open = shares.Computation.open

        async def watched(self: shares.Computation) -> tuple[int, int, int]:
            opened.append(1)
            return await really_open(self)

        shares.Computation.open = watched  # type: ignore[method-assign]  # in this process only
        try:
            agreed = negotiate(place, local_range, agreed_terms, seconds=seconds, observer=observer)
            return {"agreed": to_text(agreed), "opened": bool(opened)}
        except TacitError as error:
            return {"error": str(error), "opened": bool(opened)}

    return work


def agreed_by(said: dict[str, Any]) -> Negotiated:
    assert "agreed" in said, said
    return from_text(said["agreed"], "a party")
