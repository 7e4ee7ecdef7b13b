"""A site's side: a loop in the site's own process that fetches letters, hands them to the site and takes its answers back.

Nothing that a server sends is run. Where Flower's SuperNode would fetch an app and start a process for each message, this loop
knows one thing to do with a letter: give its bytes to a function of ours.
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
from flwr.proto.fleet_pb2 import ActivateNodeRequest, DeactivateNodeRequest, PullMessagesRequest, PushMessagesRequest
from flwr.proto.heartbeat_pb2 import SendNodeHeartbeatRequest
from flwr.proto.message_pb2 import ConfirmMessageReceivedRequest, ObjectTree, PullObjectRequest, PushObjectRequest
from flwr.proto.message_pb2 import Message as WireMessage
from flwr.proto.node_pb2 import Node as WireNode
from flwr.supercore.heartbeat import HeartbeatSender
from flwr.supercore.primitives.asymmetric import bytes_to_private_key, public_key_to_bytes
from flwr.supercore.protobuf.client import ProtobufClientInterceptor
from flwr.supernode.fleet_http_client import FleetHttpClient
from flwr.supernode.node_auth_http_interceptor import NodeAuthHttpInterceptor

from tacit.errors import PeerError, WireError
from tacit.files import replace_file
from tacit.flower.client import connected, explained, is_passing, version_headers
from tacit.flower.letters import Arrival, answer_metadata, parcel
from tacit.flower.quiet import keep_quiet
from tacit.flower.tls import private_folder, read_private

KEY = "node.key"
"""A site's private key, where no other is named."""

_NODE = "node.json"
_BUSY, _IDLE = 0.2, 1.0
_BUSY_SECONDS = 30.0
_PART_SECONDS = 60.0
_ONLINE_SECONDS = 70.0
_Request = TypeVar("_Request")
_Answer = TypeVar("_Answer")


