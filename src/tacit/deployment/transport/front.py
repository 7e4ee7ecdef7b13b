"""What stands before the SuperLink: who may speak to it, and how much. A stranger's body is never
read.

Flower reads and parses a whole body before it looks at who sent it, and answers anybody about its
own interface. Here a request is judged by its head: sites by a signature of a registered key, the
server's own commands by the secret in its folder, all else is not there. Only then is a body read,
up to a limit and in bounded time.
"""

from __future__ import annotations

import asyncio
import hmac
from base64 import b64decode
from collections.abc import Awaitable, Callable, MutableMapping
from datetime import datetime
from typing import Any

from flwr.common.constant import SYSTEM_TIME_TOLERANCE, TIMESTAMP_HEADER, TIMESTAMP_TOLERANCE
from flwr.proto.fleet_pb2 import PushMessagesRequest
from flwr.proto.message_pb2 import ObjectTree
from flwr.supercore.constant import FLEET_HTTP_PUBLIC_KEY_HEADER, FLEET_HTTP_SIGNATURE_HEADER
from flwr.supercore.date import now
from flwr.supercore.primitives.asymmetric import bytes_to_public_key, verify_signature
from google.protobuf.message import DecodeError

from tacit.deployment.transport.client import SECRET_HEADER
from tacit.deployment.transport.letters import MOST_OBJECTS

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

SMALL = 65_536
"""Bytes of a site's request that carries no part of a letter."""

_SITES = "/v1/fleet/"
_SITE_CALLS = {
    "activate-node": SMALL,
    "deactivate-node": SMALL,
    "send-node-heartbeat": SMALL,
    "pull-messages": SMALL,
    "push-messages": SMALL,
    "pull-object": SMALL,
    "confirm-message-received": SMALL,
    "push-object": None,
}
"""What a site may ask for, and how long such a request may be (None: the body limit). Code
(get-fab) is not among it.
"""
_SERVER = ("/v1/control/", "/v1/runtime/")
_IDLE_SECONDS = 10.0
_SLOWEST = 32_768
"""Bytes a second below which a body is given up, after the first idle time."""


class Front:
    """An ASGI application around the SuperLink's. `known` says whether a public key is that of a
    registered site.

    `prove` is called with the other side's address and port and with the site's key (the server's
    own commands: an empty one) for every request that is let in.
    """

    def __init__(
        self,
        app: App,
        *,
        secret: str,
        known: Callable[[bytes], bool],
        body_limit: int,
        prove: Callable[[object, object], None] = lambda peer, site: None,
    ) -> None:
        self._app = app
        self._secret = secret.encode()
        self._known = known
        self._body_limit = body_limit
        self._prove = prove

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Judge a request by its head, read its body within limits, and hand it on."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        if scope["path"] == "/health" and scope["method"] in ("GET", "HEAD"):
            await _answer(send, 200)
            return
        try:
            limit = await self._limit(scope)
            body = await _body(_headers(scope), receive, limit)
            if body and scope["path"] == f"{_SITES}push-messages":
                _check_answers(body)
        except _Refused as refusal:
            await _answer(send, refusal.status)
            return
        if body is not None:
            await self._app(scope, _replayed(body, receive), send)

    async def _limit(self, scope: Scope) -> int:
        """Return how many bytes a request may have; raise if it may not be made at all."""
        path, headers = scope["path"], _headers(scope)
        call = path.removeprefix(_SITES) if path.startswith(_SITES) else None
        if scope["method"] != "POST" or not (path.startswith(_SERVER) or call in _SITE_CALLS):
            raise _Refused(404)
        if call is None:
            if not hmac.compare_digest(headers.get(SECRET_HEADER, "").encode(), self._secret):
                raise _Refused(401)
            self._prove(scope.get("client"), b"")
            return self._body_limit
        # A database is asked, so not in the loop that serves everybody.
        if not await asyncio.to_thread(self._is_site, headers):
            raise _Refused(401)
        self._prove(scope.get("client"), headers[FLEET_HTTP_PUBLIC_KEY_HEADER])
        return _SITE_CALLS[call] or self._body_limit

    def _is_site(self, headers: dict[str, str]) -> bool:
        """Return whether a head is signed, a moment ago, with a registered key."""
        try:
            public_key = b64decode(headers[FLEET_HTTP_PUBLIC_KEY_HEADER], validate=True)
            signature = b64decode(headers[FLEET_HTTP_SIGNATURE_HEADER], validate=True)
            signed_at = headers[TIMESTAMP_HEADER]
            age = (now() - datetime.fromisoformat(signed_at)).total_seconds()
            if (
                not -SYSTEM_TIME_TOLERANCE < age < TIMESTAMP_TOLERANCE + SYSTEM_TIME_TOLERANCE
                or not self._known(public_key)
            ):
                return False
            return verify_signature(
                bytes_to_public_key(public_key), signed_at.encode("ascii"), signature
            )
        except (KeyError, ValueError, TypeError):
            return False


class _Refused(Exception):  # noqa: N818 - a request is refused, nothing went wrong here
    def __init__(self, status: int) -> None:
        self.status = status


def _headers(scope: Scope) -> dict[str, str]:
    """Return a request's headers; where one is given twice, none of it counts."""
    found: dict[str, str] = {}
    twice = set()
    for name, value in scope["headers"]:
        key = name.decode("latin-1").lower()
        twice.update({key} & found.keys())
        found[key] = value.decode("latin-1")
    return {key: value for key, value in found.items() if key not in twice}


async def _body(headers: dict[str, str], receive: Receive, limit: int) -> bytes | None:
    """Return a request's body, or None if the other side left; refuse one that is too long or too
    slow.
    """
    stated = headers.get("content-length", "0")
    if not stated.isdecimal() or int(stated) > limit or "content-encoding" in headers:
        raise _Refused(413)
    parts: list[bytes] = []
    length = 0
    started = asyncio.get_running_loop().time()
    while True:
        allowed = _IDLE_SECONDS + length / _SLOWEST - (asyncio.get_running_loop().time() - started)
        try:
            async with asyncio.timeout(min(allowed, _IDLE_SECONDS)):
                event = await receive()
        except TimeoutError:
            raise _Refused(408) from None
        if event["type"] == "http.disconnect":
            return None
        parts.append(event.get("body", b""))
        length += len(parts[-1])
        if length > limit:
            raise _Refused(413)
        if not event.get("more_body", False):
            return b"".join(parts)


def _check_answers(body: bytes) -> None:
    """Refuse answers in the name of another site, and answers of more objects than a letter has.

    Flower checks who asks, but not whom an answer says it is from. It stores every object that an
    answer announces.
    """
    try:
        request = PushMessagesRequest.FromString(body)
    except DecodeError:
        raise _Refused(400) from None
    if any(
        message.metadata.src_node_id != request.node.node_id for message in request.messages_list
    ):
        raise _Refused(403)
    if (
        len(request.message_object_trees) > 1
        or sum(map(_count_objects, request.message_object_trees)) > MOST_OBJECTS
    ):
        raise _Refused(413)


def _count_objects(tree: ObjectTree) -> int:
    return 1 + sum(map(_count_objects, tree.children))


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Return a way to receive a body that was read already; after it comes whatever the connection
    brings.
    """
    waiting = [body]

    async def again() -> MutableMapping[str, Any]:
        if waiting:
            return {"type": "http.request", "body": waiting.pop(), "more_body": False}
        return await receive()

    return again


async def _answer(send: Send, status: int) -> None:
    """Answer with a bare status and close, so that no byte of an unread body is waited for."""
    headers = [(b"content-length", b"0"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": b""})
