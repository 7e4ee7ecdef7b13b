"""Attacks on the server's port: a head without an end; a registered site that fills the disk, forges a log or poses as another."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("flwr", reason="needs tacit[site]")

import httpx
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from flwr.app import Metadata
from flwr.common.constant import SUPERLINK_NODE_ID
from flwr.proto.fleet_pb2 import (
    ActivateNodeRequest,
    DeactivateNodeRequest,
    PullMessagesRequest,
    PushMessagesRequest,
)
from flwr.proto.heartbeat_pb2 import SendNodeHeartbeatRequest
from flwr.proto.message_pb2 import ConfirmMessageReceivedRequest, ObjectTree
from flwr.proto.node_pb2 import Node as WireNode
from flwr.supercore.date import now
from flwr.supercore.primitives.asymmetric import public_key_to_bytes

from tacit.deployment.transport.flower_log import LOG, redirect_flower_log
from tacit.deployment.transport.flower_messages import (
    MAX_OBJECTS,
    MESSAGE_TYPE,
    build_response_metadata,
    pack_message,
)
from tacit.deployment.transport.http_client import _build_tls_context
from tacit.deployment.transport.server.registry import read_sites, revoke
from tacit.deployment.transport.site.server_connection import ServerConnection
from tacit.deployment.transport.superlink.http_protocol import HEAD_LIMIT
from tacit.deployment.transport.superlink.process import SuperLinkSettings, start_superlink
from tests.deployment.transport.sites import node, running, server_folder, until
from tests.deployment.transport.test_carry import Server, open_channel, peak_memory


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    base = tmp_path_factory.mktemp("attacked")
    folder = server_folder(base / "server")
    with start_superlink(SuperLinkSettings(folder, "127.0.0.1", 0, tls=True)) as place:
        yield Server(folder, place, base)


def connect_site(server: Server, name: str) -> ServerConnection:
    """A registered site whose program says what it likes."""
    folder = server.site(name)
    key = load_pem_private_key((folder / "node.key").read_bytes(), None)
    return ServerConnection(server.place.address, server.root, key, folder)  # type: ignore[arg-type]


def status_of(call: Callable[[], object]) -> int:
    try:
        call()
    except httpx.HTTPStatusError as error:
        return error.response.status_code
    return 200


HEADS = {
    "one long value": (b"GET /health HTTP/1.1\r\nhost: x\r\na: ", b"a" * 1_000_000),
    "many headers": (
        b"GET /health HTTP/1.1\r\nhost: x\r\n",
        b"".join(b"h%d: x\r\n" % number for number in range(90_000)),
    ),
    "a long path": (b"GET /", b"a" * 1_000_000),
}


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc to measure memory")
@pytest.mark.parametrize("kind", HEADS)
def test_a_head_without_an_end_is_not_held_in_memory(server: Server, kind: str) -> None:
    """Before, 60 MB of a stranger's headers took 500 MB of the server's memory: a head had a time limit and no size."""
    first, part = HEADS[kind]
    before, sent = peak_memory(server.place.pid), 0
    context = ssl.create_default_context(cafile=str(server.root))
    with (
        socket.create_connection((server.place.host, server.place.port), timeout=20) as plain,
        context.wrap_socket(plain, server_hostname="127.0.0.1") as connection,
        contextlib.suppress(ConnectionError, ssl.SSLError),
    ):
        connection.sendall(first)
        for _ in range(40):
            connection.sendall(part)
            sent += len(part)
    assert sent < 40 * len(part)
    assert peak_memory(server.place.pid) - before < 20_000_000


@pytest.mark.parametrize(("size", "answered"), [(HEAD_LIMIT // 2, True), (3 * HEAD_LIMIT, False)])
def test_heads_have_a_limit(server: Server, size: int, answered: bool) -> None:
    connection = server.https()
    try:
        connection.request("GET", "/health", headers={"a": "a" * size})
        status: int | None = connection.getresponse().status
    except (ConnectionError, ssl.SSLError, OSError):
        status = None
    assert (status == 200) is answered


def test_a_site_poses_as_another(server: Server) -> None:
    """Its signature is its own, the number in the request another's: it fetches, stops, confirms and answers nothing."""
    released = threading.Event()

    def handle(message: bytes) -> bytes:
        released.wait(20)
        return message[::-1]

    evil, good_key = (
        connect_site(server, "evil"),
        load_pem_private_key((server.site("good") / "node.key").read_bytes(), None),
    )
    good = WireNode(node_id=int(read_sites(server.folder)["good"]["node_id"]))
    with (
        running(node(server.site("good"), server.place.address, server.root), handle),
        open_channel(server) as channel,
        evil.use_exclusively(threading.Event(), lambda state: None),
    ):
        until(lambda: channel.online()["good"])
        mark, client, run = channel.send("good", b"abc"), evil.client, channel._run
        public = public_key_to_bytes(good_key.public_key())  # type: ignore[union-attr, arg-type]
        confirm = ConfirmMessageReceivedRequest(node=good, run_id=run, message_object_id=mark)
        attacks: list[Callable[[], object]] = [
            lambda: client.PullMessages(PullMessagesRequest(node=good)),
            lambda: client.DeactivateNode(DeactivateNodeRequest(node_id=good.node_id)),
            lambda: client.SendNodeHeartbeat(
                SendNodeHeartbeatRequest(node=good, heartbeat_interval=1e9)
            ),
            lambda: client.ActivateNode(
                ActivateNodeRequest(public_key=public, heartbeat_interval=30)
            ),
            lambda: client.ConfirmMessageReceived(confirm),
        ]
        assert [status_of(attack) for attack in attacks] == [401] * 5
        evil._join()
        written = Metadata(
            run,
            "",
            evil.node.node_id,
            SUPERLINK_NODE_ID,
            mark,
            "",
            now().timestamp(),
            3600.0,
            MESSAGE_TYPE,
        )
        false = pack_message(written, b"false")
        request = PushMessagesRequest(
            node=evil.node, messages_list=[false.head], message_object_trees=[false.tree]
        )
        assert not client.PushMessages(request).objects_to_push
        released.set()
        found: dict[str, bytes | None] = {}
        until(lambda: found.update(channel.collect()) or mark in found)
        assert found == {mark: b"cba"}


