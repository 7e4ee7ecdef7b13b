"""Messages between a server and sites, over a real SuperLink with TLS and node keys; and everybody who must not get through."""

from __future__ import annotations

import contextlib
import http.client
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest.importorskip("flwr", reason="needs tacit[site]")

from tacit.deployment.transport import certificates, direct_messages
from tacit.deployment.transport.server import run_start
from tacit.deployment.transport.server.channel import FlowerChannel
from tacit.deployment.transport.server.endpoint import ServerEndpoint
from tacit.deployment.transport.server.registry import (
    find_online_sites,
    read_sites,
    register,
    revoke,
)
from tacit.deployment.transport.site import node as node_module
from tacit.deployment.transport.superlink.process import SuperLinkSettings, start_superlink
from tacit.errors import PeerError
from tests.deployment.transport.sites import LARGEST, answers, node, running, server_folder, until


@dataclass
class Server:
    folder: Path
    place: ServerEndpoint
    sites: Path

    @property
    def root(self) -> Path:
        return self.folder / "ca.crt"

    def site(self, name: str) -> Path:
        """Return the folder of a registered site."""
        folder = self.sites / name
        if not folder.exists():
            register(self.folder, name, certificates.make_node_key(folder / "node.key"))
        return folder

    def channel(self) -> FlowerChannel:
        return FlowerChannel(
            folder=self.folder, address=self.place.address, name="test", max_bytes=LARGEST
        )

    def https(self) -> http.client.HTTPSConnection:
        context = ssl.create_default_context(cafile=str(self.root))
        return http.client.HTTPSConnection(
            self.place.host, self.place.port, timeout=20, context=context
        )


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    base = tmp_path_factory.mktemp("federation")
    folder = server_folder(base / "server")
    with start_superlink(SuperLinkSettings(folder, "127.0.0.1", 0, tls=True)) as place:
        yield Server(folder, place, base)


@contextlib.contextmanager
def open_channel(server: Server) -> Iterator[FlowerChannel]:
    channel = server.channel()
    try:
        yield channel
    finally:
        channel.close(done=True)


def test_letters_go_there_and_back(server: Server) -> None:
    one, two = (
        node(server.site(name), server.place.address, server.root) for name in ("one", "two")
    )
    server.site("absent")
    with (
        running(one, lambda message: message[::-1]),
        running(two, lambda message: message + b"!"),
        open_channel(server) as channel,
    ):
        until(lambda: channel.online() == {"one": True, "two": True, "absent": False})
        large = os.urandom(11_000_000)
        first, second = channel.send("one", b"abc"), channel.send("two", b"")
        third = channel.send("one", large)
        got = answers(channel, {first, second, third})
        assert (got[first], got[second]) == (b"cba", b"!")
        assert got[third] == large[::-1]
        assert channel.collect() == []
        with pytest.raises(PeerError, match="never online"):
            channel.send("absent", b"abc")
        with pytest.raises(PeerError, match="Did you mean 'one'"):
            channel.send("onn", b"abc")
    with open_channel(server) as channel:
        assert channel.online() == {"one": False, "two": False, "absent": False}


def test_a_letter_that_is_too_long_is_refused_by_the_site(server: Server) -> None:
    folder = server.site("one")
    small = node(folder, server.place.address, server.root)
    small._max_bytes = 10
    with running(small, lambda message: message) as states, open_channel(server) as channel:
        until(lambda: channel.online()["one"])
        message = channel.send("one", b"a" * 11)
        assert answers(channel, {message}) == {message: None}
        assert any(state.startswith("refused a message") for state in states)
        message = channel.send("one", b"a" * 10)
        assert answers(channel, {message}) == {message: b"a" * 10}


def test_who_is_not_registered_is_refused(server: Server, tmp_path: Path) -> None:
    certificates.make_node_key(tmp_path / "stranger" / "node.key")
    stranger = node(tmp_path / "stranger", server.place.address, server.root)
    with pytest.raises(PeerError, match="does not know this site's key"):
        stranger.run(bytes, threading.Event())
    leaver = node(server.site("leaver"), server.place.address, server.root)
    revoke(server.folder, "leaver")
    assert "leaver" not in read_sites(server.folder)
    with pytest.raises(PeerError, match="does not know this site's key"):
        leaver.run(bytes, threading.Event())