class Node:
    """A site at its server: `root_certificate` is the server's authority (None: no TLS, this machine only), `key` the site's own.

    `folder` is the site's; it keeps Flower's number for the site, so that a site that was killed can rejoin at once. `largest`
    limits the bytes of a letter.
    """

    def __init__(self, *, address: str, root_certificate: Path | None, key: Path | None, folder: Path, largest: int) -> None:
        private_folder(folder)
        keep_quiet(folder)
        self._address = address
        self._folder = folder
        self._largest = largest
        private = _private_key(key or folder / KEY)
        self._public = public_key_to_bytes(private.public_key())
        interceptors: list[ProtobufClientInterceptor] = [
            version_headers("SuperNode"),
            NodeAuthHttpInterceptor(private, private.public_key()),
        ]
        self._client = connected(FleetHttpClient, address, root_certificate, interceptors)
        self._node = WireNode()
        self._stop = threading.Event()
        self._say: Callable[[str], None] = lambda state: None
        self._state = ""

    def run(
        self, handle: Callable[[bytes], bytes], stop: threading.Event, on_state: Callable[[str], None] = lambda state: None
    ) -> None:
        """Answer letters until `stop` is set; reconnect by itself. Raise PeerError if the server does not let this site in.

        `handle` gets each letter, possibly more than once, and returns the answer. If it raises, the error goes on to the caller,
        and the server learns no more than that this site left. `on_state` is told in words what the site is doing.
        """
        self._stop, self._say = stop, on_state
        with self._alone(), self._client:
            while not stop.is_set():
                with contextlib.suppress(_Refused, _Stopped):
                    self._join()
                    with self._beating():
                        self._answer_letters(handle)
                stop.wait(_IDLE)

    def _answer_letters(self, handle: Callable[[bytes], bytes]) -> None:
        busy_until = time.monotonic() + _BUSY_SECONDS
        pause = _BUSY
        while not self._stop.is_set():
            pulled = self._call(self._client.PullMessages, PullMessagesRequest(node=self._node))
            for question, tree in zip(pulled.messages_list, pulled.message_object_trees, strict=True):
                # Where the server wants no answer any more, it is dropped; it asks again if it does.
                with contextlib.suppress(_Refused):
                    self._answer(question, tree, handle)
                busy_until = time.monotonic() + _BUSY_SECONDS
            if pulled.messages_list:
                continue
            pause = _BUSY if time.monotonic() < busy_until else min(pause * 1.5, _IDLE)
            self._stop.wait(pause)

    def _answer(self, question: WireMessage, tree: ObjectTree, handle: Callable[[bytes], bytes]) -> None:
        started = time.monotonic()
        try:
            letter = self._letter(question, tree)
            if letter is None:
                return
        except WireError as error:
            self._tell(f"refused a letter: {error}")
            self._push(question, None, started)
            return
        self._tell("working")
        try:
            self._push(question, handle(letter), started)
        finally:
            self._tell("online")

    def _letter(self, question: WireMessage, tree: ObjectTree) -> bytes | None:
        """Return a letter once all of it is there; None if the rest of it never comes."""
        run = question.metadata.run_id

        def pulled(name: str) -> bytes | None:
            found = self._call(self._client.PullObject, PullObjectRequest(node=self._node, run_id=run, object_id=name))
            if not found.object_found:
                raise WireError("a part of a letter is gone")
            return bytes(found.object_content) if found.object_available else None

        arrival = Arrival(tree, pulled, self._largest)
        deadline = time.monotonic() + _PART_SECONDS
        while (letter := arrival.take()) is None:
            if self._stop.wait(0.02) or time.monotonic() > deadline:
                return None
        request = ConfirmMessageReceivedRequest(node=self._node, run_id=run, message_object_id=question.metadata.message_id)
        self._call(self._client.ConfirmMessageReceived, request)
        return letter

    def _push(self, question: WireMessage, answer: bytes | None, started: float) -> None:
        """Send an answer; None says that there is none."""
        ready = parcel(answer_metadata(question), answer)
        request = PushMessagesRequest(
            node=self._node,
            messages_list=[ready.head],
            message_object_trees=[ready.tree],
            clientapp_runtime_list=[time.monotonic() - started],
        )
        pushed = self._call(self._client.PushMessages, request)
        for name in pushed.objects_to_push:
            part = PushObjectRequest(
                node=self._node,
                run_id=question.metadata.run_id,
                object_id=name,
                object_content=ready.objects[name].deflate(),
                session_id=pushed.session_id,
            )
            self._call(self._client.PushObject, part)

    def _join(self) -> None:
        """Become online. Flower takes a key for online for a minute after its node died, so the old connection is ended first."""
        self._tell("joining")
        number = self._number()
        if number is not None:
            with contextlib.suppress(_Refused, PeerError):
                self._call(self._client.DeactivateNode, DeactivateNodeRequest(node_id=number))
        request = ActivateNodeRequest(public_key=self._public, heartbeat_interval=HEARTBEAT_DEFAULT_INTERVAL)
        deadline = time.monotonic() + _ONLINE_SECONDS
        while True:
            try:
                self._node = WireNode(node_id=self._call(self._client.ActivateNode, request).node_id)
                break
            except _Refused:
                if time.monotonic() > deadline:
                    raise PeerError(
                        f"server {self._address} takes this site for another that is online with the same key"
                    ) from None
            self._tell("waiting: the server still takes this site for online")
            if self._stop.wait(2.0):
                raise _Stopped
        replace_file(self._folder / _NODE, json.dumps({"node_id": str(self._node.node_id)}).encode())
        self._tell("online")

    def _call(self, method: Callable[[_Request], _Answer], request: _Request) -> _Answer:
        """Call the server, again and again while it is away; a server that does not know this site is an error at once."""
        pause = _BUSY
        before = self._state
        while True:
            try:
                answer = method(request)
                if self._state != before:
                    self._beat()
                    self._tell(before)
                return answer
            except ValueError:
                raise PeerError(f"server {self._address} gave an answer that cannot be read; is it a Tacit server?") from None
            except httpx.HTTPStatusError as error:
                if error.response.status_code == httpx.codes.UNAUTHORIZED:
                    raise PeerError(self._unknown()) from None
                if not is_passing(error):
                    raise _Refused from None
            except httpx.HTTPError as error:
                if not is_passing(error):
                    raise explained(error, self._address) from None
            self._tell("unreachable: the server is away; trying again")
            if self._stop.wait(pause):
                raise _Stopped
            pause = min(pause * 1.5, _IDLE)

    @contextlib.contextmanager
    def _beating(self) -> Iterator[None]:
        """Say every now and then that this site is there, also while it works; say goodbye at the end."""
        heart = HeartbeatSender(self._beat)
        heart.start()
        try:
            yield
        finally:
            heart.stop()
            with contextlib.suppress(httpx.HTTPError, PeerError):
                self._client.DeactivateNode(DeactivateNodeRequest(node_id=self._node.node_id))

    def _beat(self) -> bool:
        try:
            return self._client.SendNodeHeartbeat(
                SendNodeHeartbeatRequest(node=self._node, heartbeat_interval=HEARTBEAT_DEFAULT_INTERVAL)
            ).success
        except (httpx.HTTPError, PeerError, ValueError):
            return False

    def _unknown(self) -> str:
        return (
            f"server {self._address} does not know this site's key, or the clocks differ by more than 5 seconds; "
            "send the .pub file to the server's operator"
        )

    def _number(self) -> int | None:
        try:
            return int(json.loads((self._folder / _NODE).read_text())["node_id"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _tell(self, state: str) -> None:
        if state != self._state:
            self._state = state
            self._say(state)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Let no second process act for this site: each would take letters from the other."""
        with (self._folder / "node.lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise PeerError(f"{self._folder}: another process already acts for this site; stop it first") from None
            yield


class _Refused(Exception):  # noqa: N818 - the server wants none of this now; no error of ours
    pass


class _Stopped(Exception):  # noqa: N818 - no error
    pass


def _private_key(path: Path) -> ec.EllipticCurvePrivateKey:
    try:
        return bytes_to_private_key(read_private(path))
    except ValueError:
        raise PeerError(f"{path}: is no private key; make one with `tacit site init`") from None
