"""Attacks by other users of the machine: they listen on ports, connect and read process lists."""

from __future__ import annotations

import socket
import sys
import time
from pathlib import Path

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from tacit.ui.access import gate, login, peers
from tacit.ui.access.addresses import choose_address
from tacit.ui.access.sessions import Sessions
from tacit.ui.application import PageSet
from tests.ui.served import build_client, read_path, serve


async def look(request: Request) -> Response:
    return PlainTextResponse("a secret figure")


PAGES = PageSet(title="Pages", navigation=(), routes=[Route("/", look)])
MINE, OTHER = 1000, 1001


@pytest.mark.parametrize(
    ("host", "shown"),
    [
        ("127.0.0.1", "http://127.0.0.1:8700"),
        ("127.9.9.9", "http://127.9.9.9:8700"),
        ("::1", "http://[::1]:8700"),
        ("localhost", "http://localhost:8700"),
    ],
)
def test_the_link_names_the_address_that_listens(host: str, shown: str) -> None:
    """Another user may listen on the same port of another loopback address, and wait for the token."""
    address = choose_address(host, 8700)
    assert address.origin == shown
    assert shown.removeprefix("http://") in address.hosts


def test_a_stolen_cookie_is_of_no_use_to_another_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """A browser sends the cookie to every port of the machine, also to one of another user."""
    user: list[int | None] = [MINE]
    for module in (gate, login):
        monkeypatch.setattr(module, "find_peer_user", lambda scope: user[0])
    monkeypatch.setattr("tacit.ui.serve.list_own_users", lambda: frozenset({MINE}))
    client, _, _ = build_client(PAGES)
    assert client.get("/").status_code == 200
    for other in (OTHER, 0, None):
        user[0] = other
        assert client.get("/").status_code == 303, other
    user[0] = MINE
    assert client.get("/").status_code == 200


def test_another_user_who_reads_the_link_cannot_use_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal that opens a link shows it in the list of processes for a moment."""
    user = [OTHER]
    for module in (gate, login):
        monkeypatch.setattr(module, "find_peer_user", lambda scope: user[0])
    monkeypatch.setattr("tacit.ui.serve.list_own_users", lambda: frozenset({MINE}))
    client, _, links = build_client(PAGES, log_in=False)
    assert client.get(read_path(links[0])).status_code == 403
    user[0] = MINE
    assert client.get(read_path(links[0])).status_code == 303, "the link still works for its user"


def test_a_session_without_a_known_user_is_open_to_its_cookie() -> None:
    sessions = Sessions("correct horse battery")
    cookie = sessions.open_with_password("correct horse battery")
    assert cookie is not None
    assert sessions.belongs_to(cookie, lambda: MINE)


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel of Linux names the user")
@pytest.mark.parametrize(
    ("listens", "connects", "seen"),
    [
        ("127.0.0.1", "127.0.0.1", "127.0.0.1"),
        ("127.0.0.1", "::ffff:127.0.0.1", "127.0.0.1"),
        ("::1", "::1", "::1"),
    ],
)
def test_the_kernel_names_the_user_of_a_connection(
    listens: str, connects: str, seen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import os

    family = socket.AF_INET6 if ":" in listens else socket.AF_INET
    try:
        server = socket.create_server((listens, 0), family=family)
    except OSError:
        pytest.skip("no IPv6 here")
    port = server.getsockname()[1]
    client = socket.socket(socket.AF_INET6 if ":" in connects else socket.AF_INET)
    try:
        client.connect((connects, port))
    except OSError:
        pytest.skip("no IPv6 here")
    _, address = server.accept()
    scope = {"client": (seen, address[1]), "server": (listens, port)}
    assert peers.find_peer_user(scope) == os.getuid()
    client.close()
    assert peers.find_peer_user(scope) is None, "a closed socket has no user, not user 0"
    assert peers.find_peer_user({**scope, "client": ("192.0.2.1", address[1])}) is None
    assert peers.find_peer_user({"client": None, "server": None}) is None
    server.close()


def test_the_users_of_the_link_are_those_who_started_the_page(tmp_path: Path) -> None:
    import os

    assert os.getuid() in peers.list_own_users({})
    assert 4321 in peers.list_own_users({"SUDO_UID": "4321"})
    for wrong in ("", "x", "-1", "١"):
        assert len(peers.list_own_users({"SUDO_UID": wrong})) == len(peers.list_own_users({}))


def _is_closed(one: socket.socket) -> bool:
    one.settimeout(3)
    try:
        while one.recv(4096):
            pass
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False
    return True


def test_slow_requests_take_nobodys_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections without a request, with half a header or half a form are closed."""
    monkeypatch.setattr("tacit.ui.connections.REQUEST_SECONDS", 0.5)
    monkeypatch.setattr(gate, "BODY_SECONDS", 0.5)
    with serve(PAGES) as served:
        port = int(served.origin.rpartition(":")[2])
        host = f"Host: 127.0.0.1:{port}\r\nOrigin: {served.origin}\r\n"
        form = "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 900\r\n\r\n"
        beginnings = (
            "",
            "GET / HTTP/1.1\r\n",
            f"GET /login HTTP/1.1\r\n{host}\r\nGET / HT",
            f"POST /login HTTP/1.1\r\n{host}{form}password=a",
        )
        held = []
        for text in beginnings:
            one = socket.create_connection(("127.0.0.1", port))
            one.sendall(text.encode())
            held.append(one)
        time.sleep(0.2)
        assert [_is_closed(one) for one in held] == [True] * 4
        for one in held:
            one.close()


def test_a_link_is_shown_only_once_the_page_listens(capfd: pytest.CaptureFixture[str]) -> None:
    """A process that holds the port already is not sent the owner."""
    from tacit.ui.serve import serve_pages

    taken = socket.create_server(("127.0.0.1", 0))
    lines: list[str] = []
    with pytest.raises(SystemExit):
        serve_pages(PAGES, choose_address("127.0.0.1", taken.getsockname()[1]), lines.append)
    taken.close()
    assert lines == []
