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

pytest.importorskip("flwr", reason="needs tacit[site]")

from tacit.deployment.transport.certificates import (
    AUTHORITY,
    make_authority,
    make_server_certificate,
)
from tacit.deployment.transport.server.endpoint import ServerEndpoint
from tacit.deployment.transport.superlink import connections
from tacit.deployment.transport.superlink.connections import (
    AcceptedConnection,
    ConnectionTable,
    find_network,
)
from tacit.deployment.transport.superlink.process import SuperLinkSettings, start_superlink

SILENT, FILES, ANSWER_SECONDS = 400, 256, 45.0
"""Before there was a gate, silent connections held the server's file handles for the 60 seconds of asyncio's TLS handshake."""


def connection(address: str, port: int) -> AcceptedConnection:
    return AcceptedConnection(socket.socket(), (address, port), find_network(address))


def ports(gone: list[AcceptedConnection]) -> list[int]:
    return [one.peer[1] for one in gone]


def test_an_address_displaces_its_own_oldest_connection() -> None:
    table = ConnectionTable()
    table.add(connection("10.0.0.9", 1))
    gone = [
        port for number in range(100) for port in ports(table.add(connection("10.0.0.1", number)))
    ]
    assert gone == list(range(100 - connections.MAX_PER_ADDRESS))
    assert ("10.0.0.9", 1) in table.unauthenticated


def test_many_addresses_displace_those_with_the_most_connections() -> None:
    table = ConnectionTable()
    table.add(connection("10.0.0.9", 1))
    for number in range(1_000):
        table.add(connection(f"10.1.0.{number % 100}", number))
    assert len(table.unauthenticated) == connections.MAX_UNAUTHENTICATED
    assert ("10.0.0.9", 1) in table.unauthenticated


def test_a_site_is_no_stranger_and_has_a_limit_of_its_own() -> None:
    table = ConnectionTable()
    for number in range(connections.MAX_PER_SITE):
        table.add(connection("10.0.0.1", number))
        assert table.mark_authenticated(("10.0.0.1", number), "site a") == []
    assert not table.unauthenticated
    for number in range(2_000):
        table.add(connection(f"10.2.{number % 200}.1", 40_000 + number))
    assert len(table.authenticated) == connections.MAX_PER_SITE
    table.mark_authenticated(("10.0.0.1", 0), "site a")  # it spoke again, so it is the newest
    table.add(connection("10.0.0.2", 7))
    assert ports(table.mark_authenticated(("10.0.0.2", 7), "site a")) == [1]


def test_what_has_ended_is_forgotten() -> None:
    table, first, again = ConnectionTable(), connection("10.0.0.1", 1), connection("10.0.0.1", 1)
    table.add(first)
    table.add(again)  # the same port, used anew
    table.remove(first)
    assert table.unauthenticated == {("10.0.0.1", 1): again}
    table.remove(again)
    assert not table.unauthenticated
    assert table.mark_authenticated(("10.0.0.1", 1), "site a") == []


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
    assert (find_network(one) == find_network(other)) == same


@contextmanager
def few_files(folder: Path, tls: bool) -> Iterator[ServerEndpoint]:
    """Yield a server that may open few files."""
    if tls:
        make_authority(folder)
        make_server_certificate(folder, ["127.0.0.1"])
    with start_superlink(SuperLinkSettings(folder, "127.0.0.1", 0, tls=tls)) as place:
        resource.prlimit(place.pid, resource.RLIMIT_NOFILE, (FILES, FILES))
        yield place


def health(place: ServerEndpoint, folder: Path) -> int:
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
        assert sum(map(is_open, silent)) <= connections.MAX_PER_ADDRESS
