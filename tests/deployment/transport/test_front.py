"""The front: who is let in, judged by the head alone, and how much of a body is read."""

from __future__ import annotations

import asyncio
import socket
import threading
from base64 import b64encode
from typing import Any

import pytest

pytest.importorskip("flwr", reason="needs tacit[site]")

import uvicorn
from flwr.proto.fleet_pb2 import PushMessagesRequest
from flwr.proto.message_pb2 import Message, Metadata
from flwr.proto.node_pb2 import Node
from flwr.supercore.date import now
from flwr.supercore.primitives.asymmetric import (
    generate_key_pairs,
    public_key_to_bytes,
    sign_message,
)

from tacit.deployment.transport.superlink import http_protocol, request_filter
from tacit.deployment.transport.superlink.request_filter import RequestFilter

PRIVATE, PUBLIC = generate_key_pairs()
SECRET = "a secret"


def signed(timestamp: str | None = None) -> dict[str, str]:
    signed_at = timestamp or now().isoformat()
    return {
        "flwr-public-key": b64encode(public_key_to_bytes(PUBLIC)).decode(),
        "flwr-signature": b64encode(sign_message(PRIVATE, signed_at.encode())).decode(),
        "flwr-timestamp": signed_at,
    }


def asked(
    path: str,
    headers: dict[str, str],
    parts: list[bytes],
    *,
    method: str = "POST",
    known: bool = True,
    pause: float = 0.0,
) -> tuple[int, int, bytes]:
    """Ask the front; return the status, how many parts of the body were read, and what the application behind it got."""
    read = 0
    status = 0
    behind = b""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        nonlocal behind
        behind = (await receive())["body"]
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def receive() -> dict[str, Any]:
        nonlocal read
        await asyncio.sleep(pause)
        read += 1
        return {"type": "http.request", "body": parts[read - 1], "more_body": read < len(parts)}

    async def send(event: dict[str, Any]) -> None:
        nonlocal status
        status = event.get("status", status)

    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    guard = RequestFilter(
        app,
        secret=SECRET,
        is_registered=lambda key: known and key == public_key_to_bytes(PUBLIC),
        body_limit=1_000_000,
    )
    asyncio.run(guard(scope, receive, send))  # type: ignore[arg-type]
    return status, read, behind


def test_header_names_are_flowers() -> None:
    assert set(signed()) == {
        request_filter.FLEET_HTTP_PUBLIC_KEY_HEADER,
        request_filter.FLEET_HTTP_SIGNATURE_HEADER,
        request_filter.TIMESTAMP_HEADER,
    }


def test_a_registered_site_is_let_in() -> None:
    assert asked("/v1/fleet/pull-messages", signed(), [b"ab", b"c"]) == (200, 2, b"abc")


@pytest.mark.parametrize(
    "path",
    [
        "/v1/fleet/push-object",
        "/v1/fleet/tacit-wait",
        "/v1/fleet/tacit-reply",
        "/v1/control/list-nodes",
        "/v1/runtime/push-object",
        "/v1/runtime/tacit-exchange",
    ],
)
def test_a_stranger_is_refused_before_a_byte_is_read(path: str) -> None:
    assert asked(path, {}, [b"abc"]) == (401, 0, b"")


def test_a_signature_must_be_right_recent_and_of_a_registered_key() -> None:
    path = "/v1/fleet/pull-messages"
    assert asked(path, signed(), [b""], known=False)[0] == 401
    assert asked(path, signed("2026-01-01T00:00:00+00:00"), [b""])[0] == 401
    assert asked(path, signed() | {"flwr-timestamp": now().isoformat()}, [b""])[0] == 401
    assert asked(path, signed() | {"flwr-signature": "no base64"}, [b""])[0] == 401
    assert asked(path, signed("2026-01-01T00:00:00"), [b""])[0] == 401


def test_control_and_runtime_need_the_secret() -> None:
    for path in ("/v1/control/list-nodes", "/v1/runtime/get-nodes", "/v1/runtime/tacit-reply"):
        assert asked(path, {"tacit-server-secret": SECRET}, [b"a"]) == (200, 1, b"a")
        assert asked(path, {"tacit-server-secret": "another"}, [b"a"]) == (401, 0, b"")
        assert asked(path, signed(), [b"a"]) == (401, 0, b"")
    assert asked("/v1/fleet/pull-messages", {"tacit-server-secret": SECRET}, [b"a"])[0] == 401


@pytest.mark.parametrize(
    "path",
    [
        "/openapi.json",
        "/docs",
        "/",
        "/v1/fleet/get-fab",
        "/v1/fleet/register-node",
        "/v1/fleet/tacit-exchange",
        "/v1/responses",
    ],
)
def test_all_else_is_not_there(path: str) -> None:
    assert asked(path, signed() | {"tacit-server-secret": SECRET}, [b"a"]) == (404, 0, b"")
    assert asked(path, signed(), [b"a"], method="GET") == (404, 0, b"")


def test_bodies_have_a_limit() -> None:
    large = "/v1/fleet/push-object"
    assert asked(large, signed() | {"content-length": "1000001"}, [b""]) == (413, 0, b"")
    assert asked(large, signed() | {"content-length": "-1"}, [b""]) == (413, 0, b"")
    assert asked(large, signed() | {"content-encoding": "gzip"}, [b""]) == (413, 0, b"")
    assert asked(large, signed(), [bytes(400_000)] * 9) == (413, 3, b"")
    assert asked("/v1/fleet/pull-messages", signed(), [bytes(40_000)] * 9) == (413, 2, b"")


def test_no_site_answers_for_another() -> None:
    def answer(node: int, source: int) -> list[bytes]:
        request = PushMessagesRequest(
            node=Node(node_id=node), messages_list=[Message(metadata=Metadata(src_node_id=source))]
        )
        return [request.SerializeToString()]

    assert asked("/v1/fleet/push-messages", signed(), answer(7, 7))[0] == 200
    assert asked("/v1/fleet/push-messages", signed(), answer(7, 8)) == (403, 1, b"")
    assert asked("/v1/fleet/push-messages", signed(), [b"no message"]) == (400, 1, b"")


def test_slow_bodies_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_filter, "_IDLE_SECONDS", 0.05)
    assert asked("/v1/fleet/push-object", signed(), [b"a"] * 9, pause=0.1) == (408, 0, b"")
    status, read, _ = asked("/v1/fleet/push-object", signed(), [b"a"] * 99, pause=0.01)
    assert status == 408
    assert read < 20


def test_a_connection_that_never_asks_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_protocol, "HEAD_SECONDS", 0.2)
    guard = RequestFilter(
        lambda *_: asyncio.sleep(0), secret=SECRET, is_registered=lambda key: False, body_limit=1
    )
    server = uvicorn.Server(
        uvicorn.Config(
            guard,
            http=http_protocol.TimeLimitedProtocol,
            ws="none",
            lifespan="off",
            log_config=None,
        )
    )
    listening = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        with socket.create_connection(listening.getsockname(), timeout=20) as slow:
            slow.sendall(b"POST /v1/fleet/push-object HTTP/1.1\r\nhost: x\r\nx-slow: ")
            assert slow.recv(100) == b""
        with socket.create_connection(listening.getsockname(), timeout=20) as quick:
            quick.sendall(b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n")
            assert quick.recv(100).startswith(b"HTTP/1.1 200")
    finally:
        server.should_exit = True
        thread.join()
