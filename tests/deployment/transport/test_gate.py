"""The gate: silent connections make room for others, and cannot keep a site out."""

from __future__ import annotations

import http.client
import resource
import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

pytest.importorskip("flwr", reason="needs tacit[flower]")

from tacit.deployment.transport import gate
from tacit.deployment.transport.gate import Connection, Guests, network_of
from tacit.deployment.transport.link import LinkSettings, Place, started
from tacit.deployment.transport.tls import AUTHORITY, make_authority, make_server_certificate

SILENT, FILES, ANSWER_SECONDS = 400, 256, 45.0
"""Before there was a gate, silent connections held the server's file handles for the 60 seconds of asyncio's TLS handshake."""


def connection(address: str, port: int) -> Connection:
    return Connection(socket.socket(), (address, port), network_of(address))


def ports(gone: list[Connection]) -> list[int]:
    return [one.peer[1] for one in gone]


def test_an_address_displaces_its_own_oldest_connection() -> None:
    guests = Guests()
    guests.enter(connection("10.0.0.9", 1))
    gone = [
        port
        for number in range(100)
        for port in ports(guests.enter(connection("10.0.0.1", number)))
    ]
    assert gone == list(range(100 - gate.MOST_PER_ADDRESS))
    assert ("10.0.0.9", 1) in guests.strangers


def test_many_addresses_displace_those_with_the_most_connections() -> None:
    guests = Guests()
    guests.enter(connection("10.0.0.9", 1))
    for number in range(1_000):
        guests.enter(connection(f"10.1.0.{number % 100}", number))
    assert len(guests.strangers) == gate.MOST_STRANGERS
    assert ("10.0.0.9", 1) in guests.strangers


def test_a_site_is_no_stranger_and_has_a_limit_of_its_own() -> None:
    guests = Guests()
    for number in range(gate.MOST_PER_SITE):
        guests.enter(connection("10.0.0.1", number))
        assert guests.prove(("10.0.0.1", number), "site a") == []
    assert not guests.strangers
    for number in range(2_000):
        guests.enter(connection(f"10.2.{number % 200}.1", 40_000 + number))
    assert len(guests.sites) == gate.MOST_PER_SITE
    guests.prove(("10.0.0.1", 0), "site a")  # it spoke again, so it is the newest
    guests.enter(connection("10.0.0.2", 7))
    assert ports(guests.prove(("10.0.0.2", 7), "site a")) == [1]


def test_what_has_ended_is_forgotten() -> None:
    guests, first, again = Guests(), connection("10.0.0.1", 1), connection("10.0.0.1", 1)
    guests.enter(first)
    guests.enter(again)  # the same port, used anew
    guests.leave(first)
    assert guests.strangers == {("10.0.0.1", 1): again}
    guests.leave(again)
    assert not guests.strangers
    assert guests.prove(("10.0.0.1", 1), "site a") == []


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("10.0.0.1", "10.0.0.2", False),
        ("2001:db8::1", "2001:db8::ffff:2", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("fe80::1%eth0", "fe80::2%eth0", True),
        ("::ffff:10.0.0.1", "10.0.0.1", True),
    ],
)
def test_networks(one: str, other: str, same: bool) -> None:
    assert (network_of(one) == network_of(other)) == same


@contextmanager
def few_files(folder: Path, tls: bool) -> Iterator[Place]:
    """Yield a server that may open few files."""
    if tls:
        make_authority(folder)
        make_server_certificate(folder, ["127.0.0.1"])
    with started(LinkSettings(folder, "127.0.0.1", 0, tls=tls)) as place:
        resource.prlimit(place.pid, resource.RLIMIT_NOFILE, (FILES, FILES))
        yield place


def health(place: Place, folder: Path) -> int:
    context = ssl.create_default_context(cafile=folder / AUTHORITY) if place.tls else None
    where: dict[str, object] = {"host": place.host, "port": place.port, "timeout": ANSWER_SECONDS}
    line = (
        http.client.HTTPSConnection(**where, context=context)
        if context
        else http.client.HTTPConnection(**where)
    )  # type: ignore[arg-type]
    line.request("GET", "/health")
    status = line.getresponse().status
    line.close()
    return status


def is_open(one: socket.socket) -> bool:
    try:
        one.setblocking(False)
        return one.recv(1) != b""
    except BlockingIOError:
        return True
    except ConnectionError:
        return False


@pytest.mark.parametrize("tls", [True, False], ids=["tls", "plain"])
def test_silent_connections_keep_nobody_out(tmp_path, tls) -> None:
    folder = tmp_path / "server"
    with few_files(folder, tls) as place, ExitStack() as stack:
        silent = [
            stack.enter_context(socket.create_connection((place.host, place.port), timeout=60))
            for _ in range(SILENT)
        ]
        for _ in range(3):
            assert health(place, folder) == 200
        assert sum(map(is_open, silent)) <= gate.MOST_PER_ADDRESS
