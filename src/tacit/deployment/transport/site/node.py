"""A site's end of the transport: a loop that fetches requests, passes them to the site and returns
its responses.

Nothing that a server sends is executed. Flower's SuperNode would fetch an app and start a process
for each message; this loop passes the bytes of a message to one function of Tacit.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from flwr.proto.fleet_pb2 import PullMessagesRequest, PushMessagesRequest
from flwr.proto.message_pb2 import (
    ConfirmMessageReceivedRequest,
    ObjectTree,
    PullObjectRequest,
    PushObjectRequest,
)
from flwr.proto.message_pb2 import Message as WireMessage
from google.protobuf.message import DecodeError

from tacit.deployment.transport.certificates import make_private_folder, read_private
from tacit.deployment.transport.direct_messages import MAX_DIRECT_BYTES, Delivery, Reply
from tacit.deployment.transport.flower_log import redirect_flower_log
from tacit.deployment.transport.flower_messages import (
    IncomingMessage,
    build_response_metadata,
    check_request,
    pack_message,
)
from tacit.deployment.transport.site.listener import RequestListener, Unsupported
from tacit.deployment.transport.site.server_connection import (
    RequestDenied,
    ServerConnection,
    StopRequested,
)
from tacit.errors import PeerError, WireError
from tacit.files import UNFINISHED

KEY = "node.key"
"""The site's private key in its folder, if no other file is named."""

_PENDING = "open.letter"
"""The request that the site is working on; the file remains if the site is killed."""
_BUSY, _IDLE = 0.2, 1.0
_BUSY_SECONDS = 30.0
_ARRIVAL_SECONDS = 60.0


class _PendingRequest(msgspec.Struct, array_like=True):
    """A fetched request: its head, and once there is one the response and its creation time."""

    request_head: bytes
    response: bytes | None = None
    created: float = 0.0