def test_one_name_one_key(server: Server, tmp_path: Path) -> None:
    register(server.folder, "one", (server.site("one") / "node.key.pub").read_bytes())
    with pytest.raises(PeerError, match="with another key"):
        register(server.folder, "one", certificates.make_node_key(tmp_path / "node.key"))
    with pytest.raises(PeerError, match="with the key of"):
        register(server.folder, "uno", (server.site("one") / "node.key.pub").read_bytes())
    with pytest.raises(PeerError, match=r"\.pub"):
        register(server.folder, "three", b"ssh-rsa AAAA")


def test_a_server_of_another_authority_is_refused(server: Server, tmp_path: Path) -> None:
    certificates.make_authority(tmp_path / "other")
    site = node(server.site("one"), server.place.address, tmp_path / "other" / "ca.crt")
    with pytest.raises(PeerError, match="not from the authority"):
        site.run(bytes, threading.Event())


def test_plain_http_to_a_tls_port_is_refused(server: Server, tmp_path: Path) -> None:
    connection = http.client.HTTPConnection(server.place.host, server.place.port, timeout=20)
    connection.request("GET", "/health")
    with pytest.raises((http.client.HTTPException, ConnectionError)):
        connection.getresponse()
    with running(node(server.site("one"), server.place.address, None), bytes) as states:
        until(lambda: any(state.startswith("unreachable") for state in states))
        assert "online" not in states


def test_other_machines_need_tls(tmp_path: Path) -> None:
    certificates.make_node_key(tmp_path / "node.key")
    with pytest.raises(PeerError, match="needs TLS"):
        node(tmp_path, "192.0.2.7:8443", None)
    with (
        pytest.raises(PeerError, match="needs TLS"),
        start_superlink(SuperLinkSettings(tmp_path, "0.0.0.0", 0, tls=False)),
    ):
        pass


def test_a_taken_port_is_told(server: Server, tmp_path: Path) -> None:
    with (
        pytest.raises(PeerError, match=f":{server.place.port} .*another port"),
        start_superlink(
            SuperLinkSettings(
                server_folder(tmp_path / "second"), "127.0.0.1", server.place.port, tls=True
            )
        ),
    ):
        pass


@pytest.mark.parametrize(
    "path", ["/v1/control/list-nodes", "/v1/control/start-run", "/v1/runtime/acquire-task"]
)
def test_control_needs_the_secret(server: Server, path: str) -> None:
    connection = server.https()
    connection.request("POST", path, b"", {"content-type": "application/protobuf"})
    assert connection.getresponse().status == 401


def peak_memory(pid: int) -> int:
    """Return the most bytes a process ever had in memory."""
    line = next(
        line
        for line in Path(f"/proc/{pid}/status").read_text().splitlines()
        if line.startswith("VmHWM")
    )
    return int(line.split()[1]) * 1024


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc to measure memory")
@pytest.mark.parametrize("head", [b"content-length: 200000000", b"transfer-encoding: chunked"])
def test_200_mb_of_a_stranger_are_not_read(server: Server, head: bytes) -> None:
    before = peak_memory(server.place.pid)
    context = ssl.create_default_context(cafile=str(server.root))
    answer = b""
    with (
        socket.create_connection((server.place.host, server.place.port), timeout=20) as plain,
        context.wrap_socket(plain, server_hostname="127.0.0.1") as connection,
    ):
        lines = [
            b"POST /v1/fleet/push-object HTTP/1.1",
            b"host: x",
            b"content-type: application/protobuf",
            head,
        ]
        connection.sendall(b"\r\n".join([*lines, b"", b""]))
        part = b"f4240\r\n" + bytes(1_000_000) + b"\r\n" if b"chunked" in head else bytes(1_000_000)
        sent = 0
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            for _ in range(200):
                connection.sendall(part)
                sent += len(part)
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            answer = connection.recv(100)
    assert answer.startswith(b"HTTP/1.1 401") or sent < 200_000_000
    assert peak_memory(server.place.pid) - before < 20_000_000


