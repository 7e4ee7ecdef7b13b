"""A site's connection to its server: joining, staying online, and calls that wait while the server
is away.
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

from tacit.deployment.transport.client import connected, explained, is_passing, version_headers
from tacit.deployment.transport.place import NODE_LOCK
from tacit.errors import PeerError
from tacit.files import replace_file

_NODE = "node.json"
_PAUSE, _LONGEST_PAUSE = 0.2, 1.0
_ONLINE_SECONDS = 70.0
_Request = TypeVar("_Request")
_Answer = TypeVar("_Answer")


class Refused(Exception):  # noqa: N818 - the server wants none of this now; no error of ours
    """The server does not take a request."""


class Stopped(Exception):  # noqa: N818 - no error
    """The site was asked to stop while it waited."""


class Fleet:
    """The server as a site sees it. `tell` is told in words what the site is doing."""

    def __init__(
        self,
        address: str,
        root_certificate: Path | None,
        key: ec.EllipticCurvePrivateKey,
        folder: Path,
    ) -> None:
        self._address = address
        self._folder = folder
        self._public = public_key_to_bytes(key.public_key())
        interceptors: list[ProtobufClientInterceptor] = [
            version_headers("SuperNode"),
            NodeAuthHttpInterceptor(key, key.public_key()),
        ]
        self.client = connected(FleetHttpClient, address, root_certificate, interceptors)
        self.node = WireNode()
        self._stop = threading.Event()
        self._on_state: Callable[[str], None] = lambda state: None
        self._state = ""

    @contextlib.contextmanager
    def used(self, stop: threading.Event, on_state: Callable[[str], None]) -> Iterator[None]:
        """Use the connection, in this process alone: a second one for the same site would take
        letters from the first.
        """
        self._stop, self._on_state = stop, on_state
        with (self._folder / NODE_LOCK).open("w") as lock, self.client:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise PeerError(
                    f"{self._folder}: another process already acts for this site; stop it first"
                ) from None
            yield

    @contextlib.contextmanager
    def online(self) -> Iterator[None]:
        """Be online for a while: join, say every now and then that this site is there, also while
        it works, and say goodbye.
        """
        self._join()
        heart = HeartbeatSender(self._beat)
        heart.start()
        try:
            yield
        finally:
            heart.stop()
            with contextlib.suppress(httpx.HTTPError, PeerError):
                self.client.DeactivateNode(DeactivateNodeRequest(node_id=self.node.node_id))

    def call(self, method: Callable[[_Request], _Answer], request: _Request) -> _Answer:
        """Call the server, again and again while it is away; one that does not know this site is an
        error at once.
        """
        pause = _PAUSE
        before = self._state
        while True:
            try:
                answer = method(request)
                if self._state != before:
                    self._beat()
                    self.tell(before)
                return answer
            except ValueError:
                raise PeerError(
                    f"server {self._address} gave an answer that cannot be read; is it a Tacit"
                    " server?"
                ) from None
            except httpx.HTTPStatusError as error:
                if error.response.status_code == httpx.codes.UNAUTHORIZED:
                    raise PeerError(
                        f"server {self._address} does not know this site's key, or the clocks"
                        " differ by more than 5 seconds; send the .pub file to the server's"
                        " operator"
                    ) from None
                if not is_passing(error):
                    raise Refused from None
            except httpx.HTTPError as error:
                if not is_passing(error):
                    raise explained(error, self._address) from None
            self.tell("unreachable: the server is away; trying again")
            if self._stop.wait(pause):
                raise Stopped
            pause = min(pause * 1.5, _LONGEST_PAUSE)

    def tell(self, state: str) -> None:
        """Tell what the site is doing, if it is something new."""
        if state != self._state:
            self._state = state
            self._on_state(state)

    def _join(self) -> None:
        """Become online. Flower takes a key for online for a minute after its node died, so the old
        connection is ended first.
        """
        self.tell("joining")
        number = self._number()
        if number is not None:
            with contextlib.suppress(Refused, PeerError):
                self.call(self.client.DeactivateNode, DeactivateNodeRequest(node_id=number))
        request = ActivateNodeRequest(
            public_key=self._public, heartbeat_interval=HEARTBEAT_DEFAULT_INTERVAL
        )
        deadline = time.monotonic() + _ONLINE_SECONDS
        while True:
            try:
                self.node = WireNode(node_id=self.call(self.client.ActivateNode, request).node_id)
                break
            except Refused:
                if time.monotonic() > deadline:
                    raise PeerError(
                        f"server {self._address} takes this site for another that is online with"
                        " the same key"
                    ) from None
            self.tell("waiting: the server still takes this site for online")
            if self._stop.wait(2.0):
                raise Stopped
        replace_file(self._folder / _NODE, json.dumps({"node_id": str(self.node.node_id)}).encode())
        self.tell("online")

    def _beat(self) -> bool:
        request = SendNodeHeartbeatRequest(
            node=self.node, heartbeat_interval=HEARTBEAT_DEFAULT_INTERVAL
        )
        try:
            return self.client.SendNodeHeartbeat(request).success
        except (httpx.HTTPError, PeerError, ValueError):
            return False

    def _number(self) -> int | None:
        """Return Flower's number for this site from the last time, if it is known."""
        try:
            return int(json.loads((self._folder / _NODE).read_text())["node_id"])
        except (OSError, ValueError, KeyError, TypeError):
            return None
