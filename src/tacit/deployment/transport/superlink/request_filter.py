"""Authentication and limits in front of the SuperLink. The body of an unauthenticated request is
never read.

Flower parses a whole body before it checks the sender, and describes its interface to anybody. This
filter decides by the head of a request: sites need a signature of a registered key, the server's
own commands the secret in its folder, and everything else gets status 404. Only then is the body
read, up to a limit and in bounded time.
"""

from __future__ import annotations

import asyncio
import hmac
from base64 import b64decode
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from flwr.common.constant import SYSTEM_TIME_TOLERANCE, TIMESTAMP_HEADER, TIMESTAMP_TOLERANCE
from flwr.proto.fleet_pb2 import PushMessagesRequest
from flwr.proto.message_pb2 import ObjectTree
from flwr.supercore.constant import FLEET_HTTP_PUBLIC_KEY_HEADER, FLEET_HTTP_SIGNATURE_HEADER
from flwr.supercore.date import now
from flwr.supercore.primitives.asymmetric import bytes_to_public_key, verify_signature
from google.protobuf.message import DecodeError

from tacit.deployment.transport import direct_messages
from tacit.deployment.transport.direct_messages import EXCHANGE_PATH, REPLY_PATH, WAIT_PATH
from tacit.deployment.transport.flower_messages import MAX_OBJECTS
from tacit.deployment.transport.http_client import SECRET_HEADER
from tacit.deployment.transport.superlink.mailboxes import Mailboxes

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

SMALL_BODY_BYTES = 65_536
"""Largest request body of a site that carries no part of a message."""

PEOPLE = "/v1/tacit/"
"""Where people call the server from other machines."""
CERTIFICATE = "tacit.certificate"
"""Where the protocol puts the certificate of the other side (DER), of which TLS has checked the key."""
PEOPLE_AT_ONCE = 2
"""Calls of people that are served at the same time, in threads of their own: sites never wait for
them.
"""
_RUNTIME = "/v1/runtime/"
_SITES = "/v1/fleet/"
_ROSTER = "/v1/fleet/tacit-roster"
"""Where a site asks for the public keys of the other sites; the filter itself responds."""
_SITE_CALLS = {
    "activate-node": SMALL_BODY_BYTES,
    "deactivate-node": SMALL_BODY_BYTES,
    "send-node-heartbeat": SMALL_BODY_BYTES,
    "pull-messages": SMALL_BODY_BYTES,
    "push-messages": SMALL_BODY_BYTES,
    "pull-object": SMALL_BODY_BYTES,
    "confirm-message-received": SMALL_BODY_BYTES,
    "push-object": None,
    "tacit-roster": SMALL_BODY_BYTES,
    "tacit-wait": SMALL_BODY_BYTES,
    "tacit-reply": direct_messages.MAX_DIRECT_BYTES + direct_messages.HEAD_BYTES,
}
"""Calls that a site may make, and the largest body of each (None: the body limit). Fetching code
(get-fab) is not among them.
"""
_SERVER = ("/v1/control/", "/v1/runtime/")
_DEACTIVATE = "/v1/fleet/deactivate-node"
_IDLE_SECONDS = 10.0
_MIN_BYTES_PER_SECOND = 32_768
"""A slower body is abandoned, after the first idle time."""


@dataclass(frozen=True)
class Head:
    """What is known of a request before its body is read."""

    path: str
    headers: Mapping[str, str]
    address: str
    certificate: bytes | None


class Answer(NamedTuple):
    """A status and a body."""

    status: int
    body: bytes


class RequestRefused(Exception):  # noqa: N818 - no error of ours
    """A request that gets a status instead of a response, and no word of explanation to strangers."""

    def __init__(self, status: int, body: bytes = b"") -> None:
        self.status, self.body = status, body


class PeopleCalls(Protocol):
    """Decides about calls of people, and responds to them."""

    def authorise(self, head: Head) -> int:
        """Return how many bytes the body may have, or raise RequestRefused."""

    def respond(self, head: Head, body: bytes) -> Answer:
        """Respond to an authorised call."""