def test_a_killed_site_rejoins_at_once(server: Server) -> None:
    folder = server.site("killed")
    command = [
        sys.executable,
        "-m",
        "tests.deployment.transport.site_process",
        server.place.address,
        str(server.root),
        str(folder),
    ]

    def begun() -> subprocess.Popen[str]:
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    with open_channel(server) as channel, begun() as first:
        assert first.stdout
        states = [first.stdout.readline().strip() for _ in range(2)]
        assert states == ["joining", "online"]
        channel._by_store.add(channel._nodes["killed"])  # a killed site counts as connected for 2 s
        lost = channel.send("killed", b"hang")
        channel.online()  # announces what the store has
        assert first.stdout.readline().strip() == "working"
        first.send_signal(signal.SIGKILL)
        first.wait()
        with begun() as second:
            assert second.stdout
            assert [second.stdout.readline().strip() for _ in range(2)] == ["joining", "online"]
            again = channel.send("killed", b"abc")
            assert answers(channel, {lost, again}) == {lost: None, again: b"cba"}
            second.kill()


def test_a_killed_site_is_soon_offline(server: Server) -> None:
    """Long before Flower would notice, which takes a minute."""
    folder = server.site("gone")
    command = [sys.executable, "-m", "tests.deployment.transport.site_process"]
    words = [server.place.address, str(server.root), str(folder)]
    with (
        open_channel(server) as channel,
        subprocess.Popen([*command, *words], stdout=subprocess.PIPE) as process,
    ):
        until(lambda: channel.online()["gone"])
        lost = channel.send("gone", b"hang")
        assert process.stdout
        assert channel.collect() == []
        until(lambda: b"working" in process.stdout.readline())
        process.kill()
        assert answers(channel, {lost}) == {lost: None}
        until(lambda: not channel.online()["gone"], seconds=30)
        assert not find_online_sites(server.folder)["gone"]


def test_long_responses_travel_through_the_store(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_module, "MAX_DIRECT_BYTES", 10)
    handled: list[bytes] = []

    def handle(message: bytes) -> bytes:
        handled.append(message)
        return message * 20

    site = node(server.site("one"), server.place.address, server.root)
    with running(site, handle), open_channel(server) as channel:
        until(lambda: channel.online()["one"])
        for message, times in ((b"ab", 2), (b"cd", 1)):
            mark = channel.send("one", message)
            assert answers(channel, {mark}) == {mark: message * 20}
            assert handled.count(message) == times


def test_an_older_server_or_site_is_polled(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(direct_messages, "post", lambda client, path, body: None)
    site = node(server.site("one"), server.place.address, server.root)
    with running(site, lambda message: message[::-1]), open_channel(server) as channel:
        until(lambda: channel.online()["one"])
        mark = channel.send("one", b"abc")
        assert answers(channel, {mark}) == {mark: b"cba"}


def test_a_killed_server_comes_back(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Last of its module: it kills the SuperLink that the others share."""
    monkeypatch.setattr(run_start, "_RETRY_SECONDS", 0.5)
    with running(
        node(server.site("one"), server.place.address, server.root), lambda message: message[::-1]
    ) as states:
        channel = server.channel()
        until(lambda: channel.online()["one"])
        os.kill(server.place.pid, signal.SIGKILL)
        with pytest.raises(PeerError, match="cannot be reached"):
            channel.online()
        channel.close(done=False)
        until(lambda: states[-1].startswith("unreachable"))
        with start_superlink(
            SuperLinkSettings(server.folder, "127.0.0.1", server.place.port, tls=True)
        ):
            until(lambda: states[-1] == "online")
            with open_channel(server) as again:
                until(lambda: again.online()["one"])
                message = again.send("one", b"abc")
                assert answers(again, {message}) == {message: b"cba"}
