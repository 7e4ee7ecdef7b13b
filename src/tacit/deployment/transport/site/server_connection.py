"""A site's connection to its server: joining, staying online, and calls that wait while the server
is unreachable.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import httpx
from cryptography.hazmat.primitives.asymmetric import ec
from flwr.common.constant import HEARTBEAT_DEFAULT_INTERVAL
from flwr.proto.fleet_pb2 import ActivateNodeRequest, DeactivateNodeRequest
from flwr.proto.heartbeat_pb2 import SendNodeHeartbeatRequest
from flwr.proto.node_pb2 import Node as WireNode
from flwr.supercore.heartbeat import HeartbeatSender
from flwr.supercore.primitives.asymmetric import public_key_to_bytes
from flwr.supercore.protobuf.client import ProtobufClientInterceptor
from flwr.supernode.fleet_http_client import FleetHttpClient
from flwr.supernode.node_auth_http_interceptor import NodeAuthHttpInterceptor

from tacit.deployment.transport import direct_messages
from tacit.deployment.transport.direct_messages import (
    REPLY_PATH,
    WAIT_PATH,
    Delivery,
    Reply,
    WaitRequest,
)
from tacit.deployment.transport.http_client import (
    connect,
    explain_error,
    is_transient,
    version_headers,
)
from tacit.deployment.transport.proxy import describe_route, find_proxy
from tacit.deployment.transport.server.endpoint import NODE_LOCK
from tacit.errors import PeerError
from tacit.files import replace_file

_NODE = "node.json"
_PAUSE, _LONGEST_PAUSE = 0.2, 1.0
_ONLINE_SECONDS = 70.0
_Request = TypeVar("_Request")
_Response = TypeVar("_Response")


class RequestDenied(Exception):  # noqa: N818 - no error of ours
    """The server does not accept a request at the moment."""


class StopRequested(Exception):  # noqa: N818 - no error
    """The site was asked to stop while it waited."""


class ServerConnection:
    """A site's connection to its server; it reports the site's state in words."""

    def __init__(
        self,
        address: str,
        root_certificate: Path | None,
        key: ec.EllipticCurvePrivateKey,
        folder: Path,
        proxy: str | None = None,
    ) -> None:
        route = find_proxy(address, proxy)
        self._address = describe_route(address, route)
        self._folder = folder
        self._public = public_key_to_bytes(key.public_key())
        interceptors: list[ProtobufClientInterceptor] = [
            version_headers("SuperNode"),
            NodeAuthHttpInterceptor(key, key.public_key()),
        ]
        self.client = connect(FleetHttpClient, address, root_certificate, interceptors, proxy=route)
        self._through = f" through the proxy {route.shown}" if route else ""
        self.node = WireNode()
        self._stop = threading.Event()
        self._on_state: Callable[[str], None] = lambda state: None
        self._lock = threading.Lock()
        self._state = self._shown = ""
        self._heartbeat: HeartbeatSender | None = None

    @contextlib.contextmanager
    def use_exclusively(
        self, stop: threading.Event, on_state: Callable[[str], None]
    ) -> Iterator[None]:
        """Use the connection in this process only.

        A second process for the same site would take requests from the first.
        """
        self._stop, self._on_state = stop, on_state
        with (self._folder / NODE_LOCK).open("w") as lock, self.client:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise PeerError(
                    f"{self._folder}: another process already acts for this site; stop it with `tacit"
                    " site leave`"
                ) from None
            yield

    @contextlib.contextmanager
    def stay_online(self) -> Iterator[None]:
        """Join, and leave when the block ends."""
        self._join()
        try:
            yield
        finally:
            if self._heartbeat is not None:
                self._heartbeat.stop()
                self._heartbeat = None
            with contextlib.suppress(httpx.HTTPError, PeerError):
                self.client.DeactivateNode(DeactivateNodeRequest(node_id=self.node.node_id))

    def call(self, method: Callable[[_Request], _Response], request: _Request) -> _Response:
        """Call the server; retry while it is unreachable. A server that does not know this site's
        key is an error at once.
        """
        pause, was_lost = _PAUSE, False
        while True:
            try:
                response = method(request)
                if was_lost:
                    self._send_heartbeat()
                    self._show(self._state)
                return response
            except ValueError:
                raise PeerError(
                    f"server {self._address} sent an unreadable response; check that the"
                    " address is that of a Tacit server"
                ) from None
            except httpx.HTTPStatusError as error:
                if error.response.status_code == httpx.codes.UNAUTHORIZED:
                    raise PeerError(
                        f"server {self._address} does not know this site's key, or the clocks"
                        " differ by more than 5 seconds; send the site's .request file to the"
                        " server's operator"
                    ) from None
                if not is_transient(error):
                    raise RequestDenied from None
            except httpx.HTTPError as error:
                if not is_transient(error):
                    raise explain_error(error, self._address) from None
            was_lost = True
            self._show(f"unreachable: the server does not respond{self._through}; trying again")
            if self._stop.wait(pause):
                raise StopRequested
            pause = min(pause * 1.5, _LONGEST_PAUSE)

    def report_state(self, state: str) -> None:
        """Report what the site is doing, if it changed."""
        self._state = state
        self._show(state)

    def wait_for_message(self, held: list[str]) -> Delivery | None:
        """Wait some seconds for a message from the server's memory; None if the server is of a
        version that has none. `held` are the ids of the messages that the site is working on.
        """
        body = direct_messages.pack(WaitRequest(held))
        found = self.call(lambda data: direct_messages.post(self.client, WAIT_PATH, data), body)
        return None if found is None else direct_messages.unpack(found, Delivery)

    def send_reply(self, reply: Reply) -> None:
        """Send a response. RequestDenied means that the server no longer wants it."""
        body = direct_messages.pack(reply)
        self.call(lambda data: direct_messages.post(self.client, REPLY_PATH, data), body)

    def send_heartbeats(self) -> None:
        """Send heartbeats from now on: nothing else tells the server that the site is online."""
        if self._heartbeat is None:
            self._heartbeat = HeartbeatSender(self._send_heartbeat)
            self._heartbeat.start()

    def _show(self, state: str) -> None:
        with self._lock:
            if state != self._shown:
                self._shown = state
                self._on_state(state)

    def _join(self) -> None:
        """Go online.

        Flower counts a killed node as online for a minute, so the earlier connection is ended
        first.
        """
        self.report_state("joining")
        node_id = self._read_node_id()
        if node_id is not None:
            with contextlib.suppress(RequestDenied, PeerError):
                self.call(self.client.DeactivateNode, DeactivateNodeRequest(node_id=node_id))
        request = ActivateNodeRequest(
            public_key=self._public, heartbeat_interval=HEARTBEAT_DEFAULT_INTERVAL
        )
        deadline = time.monotonic() + _ONLINE_SECONDS
        while True:
            try:
                self.node = WireNode(node_id=self.call(self.client.ActivateNode, request).node_id)
                break
            except RequestDenied:
                if time.monotonic() > deadline:
                    raise PeerError(
                        f"server {self._address} reports that a site with the same key is online;"
                        " stop the other process, or make a new key"
                    ) from None
            self.report_state(
                "waiting: the server still counts an earlier connection of this site as online"
            )
            if self._stop.wait(2.0):
                raise StopRequested
        replace_file(self._folder / _NODE, json.dumps({"node_id": str(self.node.node_id)}).encode())
        self.report_state("online")

    def _send_heartbeat(self) -> bool:
        request = SendNodeHeartbeatRequest(
            node=self.node, heartbeat_interval=HEARTBEAT_DEFAULT_INTERVAL
        )
        try:
            return self.client.SendNodeHeartbeat(request).success
        except (httpx.HTTPError, PeerError, ValueError):
            return False

    def _read_node_id(self) -> int | None:
        """Flower's node id from the last connection, if there was one."""
        try:
            return int(json.loads((self._folder / _NODE).read_text())["node_id"])
        except (OSError, ValueError, KeyError, TypeError):
            return None