class RequestFilter:
    """An ASGI application around the SuperLink's.

    `is_registered` checks whether a public key belongs to a registered site. `on_authenticated` is
    called for every accepted request, with the peer's address and port and the site's key (empty
    for the server's own commands). `read_roster` returns the names and public keys of all sites.
    `mailboxes` pass messages on from memory; `find_node` returns Flower's id of a site by its key.
    `people` decides about requests that come with a certificate; without it there are none.
    """

    def __init__(
        self,
        app: App,
        *,
        secret: str,
        is_registered: Callable[[bytes], bool],
        body_limit: int,
        on_authenticated: Callable[[object, object], None] = lambda peer, site: None,
        read_roster: Callable[[], bytes] = lambda: b"{}",
        mailboxes: Mailboxes | None = None,
        find_node: Callable[[bytes], int | None] = lambda key: None,
        people: PeopleCalls | None = None,
    ) -> None:
        self._app = app
        self._secret = secret.encode()
        self._is_registered = is_registered
        self._body_limit = body_limit
        self._on_authenticated = on_authenticated
        self._read_roster = read_roster
        self._mailboxes, self._find_node = mailboxes, find_node
        self._verified: dict[bytes, tuple[str, bytes]] = {}
        self._people = people
        self._workers = ThreadPoolExecutor(PEOPLE_AT_ONCE, "calls of people")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check the head of a request, read its body within limits, and pass it on."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        if scope["path"] == "/health" and scope["method"] in ("GET", "HEAD"):
            await _respond(send, 200)
            return
        people = self._find_people(scope)
        try:
            limit = await (
                self._authorise_person(people, scope) if people else self._authorise(scope)
            )
            body = await _read_body(_read_headers(scope), receive, limit)
            if body and scope["path"] == f"{_SITES}push-messages":
                _check_responses(body)
        except RequestRefused as refusal:
            await _respond(send, refusal.status, refusal.body)
            return
        if body is not None and scope["path"] == _ROSTER:
            await _respond(send, 200, await asyncio.to_thread(self._read_roster))
        elif body is not None and scope["path"] in (WAIT_PATH, REPLY_PATH, EXCHANGE_PATH):
            await self._pass_on(scope, body, receive, send, people)
        elif people and body is not None and scope["path"].startswith(PEOPLE):
            answer = await asyncio.get_running_loop().run_in_executor(
                self._workers, people.respond, _read_head(scope), body
            )
            await _respond(send, answer.status, answer.body, keep_open=True)
        elif body is not None:
            if scope["path"] == _DEACTIVATE and self._mailboxes is not None:
                self._mailboxes.disconnect(self._read_node(scope) or 0)
            await self._app(scope, _replay(body, receive), send)

    async def _pass_on(
        self, scope: Scope, body: bytes, receive: Receive, send: Send, people: PeopleCalls | None
    ) -> None:
        """Take a message or a response into memory, or wait there for one. The connection stays
        open. What a person waited for is sent only if the person still may have it.
        """
        node, path, boxes = self._read_node(scope), scope["path"], self._mailboxes
        if boxes is None or (node is None and path != EXCHANGE_PATH):
            await _respond(send, 404)
            return
        answer: Any = b""
        try:
            if path == WAIT_PATH:
                wanted = direct_messages.unpack(body, direct_messages.WaitRequest)
                answer = await boxes.wait(node or 0, wanted, receive)
            elif path == EXCHANGE_PATH:
                asked = direct_messages.unpack(body, direct_messages.ExchangeRequest)
                answer = await boxes.exchange(asked, receive)
            elif not boxes.take_reply(
                node or 0, direct_messages.unpack(body, direct_messages.Reply)
            ):
                await _respond(send, 409)
                return
        except ValueError:
            await _respond(send, 400)
            return
        if people is not None:
            try:
                await asyncio.to_thread(people.authorise, _read_head(scope))
            except RequestRefused as refusal:
                await _respond(send, refusal.status, refusal.body)
                return
        if answer is not None:
            data = answer if isinstance(answer, bytes) else direct_messages.pack(answer)
            await _respond(send, 200, data, keep_open=True)

    def _read_node(self, scope: Scope) -> int | None:
        """Flower's id of the site that a signed request comes from."""
        key = _read_headers(scope).get(FLEET_HTTP_PUBLIC_KEY_HEADER, "")
        return self._find_node(b64decode(key)) if key else None

    def _find_people(self, scope: Scope) -> PeopleCalls | None:
        """Who decides about a request if a person makes it: a call to the server, or messages of a
        run that come without the server's own secret.
        """
        is_call = scope["path"].startswith(PEOPLE)
        is_carried = scope["path"].startswith(_RUNTIME) and _find_certificate(scope) is not None
        if scope["method"] != "POST" or not (is_call or is_carried):
            return None
        return self._people

    async def _authorise_person(self, people: PeopleCalls, scope: Scope) -> int:
        """Return how many bytes the body of a person's request may have."""
        head = _read_head(scope)
        limit = await asyncio.to_thread(people.authorise, head)
        self._on_authenticated(scope.get("client"), head.certificate)
        return limit

    async def _authorise(self, scope: Scope) -> int:
        """Return how many bytes the body may have; raise if the request is not allowed."""
        path, headers = scope["path"], _read_headers(scope)
        call = path.removeprefix(_SITES) if path.startswith(_SITES) else None
        if scope["method"] != "POST" or not (path.startswith(_SERVER) or call in _SITE_CALLS):
            raise RequestRefused(404)
        if call is None:
            if not hmac.compare_digest(headers.get(SECRET_HEADER, "").encode(), self._secret):
                raise RequestRefused(401)
            self._on_authenticated(scope.get("client"), b"")
            return self._body_limit
        # This may query a database, so it must not block the event loop.
        if not await asyncio.to_thread(self._is_signed_by_site, headers):
            raise RequestRefused(401)
        self._on_authenticated(scope.get("client"), headers[FLEET_HTTP_PUBLIC_KEY_HEADER])
        return _SITE_CALLS[call] or self._body_limit

    def _is_signed_by_site(self, headers: dict[str, str]) -> bool:
        """Whether the head carries a recent signature by a registered key."""
        try:
            public_key = b64decode(headers[FLEET_HTTP_PUBLIC_KEY_HEADER], validate=True)
            signature = b64decode(headers[FLEET_HTTP_SIGNATURE_HEADER], validate=True)
            signed_at = headers[TIMESTAMP_HEADER]
            age = (now() - datetime.fromisoformat(signed_at)).total_seconds()
            if (
                not -SYSTEM_TIME_TOLERANCE < age < TIMESTAMP_TOLERANCE + SYSTEM_TIME_TOLERANCE
                or not self._is_registered(public_key)
            ):
                return False
            if self._verified.get(public_key) == (signed_at, signature):
                return True
            if not verify_signature(
                bytes_to_public_key(public_key), signed_at.encode("ascii"), signature
            ):
                return False
            self._verified[public_key] = signed_at, signature
            return True
        except (KeyError, ValueError, TypeError):
            return False