class Node:
    """A site and its connection to the server.

    `root_certificate` is that of the server's authority (None: no TLS, this machine only), `key`
    the site's own private key. `folder` is the site's; it keeps Flower's node id, so that a killed
    site can rejoin at once. `max_bytes` limits a message. `proxy` is that of `site.toml`.
    """

    def __init__(
        self,
        *,
        address: str,
        root_certificate: Path | None,
        key: Path | None,
        folder: Path,
        max_bytes: int,
        proxy: str | None = None,
    ) -> None:
        make_private_folder(folder)
        redirect_flower_log(folder)
        self._max_bytes = max_bytes
        self._pending = folder / _PENDING
        self._server = ServerConnection(
            address, root_certificate, _load_private_key(key or folder / KEY), folder, proxy
        )

    def run(
        self,
        handle: Callable[[bytes], bytes],
        stop: threading.Event,
        on_state: Callable[[str], None] = lambda state: None,
    ) -> None:
        """Respond to requests until `stop` is set; reconnect when the connection is lost. A node
        runs once.

        `handle` receives each message, possibly more than once, and returns the response. If it
        raises, the error reaches the caller, and the server learns only that this site left.
        `on_state` receives the site's state: joining, online, working, or a text that begins with
        unreachable:, waiting: or refused a message:. PeerError means that the server does not admit
        this site.
        """
        with self._server.use_exclusively(stop, on_state):
            while not stop.is_set():
                with contextlib.suppress(RequestDenied, StopRequested), self._server.stay_online():
                    self._finish_pending()
                    self._serve_requests(handle, stop)
                stop.wait(_IDLE)

    def _serve_requests(self, handle: Callable[[bytes], bytes], stop: threading.Event) -> None:
        listener = RequestListener(self._server)
        try:
            with listener.listening():
                while True:
                    delivery = listener.next(stop)
                    while delivery.look_in_store and self._serve_stored(handle, stop):
                        pass
                    if delivery.mark:
                        self._respond_directly(delivery, handle)
                        listener.release(delivery)
        except Unsupported:
            self._server.send_heartbeats()
            self._poll_store(handle, stop)

    def _poll_store(self, handle: Callable[[bytes], bytes], stop: threading.Event) -> None:
        """Ask Flower's store for messages again and again."""
        busy_until = time.monotonic() + _BUSY_SECONDS
        pause = _BUSY
        while not stop.is_set():
            if self._serve_stored(handle, stop):
                busy_until = time.monotonic() + _BUSY_SECONDS
            else:
                pause = _BUSY if time.monotonic() < busy_until else min(pause * 1.5, _IDLE)
                stop.wait(pause)

    def _serve_stored(self, handle: Callable[[bytes], bytes], stop: threading.Event) -> bool:
        """Respond to the messages that Flower's store has next; False if there is none."""
        pulled = self._server.call(
            self._server.client.PullMessages, PullMessagesRequest(node=self._server.node)
        )
        for request_head, tree in zip(
            pulled.messages_list, pulled.message_object_trees, strict=False
        ):
            # A response that the server no longer wants is dropped; the server may ask again.
            with contextlib.suppress(RequestDenied):
                self._respond(request_head, tree, handle, stop)
            self._server.report_state("online")
        return bool(pulled.messages_list)

    def _respond_directly(self, delivery: Delivery, handle: Callable[[bytes], bytes]) -> None:
        """Respond to a message from the server's memory. A long response makes the server send the
        message again through Flower's store.
        """
        if len(delivery.message) > self._max_bytes:
            self._server.report_state(
                f"refused a message: it has more than {self._max_bytes} bytes"
            )
            reply = Reply(delivery.mark)
        else:
            self._server.report_state("working")
            response = handle(delivery.message)
            is_long = len(response) > MAX_DIRECT_BYTES
            reply = Reply(delivery.mark, None if is_long else response, is_long)
        with contextlib.suppress(RequestDenied):
            self._server.send_reply(reply)
        self._server.report_state("online")

    def _respond(
        self,
        request_head: WireMessage,
        tree: ObjectTree,
        handle: Callable[[bytes], bytes],
        stop: threading.Event,
    ) -> None:
        try:
            check_request(request_head, self._server.node.node_id)
        except WireError as error:
            self._server.report_state(f"refused a message: {error}")
            return
        self._store_pending(_PendingRequest(request_head.SerializeToString()))
        try:
            message = self._fetch_message(request_head, tree, stop)
        except WireError as error:
            self._server.report_state(f"refused a message: {error}")
            self._push_response(request_head, None, time.time())
        else:
            self._server.report_state("working")
            pending = _PendingRequest(
                request_head.SerializeToString(), handle(message), time.time()
            )
            self._store_pending(pending)
            self._push_response(request_head, pending.response, pending.created)
        self._pending.unlink()
        received = ConfirmMessageReceivedRequest(
            node=self._server.node,
            run_id=request_head.metadata.run_id,
            message_object_id=request_head.metadata.message_id,
        )
        self._server.call(self._server.client.ConfirmMessageReceived, received)

    def _store_pending(self, message: _PendingRequest) -> None:
        """Store the progress of a request. No fsync: after a power failure the server sees the site
        go offline.
        """
        fresh = self._pending.with_suffix(UNFINISHED)
        fresh.write_bytes(msgspec.msgpack.encode(message))
        fresh.replace(self._pending)

    def _finish_pending(self) -> None:
        """Respond to a request from before a kill: with the stored response, or with an error if
        there is none.
        """
        if not self._pending.exists():
            return
        with contextlib.suppress(WireError, DecodeError, msgspec.DecodeError, RequestDenied):
            pending = msgspec.msgpack.decode(self._pending.read_bytes(), type=_PendingRequest)
            request_head = WireMessage.FromString(pending.request_head)
            check_request(request_head, self._server.node.node_id)
            self._push_response(request_head, pending.response, pending.created or time.time())
        self._pending.unlink()

    def _fetch_message(
        self, request_head: WireMessage, tree: ObjectTree, stop: threading.Event
    ) -> bytes:
        """Wait until the whole message has arrived."""

        def pull(name: str) -> bytes | None:
            request = PullObjectRequest(
                node=self._server.node, run_id=request_head.metadata.run_id, object_id=name
            )
            found = self._server.call(self._server.client.PullObject, request)
            if not found.object_found:
                raise WireError("the server no longer has a part of the message")
            return bytes(found.object_content) if found.object_available else None

        incoming = IncomingMessage(tree, pull, self._max_bytes)
        deadline = time.monotonic() + _ARRIVAL_SECONDS
        while (message := incoming.read()) is None:
            if stop.wait(0.02):
                raise StopRequested
            if time.monotonic() > deadline:
                raise WireError(f"the message did not arrive within {_ARRIVAL_SECONDS:.0f} s")
        return message

    def _push_response(
        self, request_head: WireMessage, response: bytes | None, created: float
    ) -> None:
        """Send a response; None sends an error without details. Objects that the server already has
        are not sent again.
        """
        packed = pack_message(build_response_metadata(request_head, created), response)
        request = PushMessagesRequest(
            node=self._server.node,
            messages_list=[packed.head],
            message_object_trees=[packed.tree],
        )
        pushed = self._server.call(self._server.client.PushMessages, request)
        for name in pushed.objects_to_push:
            part = PushObjectRequest(
                node=self._server.node,
                run_id=request_head.metadata.run_id,
                object_id=name,
                object_content=packed.objects[name].deflate(),
                session_id=pushed.session_id,
            )
            self._server.call(self._server.client.PushObject, part)


def _load_private_key(path: Path) -> ec.EllipticCurvePrivateKey:
    try:
        key = load_pem_private_key(read_private(path), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise PeerError(f"{path} is not a site's private key; make one with `tacit site init`")
    return key
