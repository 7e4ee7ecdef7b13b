"""A site behind an HTTPS proxy: TLS stays end to end, credentials are never shown, and refusals are named."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("flwr", reason="needs tacit[site]")

from cryptography.hazmat.primitives.serialization import load_pem_private_key

from tacit.deployment.doctor.way_to_server import check_server
from tacit.deployment.transport import certificates
from tacit.deployment.transport.proxy import Proxy, find_proxy
from tacit.deployment.transport.server.channel import FlowerChannel
from tacit.deployment.transport.server.endpoint import ServerEndpoint
from tacit.deployment.transport.server.registry import register
from tacit.deployment.transport.site.node import Node
from tacit.deployment.transport.site.roster import fetch_roster
from tacit.deployment.transport.superlink.process import SuperLinkSettings, start_superlink
from tacit.errors import PeerError
from tests.deployment.transport.proxies import CountingProxy, running_proxy
from tests.deployment.transport.sites import LARGEST, answers, running, server_folder, until

PASSWORD = "s3cret-of-proxy"


@pytest.fixture(autouse=True)
def _no_proxy_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, ServerEndpoint]]:
    folder = server_folder(tmp_path_factory.mktemp("behind") / "server")
    with start_superlink(SuperLinkSettings(folder, "127.0.0.1", 0, tls=True)) as place:
        yield folder, place


def test_settings_and_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    address = "tacit.example.org:8443"
    assert find_proxy(address) is None
    monkeypatch.setenv("HTTPS_PROXY", "http://ana:pass@proxy.example:3128")
    found = find_proxy(address)
    assert found == Proxy("http://ana:pass@proxy.example:3128", "proxy.example:3128", "HTTPS_PROXY")
    assert "pass" not in repr(found)
    assert find_proxy("127.0.0.1:8443") is None, "this machine needs no proxy"
    assert find_proxy(address, "none") is None
    chosen = find_proxy(address, "other.example:8080")
    assert chosen is not None
    assert chosen.shown == "other.example:8080"
    monkeypatch.setenv("NO_PROXY", ".example.org")
    assert find_proxy(address) is None
    assert find_proxy(address, "http://other.example") is not None, "the setting comes first"


@pytest.mark.parametrize(
    "url",
    [
        f"socks5://ana:{PASSWORD}@proxy:1",
        f"http://ana:{PASSWORD}@",
        f"http://ana:{PASSWORD}@proxy:99999",
        f"http://ana:{PASSWORD}@proxy:1/path",
        f"http://ana:{PASSWORD}@proxy\r\nHost: x",
        f"http://ana:{PASSWORD}@[::1",
    ],
)
def test_a_bad_url_is_refused_and_not_quoted(url: str) -> None:
    with pytest.raises(PeerError, match="must be the URL of an HTTP proxy") as caught:
        find_proxy("tacit.example.org:8443", url)
    assert PASSWORD not in str(caught.value)


def test_a_site_joins_through_a_proxy_that_asks_for_a_password(
    server: tuple[Path, ServerEndpoint], tmp_path: Path
) -> None:
    folder, place = server
    site = tmp_path / "site"
    register(folder, "behind", certificates.make_node_key(site / "node.key"))
    with running_proxy(CountingProxy(place.port, user=f"ana:{PASSWORD}")) as proxy:
        node = Node(
            address=f"server.example:{place.port}",
            root_certificate=folder / "ca.crt",
            key=None,
            folder=site,
            max_bytes=LARGEST,
            proxy=f"http://ana:{PASSWORD}@127.0.0.1:{proxy.port}",
        )
        with running(node, lambda message: message[::-1]) as states:
            channel = FlowerChannel(
                folder=folder, address=place.address, name="test", max_bytes=LARGEST
            )
            until(lambda: channel.online()["behind"])
            message = channel.send("behind", b"abc" * 100_000)
            assert answers(channel, {message}) == {message: b"cba" * 100_000}
            channel.close(done=True)
        assert proxy.tunnels
        assert set(proxy.tunnels) == {f"server.example:{place.port}"}
        assert not any("flwr" in head for head in proxy.heads), "no header of a request is readable"
    logged = "".join(path.read_text() for path in site.rglob("*.log"))
    assert PASSWORD not in logged + "".join(states)


def fetch(server: tuple[Path, ServerEndpoint], key: Path, proxy: str) -> bytes:
    folder, place = server
    private = load_pem_private_key(key.read_bytes(), None)
    address = f"server.example:{place.port}"
    return fetch_roster(address, folder / "ca.crt", private, proxy)  # type: ignore[arg-type]


def test_refusals_of_a_proxy_are_named(server: tuple[Path, ServerEndpoint], tmp_path: Path) -> None:
    folder, place = server
    key = tmp_path / "one.key"
    register(folder, "one", certificates.make_node_key(key), signing_key="1" * 64)
    with running_proxy(CountingProxy(place.port, user=f"ana:{PASSWORD}")) as proxy:
        there = f"127.0.0.1:{proxy.port}"
        with pytest.raises(PeerError, match="requires a user and password") as caught:
            fetch(server, key, f"http://ana:wrong-{PASSWORD}@{there}")
        assert there in str(caught.value)
        assert PASSWORD not in str(caught.value)
        assert b"signing_key" in fetch(server, key, f"http://ana:{PASSWORD}@{there}")
    with (
        running_proxy(CountingProxy(place.port, refuses=True)) as proxy,
        pytest.raises(PeerError, match="allow CONNECT"),
    ):
        fetch(server, key, f"127.0.0.1:{proxy.port}")
    with pytest.raises(PeerError, match=r"through the proxy 127\.0\.0\.1:9\) cannot be reached"):
        fetch(server, key, "127.0.0.1:9")


def test_a_proxy_that_opens_tls_gets_nothing(
    server: tuple[Path, ServerEndpoint], tmp_path: Path
) -> None:
    folder, place = server
    key = tmp_path / "two.key"
    register(folder, "two", certificates.make_node_key(key), signing_key="2" * 64)
    foreign = server_folder(tmp_path / "foreign")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(foreign / "server.crt", foreign / "server.key")
    with running_proxy(CountingProxy(place.port, opens_tls=context)) as proxy:
        with pytest.raises(PeerError, match="a proxy in between opens TLS"):
            fetch(server, key, f"127.0.0.1:{proxy.port}")
        found = check_server(
            f"server.example:{place.port}", folder / "ca.crt", f"127.0.0.1:{proxy.port}"
        )
        states = {one.subject: (one.state, one.remedy) for one in found}
    assert states["proxy"][0] == states["server"][0] == "problem"
    assert "pass server.example" in states["proxy"][1]


def test_doctor_says_that_a_proxy_is_in_the_way(
    server: tuple[Path, ServerEndpoint], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, place = server
    address = f"server.example:{place.port}"
    with running_proxy(CountingProxy(place.port, user=f"ana:{PASSWORD}")) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"http://ana:{PASSWORD}@127.0.0.1:{proxy.port}")
        first, *others = check_server(address, folder / "ca.crt", None)
        assert (first.subject, first.state) == ("proxy", "ok")
        assert "from HTTPS_PROXY" in first.detail
        assert [one.state for one in others] == ["ok", "ok"]
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{proxy.port}")
        first, *_ = check_server(address, folder / "ca.crt", None)
        assert first.state == "problem"
        assert "user and password" in first.remedy
        (bad,) = check_server(address, folder / "ca.crt", f"ftp://{PASSWORD}@x")
        assert PASSWORD not in bad.detail