def test_a_site_announces_more_than_a_letter(server: Server) -> None:
    """Before, an answer of one byte announced 60 objects of 1 MB more, and the server stored each of them."""
    evil = connect_site(server, "flood")
    with (
        open_channel(server) as channel,
        evil.use_exclusively(threading.Event(), lambda state: None),
    ):
        evil._join()
        channel.send("flood", b"abc")
        question = evil.client.PullMessages(PullMessagesRequest(node=evil.node)).messages_list[0]
        answer = pack_message(build_response_metadata(question, time.time()), b"x")

        def push(more: int, trees: int = 1) -> int:
            tree = ObjectTree.FromString(answer.tree.SerializeToString())
            chunks = tree.children[0].children[0].children[0].children
            chunks.extend(ObjectTree(object_id=os.urandom(32).hex()) for _ in range(more))
            request = PushMessagesRequest(
                node=evil.node, messages_list=[answer.head], message_object_trees=[tree] * trees
            )
            return status_of(lambda: evil.client.PushMessages(request))

        assert push(MAX_OBJECTS) == push(0, trees=2) == 413
        assert push(0) == 200


def test_a_revoked_site_goes_on(server: Server) -> None:
    evil = connect_site(server, "revoked")
    with (
        open_channel(server) as channel,
        evil.use_exclusively(threading.Event(), lambda state: None),
    ):
        evil._join()
        until(lambda: channel.online()["revoked"])
        revoke(server.folder, "revoked")
        assert (
            status_of(lambda: evil.client.PullMessages(PullMessagesRequest(node=evil.node))) == 401
        )
        assert not channel.online()["revoked"]


def test_a_certificate_for_another_host(server: Server) -> None:
    context = _build_tls_context(server.root)
    with (
        socket.create_connection((server.place.host, server.place.port), timeout=20) as plain,
        pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"),
    ):
        context.wrap_socket(plain, server_hostname="another.example")


def test_a_site_forges_no_line_of_the_servers_log(tmp_path: Path) -> None:
    """Flower logs the id that an answer says it replies to: before, with its line feeds and escape codes."""
    redirect_flower_log(tmp_path)
    logging.getLogger("flwr").error(
        "message_id %s does not exist", "x\n2026-01-01 INFO flwr site good was revoked\x1b[2J"
    )
    (line,) = (tmp_path / LOG).read_text().splitlines()
    assert line.endswith("x\\n2026-01-01 INFO flwr site good was revoked\\x1b[2J does not exist")