def _find_certificate(scope: Scope) -> bytes | None:
    found: bytes | None = scope.get("extensions", {}).get(CERTIFICATE)
    return found


def _read_head(scope: Scope) -> Head:
    client = scope.get("client")
    address = str(client[0]) if client else "unknown"
    return Head(scope["path"], _read_headers(scope), address, _find_certificate(scope))


def _read_headers(scope: Scope) -> dict[str, str]:
    """Headers of a request; a header that is given twice is ignored."""
    found: dict[str, str] = {}
    repeated = set()
    for name, value in scope["headers"]:
        key = name.decode("latin-1").lower()
        repeated.update({key} & found.keys())
        found[key] = value.decode("latin-1")
    return {key: value for key, value in found.items() if key not in repeated}


async def _read_body(headers: dict[str, str], receive: Receive, limit: int) -> bytes | None:
    """Read the body, or return None if the peer disconnected; refuse one that is too long or too
    slow.
    """
    stated = headers.get("content-length", "0")
    if (
        not stated.isdecimal()
        or len(stated) > 20
        or int(stated) > limit
        or "content-encoding" in headers
    ):
        raise RequestRefused(413)
    parts: list[bytes] = []
    length = 0
    started = asyncio.get_running_loop().time()
    while True:
        allowed = (
            _IDLE_SECONDS
            + length / _MIN_BYTES_PER_SECOND
            - (asyncio.get_running_loop().time() - started)
        )
        try:
            async with asyncio.timeout(min(allowed, _IDLE_SECONDS)):
                event = await receive()
        except TimeoutError:
            raise RequestRefused(408) from None
        if event["type"] == "http.disconnect":
            return None
        parts.append(event.get("body", b""))
        length += len(parts[-1])
        if length > limit:
            raise RequestRefused(413)
        if not event.get("more_body", False):
            return b"".join(parts)


def _check_responses(body: bytes) -> None:
    """Refuse responses in the name of another site, and responses with more objects than a message
    has.

    Flower authenticates the sender but does not check the source of a response, and stores every
    object that a response announces.
    """
    try:
        request = PushMessagesRequest.FromString(body)
    except DecodeError:
        raise RequestRefused(400) from None
    if any(
        message.metadata.src_node_id != request.node.node_id for message in request.messages_list
    ):
        raise RequestRefused(403)
    if (
        len(request.message_object_trees) > 1
        or sum(map(_count_objects, request.message_object_trees)) > MAX_OBJECTS
    ):
        raise RequestRefused(413)


def _count_objects(tree: ObjectTree) -> int:
    return 1 + sum(map(_count_objects, tree.children))


def _replay(body: bytes, receive: Receive) -> Receive:
    """Receive a body that was read already, then whatever the connection sends."""
    waiting = [body]

    async def again() -> MutableMapping[str, Any]:
        if waiting:
            return {"type": "http.request", "body": waiting.pop(), "more_body": False}
        return await receive()

    return again


async def _respond(send: Send, status: int, body: bytes = b"", *, keep_open: bool = False) -> None:
    """Respond, and by default close the connection without waiting for an unread body."""
    headers = [(b"content-length", b"%d" % len(body))]
    if not keep_open:
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
