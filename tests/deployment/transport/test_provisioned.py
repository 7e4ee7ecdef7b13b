"""A running server: it gives its sites the roster, refuses revoked ones at once, and uses a renewed certificate."""

from __future__ import annotations

import json
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography import x509

pytest.importorskip("flwr", reason="needs tacit[site]")

from cryptography.hazmat.primitives.serialization import load_pem_private_key

from tacit.deployment.transport import certificates
from tacit.deployment.transport.server.endpoint import ServerEndpoint
from tacit.deployment.transport.server.registry import read_registry, register, restore, revoke
from tacit.deployment.transport.site.roster import fetch_roster
from tacit.deployment.transport.superlink.process import SuperLinkSettings, start_superlink
from tacit.errors import PeerError
from tests.deployment.transport.sites import server_folder


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, ServerEndpoint]]:
    folder = server_folder(tmp_path_factory.mktemp("provisioned") / "server")
    with start_superlink(SuperLinkSettings(folder, "127.0.0.1", 0, tls=True)) as place:
        yield folder, place


def ask(server: tuple[Path, ServerEndpoint], key: Path) -> dict[str, dict[str, str]]:
    folder, place = server
    private = load_pem_private_key(key.read_bytes(), None)
    found: dict[str, dict[str, str]] = json.loads(
        fetch_roster(place.address, folder / "ca.crt", private)  # type: ignore[arg-type]
    )
    return found


def test_sites_get_the_roster_until_they_are_revoked(
    server: tuple[Path, ServerEndpoint], tmp_path: Path
) -> None:
    folder, _ = server
    one, two = tmp_path / "one.key", tmp_path / "two.key"
    certificates.make_node_key(tmp_path / "stranger.key")
    with pytest.raises(PeerError, match="does not admit this site"):
        ask(server, tmp_path / "stranger.key")
    register(folder, "one", certificates.make_node_key(one), signing_key="1" * 64)
    register(folder, "two", certificates.make_node_key(two), signing_key="2" * 64)
    assert {name: keys["signing_key"] for name, keys in ask(server, one).items()} == {
        "one": "1" * 64,
        "two": "2" * 64,
    }
    revoke(folder, "two")
    assert set(ask(server, one)) == {"one"}
    with pytest.raises(PeerError, match="does not admit this site"):
        ask(server, two)
    restore(folder, "two")
    assert set(ask(server, two)) == {"one", "two"}
    former = read_registry(folder)["two"]
    register(
        folder,
        "two",
        certificates.make_node_key(tmp_path / "new.key"),
        signing_key="3" * 64,
        replaces=former["public_key"],
    )
    assert ask(server, tmp_path / "new.key")["two"]["signing_key"] == "3" * 64
    with pytest.raises(PeerError, match="does not admit this site"):
        ask(server, two)
    with pytest.raises(PeerError, match="already registered with another key"):
        register(folder, "two", two.with_name("two.key.pub").read_bytes())
    revoke(folder, "two")
    with pytest.raises(PeerError, match="was replaced by another one"):
        register(folder, "two", two.with_name("two.key.pub").read_bytes())


def read_served(server: tuple[Path, ServerEndpoint]) -> x509.Certificate:
    folder, place = server
    context = ssl.create_default_context(cafile=folder / "ca.crt")
    with (
        socket.create_connection((place.host, place.port), timeout=20) as plain,
        context.wrap_socket(plain, server_hostname="server.example") as line,
    ):
        served = line.getpeercert(binary_form=True)
    assert served is not None
    return x509.load_der_x509_certificate(served)


def test_a_renewed_certificate_is_used_without_a_restart(
    server: tuple[Path, ServerEndpoint],
) -> None:
    folder, _ = server
    before = read_served(server)
    assert not certificates.renew_server_certificate(folder, at_once=False), "valid for long"
    assert read_served(server) == before
    assert certificates.renew_server_certificate(folder, at_once=True)
    after = read_served(server)
    assert after.serial_number != before.serial_number
    assert certificates.list_hosts(after) == certificates.list_hosts(before) == ["server.example"]
    kept = (folder / "server.crt").read_bytes()
    (folder / "server.crt").write_text("half of a certificate")
    assert read_served(server) == after, "a damaged file changes nothing"
    (folder / "server.crt").write_bytes(kept)
    assert read_served(server) == after
