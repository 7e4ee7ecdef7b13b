"""Whoever drops out, is late, disagrees or sends garbage: every other party says who and what, and nothing was opened."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import subprocess
import time
from typing import Any

import pytest

pytest.importorskip(
    "tacit.negotiation.shares", reason="mpyc is not installed", exc_type=ImportError
)

from tacit.errors import WireError
from tacit.negotiation import Address, PartyPlace, simulate
from tacit.negotiation.link import Kind, Link, greeting
from tests.negotiation.parties import Work, agreed_by, listeners, party, terms, together

OWN = (-0.5, 0.5)


def faulty(work: Work | None, *, seconds: float = 30.0) -> list[dict[str, Any]]:
    """Return what two honest parties say when the third does something else."""
    said = together(
        [party(OWN, terms(), seconds=seconds), party(OWN, terms(), seconds=seconds), work]
    )
    for one in said[:2]:
        assert "nothing was agreed" in one["error"], one
    return said


@pytest.mark.parametrize(("kind", "count"), [(Kind.SHARE, 1), (Kind.SHARE, 30), (Kind.READY, 1)])
def test_a_party_that_drops_out(kind: Kind, count: int) -> None:
    left = [count]

    def leave(peer: int, seen: Kind, label: int, payload: bytes) -> None:
        left[0] -= seen is kind
        if left[0] == 0:
            os._exit(9)

    for said in faulty(party(OWN, terms(), observer=leave))[:2]:
        assert "party 2 dropped out" in said["error"]
        assert "start all parties again" in said["error"]
        if kind is Kind.SHARE:
            assert not said["opened"]


def test_a_party_that_drops_out_after_the_opening() -> None:
    def work(place: PartyPlace) -> dict[str, Any]:
        really_send = Link.send_frame

        def send(self: Link, kind: Kind, payload: bytes = b"", label: int = 0) -> None:
            if kind is Kind.CONFIRM:
                os._exit(9)
            really_send(self, kind, payload, label)

        Link.send_frame = send  # type: ignore[method-assign]
        return party(OWN, terms())(place)

    for said in faulty(work)[:2]:
        assert "party 2 dropped out" in said["error"]


def test_a_party_that_never_starts() -> None:
    began = time.monotonic()
    for said in faulty(None, seconds=3.0)[:2]:
        assert "party 2 did not respond in time" in said["error"]
        assert "--deadline" in said["error"]
        assert not said["opened"]
    assert time.monotonic() - began < 30


def test_a_party_that_falls_asleep() -> None:
    def sleep(*_: object) -> None:
        time.sleep(4)
        os._exit(9)

    for said in faulty(party(OWN, terms(), observer=sleep), seconds=3.0)[:2]:
        # A party that waits for party 2 may itself be late for the other.
        assert re.search(r"party 2 did not respond in time|neither did 2\)", said["error"])
        assert not said["opened"]


@pytest.mark.parametrize("other", [terms(levels=9), terms(run="another")], ids=["levels", "run"])
def test_a_party_that_disagrees(other: Any) -> None:
    said = faulty(party(OWN, other))
    for one in said[:2]:
        assert "party 2 has other public parameters" in one["error"]
        assert "give all parties the same --run, --parties, --levels" in one["error"]
    what = "levels" if other.levels == 9 else "run"
    assert any(f"parameters ({what})" in one["error"] for one in said)
    assert "has other public parameters" in said[2]["error"]
    assert not any(one["opened"] for one in said)


def test_a_party_that_greets_well_and_then_sends_garbage() -> None:
    def work(place: PartyPlace) -> dict[str, Any]:
        assert place.listener is not None
        friends = [place.listener.accept()[0] for _ in range(2)]
        for friend in friends:
            friend.sendall(greeting(2, list(terms().digests().values())) + os.urandom(1000))
        while any(friend.recv(1 << 16) for friend in friends):
            pass
        return {}

    for said in faulty(work)[:2]:
        assert "party 2 sent malformed data" in said["error"]
        assert not said["opened"]


@pytest.mark.parametrize("wrong", ["length", "values"])
def test_a_party_whose_shares_are_wrong(wrong: str) -> None:
    def work(place: PartyPlace) -> dict[str, Any]:
        really_send = Link.send

        def send(self: Link, label: int, payload: bytes) -> None:
            really_send(
                self, label, payload + b"?" if wrong == "length" else os.urandom(len(payload))
            )

        Link.send = send  # type: ignore[method-assign]
        return party(OWN, terms())(place)

    for said in faulty(work)[:2]:
        if wrong == "length":
            assert "party 2 sent malformed data" in said["error"]
            assert not said["opened"]


def test_strangers_at_a_port_are_turned_away() -> None:
    sockets = listeners(3)
    strangers = []
    for number in range(6):
        stranger = socket.create_connection(sockets[1 + number % 2].getsockname())
        stranger.sendall(
            (b"GET / HTTP/1.1\r\n\r\n", os.urandom(5000), b"TACNEG1\n\x00")[number // 2]
        )
        strangers.append(stranger)
    said = together([party(OWN, terms())] * 3, sockets)
    assert len({agreed_by(one).transcript_hash for one in said}) == 1
    for stranger in strangers:
        stranger.close()


def test_somebody_else_in_the_place_of_a_party() -> None:
    sockets = listeners(3)
    stranger = socket.create_connection(sockets[1].getsockname())
    stranger.sendall(greeting(0, list(terms().digests().values())))
    for said in together([party(OWN, terms())] * 3, sockets):
        assert "connected twice, so one of the two is somebody else" in said["error"]
        assert not said["opened"]
    stranger.close()


def test_a_port_that_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        place = PartyPlace(1, tuple(Address("127.0.0.1", one) for one in (8, port, 9)))
        said = party(OWN, terms())(place)
    assert "negotiate(party=1) cannot listen at 127.0.0.1:" in said["error"]


def test_a_trial_leaves_no_process_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[str]] = []
    really_start = subprocess.Popen

    def start(*arguments: Any, **settings: Any) -> subprocess.Popen[str]:
        started.append(really_start(*arguments, **settings))
        if len(started) == 3:
            started[1].kill()
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", start)
    with pytest.raises(WireError, match=r"party 1 d|process ended"):
        simulate(terms(), [OWN] * 3, seconds=3.0)
    assert [process.poll() is None for process in started] == [False] * 3


def test_inside_a_running_event_loop_it_says_so() -> None:
    async def inside() -> None:
        said = party(OWN, terms())(
            PartyPlace(0, tuple(Address("127.0.0.1", port) for port in (7, 8, 9)))
        )
        assert "cannot run inside a running event loop" in said["error"]

    asyncio.run(inside())
