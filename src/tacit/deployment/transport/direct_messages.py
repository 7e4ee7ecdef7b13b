"""Messages that the server passes on from memory, and how site, server and coordinator ask for them.

A site always keeps one request open at the server, which the server answers when it has a message.
The coordinator keeps one open until a response has arrived. Nothing is stored: if a process ends in
between, the coordinator learns that the message was lost, and sends it again. Long messages, and
those to sites of an older version, travel through Flower's store.
"""

from __future__ import annotations

from typing import Annotated, TypeVar

import httpx
import msgspec
from flwr.proto.message_pb2 import Message as WireMessage
from flwr.supercore.protobuf.client import ProtobufClient, ProtobufRequestContext

WAIT_PATH = "/v1/fleet/tacit-wait"
"""Where a site waits for its next message."""
REPLY_PATH = "/v1/fleet/tacit-reply"
"""Where a site sends its response."""
EXCHANGE_PATH = "/v1/runtime/tacit-exchange"
"""Where the coordinator sends messages and waits for responses."""

MAX_DIRECT_BYTES = 4 * 2**20
"""Longest payload that is passed on from memory."""
HEAD_BYTES = 65_536
"""Room for everything else in such a request or response."""
WAIT_SECONDS = 15.0
"""How long the server keeps a site's request open before it responds that there is nothing."""
READ_SECONDS = WAIT_SECONDS + 5.0

_Body = TypeVar("_Body")


class WaitRequest(msgspec.Struct, array_like=True):
    """A site waits for a message; `held` are the ids of the messages that it is working on."""

    held: list[str]


class Delivery(msgspec.Struct, array_like=True):
    """A message for a site. Without an id, it only says whether Flower's store may have messages."""

    mark: str = ""
    message: bytes = b""
    look_in_store: bool = False


class Reply(msgspec.Struct, array_like=True):
    """The response to a message. None: there will be none, or the site asks for the message through
    Flower's store, because its response is long.
    """

    mark: str
    message: bytes | None = None
    wants_store: bool = False


class OutgoingDirect(msgspec.Struct, array_like=True):
    """A message of the coordinator to a node."""

    mark: Annotated[str, msgspec.Meta(max_length=64)]
    node: int
    message: bytes


class ExchangeRequest(msgspec.Struct, array_like=True):
    """The coordinator sends messages and waits up to `seconds` for responses or for a change of who
    is connected, compared with `version`.

    `awaited` are the ids of all messages without a response, `received` those whose responses have
    arrived. `look_in_store` are the nodes for which Flower's store has new messages.
    """

    messages: list[OutgoingDirect]
    awaited: list[str]
    received: list[str]
    look_in_store: list[int]
    seconds: float
    version: int


class ExchangeResponse(msgspec.Struct, array_like=True):
    """Responses that have arrived, and the nodes that are connected now."""

    replies: list[Reply]
    connected: list[int]
    version: int


def pack(body: msgspec.Struct) -> bytes:
    """Encode one of the bodies above."""
    return msgspec.msgpack.encode(body)


def unpack(data: bytes, kind: type[_Body]) -> _Body:
    """Decode one of the bodies above; raise ValueError if it is something else."""
    return msgspec.msgpack.decode(data, type=kind)


def post(client: ProtobufClient, path: str, body: bytes) -> bytes | None:
    """Send a body with the client's headers and return the body of the response.

    None means that the server does not offer this: it is of an older version, or another role is
    needed.
    """
    request = client._client.build_request(
        "POST", f"{client._base_url}{path}", content=body, timeout=READ_SECONDS
    )
    context = ProtobufRequestContext(rpc_method=path, message=WireMessage(), request=request)
    response: httpx.Response = client._send(context)
    if response.status_code in (httpx.codes.NOT_FOUND, httpx.codes.FORBIDDEN):
        return None
    response.raise_for_status()
    return response.content
