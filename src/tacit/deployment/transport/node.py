"""A site's side: a loop in the site's own process that fetches letters, hands them to the site and
takes its answers back.

Nothing that a server sends is run. Where Flower's SuperNode would fetch an app and start a process
for each message, this loop knows one thing to do with a letter: give its bytes to a function of
ours.
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

from tacit.deployment.transport.fleet import Fleet, Refused, Stopped
from tacit.deployment.transport.letters import Arrival, answer_metadata, check_question, parcel
from tacit.deployment.transport.quiet import keep_quiet
from tacit.deployment.transport.tls import private_folder, read_private
from tacit.errors import PeerError, WireError
from tacit.files import UNFINISHED

KEY = "node.key"
"""A site's private key in its folder, where no other is named."""

_OPEN = "open.letter"
"""How far the letter has come that a site is working on; it is left behind if the site is killed.
"""
_BUSY, _IDLE = 0.2, 1.0
_BUSY_SECONDS = 30.0
_PART_SECONDS = 60.0


class _Open(msgspec.Struct, array_like=True):
    """A letter that was fetched: the head of the question, and, once there is one, the answer and
    when it was written.
    """

    question: bytes
    answer: bytes | None = None
    created: float = 0.0


class Node:
    """A site at its server: `root_certificate` is the server's authority (None: no TLS, this
    machine only), `key` the site's own.

    `folder` is the site's; it keeps Flower's number for the site, so that a site that was killed
    can rejoin at once. `largest` limits the bytes of a letter.
    """

    def __init__(
        self,
        *,
        address: str,
        root_certificate: Path | None,
        key: Path | None,
        folder: Path,
        largest: int,
    ) -> None:
        private_folder(folder)
        keep_quiet(folder)
        self._largest = largest
        self._open = folder / _OPEN
        self._fleet = Fleet(address, root_certificate, _private_key(key or folder / KEY), folder)

    def run(
        self,
        handle: Callable[[bytes], bytes],
        stop: threading.Event,
        on_state: Callable[[str], None] = lambda state: None,
    ) -> None:
        """Answer letters until `stop` is set; reconnect by itself. Raise PeerError if the server
        does not let this site in.

        `handle` gets each letter, possibly more than once, and returns the answer. If it raises,
        the error goes on to the caller, and the server learns no more than that this site left.
        `on_state` is told in words what the site is doing: joining, online, working, and what
        begins with unreachable:, waiting: or refused a letter:. A node runs once.
        """
        with self._fleet.used(stop, on_state):
            while not stop.is_set():
                with contextlib.suppress(Refused, Stopped), self._fleet.online():
                    self._give_back()
                    self._answer_letters(handle, stop)
                stop.wait(_IDLE)

    def _answer_letters(self, handle: Callable[[bytes], bytes], stop: threading.Event) -> None:
        busy_until = time.monotonic() + _BUSY_SECONDS
        pause = _BUSY
        while not stop.is_set():
            pulled = self._fleet.call(
                self._fleet.client.PullMessages, PullMessagesRequest(node=self._fleet.node)
            )
            for question, tree in zip(
                pulled.messages_list, pulled.message_object_trees, strict=False
            ):
                # Where the server wants no answer any more, it is dropped; it asks again if it
                # does.
                with contextlib.suppress(Refused):
                    self._answer(question, tree, handle, stop)
                self._fleet.tell("online")
                busy_until = time.monotonic() + _BUSY_SECONDS
            if not pulled.messages_list:
                pause = _BUSY if time.monotonic() < busy_until else min(pause * 1.5, _IDLE)
                stop.wait(pause)

    def _answer(
        self,
        question: WireMessage,
        tree: ObjectTree,
        handle: Callable[[bytes], bytes],
        stop: threading.Event,
    ) -> None:
        try:
            check_question(question, self._fleet.node.node_id)
        except WireError as error:
            self._fleet.tell(f"refused a letter: {error}")
            return
        self._keep(_Open(question.SerializeToString()))
        try:
            letter = self._letter(question, tree, stop)
        except WireError as error:
            self._fleet.tell(f"refused a letter: {error}")
            self._push(question, None, time.time())
        else:
            self._fleet.tell("working")
            answered = _Open(question.SerializeToString(), handle(letter), time.time())
            self._keep(answered)
            self._push(question, answered.answer, answered.created)
        self._open.unlink()
        received = ConfirmMessageReceivedRequest(
            node=self._fleet.node,
            run_id=question.metadata.run_id,
            message_object_id=question.metadata.message_id,
        )
        self._fleet.call(self._fleet.client.ConfirmMessageReceived, received)

    def _keep(self, letter: _Open) -> None:
        """Write down how far a letter has come; not forced onto the disk, since a machine that
        fails is told by its silence.
        """
        fresh = self._open.with_suffix(UNFINISHED)
        fresh.write_bytes(msgspec.msgpack.encode(letter))
        fresh.replace(self._open)

    def _give_back(self) -> None:
        """Finish a letter from before a kill: send its answer if there was one, or else word that
        there is none.
        """
        if not self._open.exists():
            return
        with contextlib.suppress(WireError, DecodeError, msgspec.DecodeError, Refused):
            left = msgspec.msgpack.decode(self._open.read_bytes(), type=_Open)
            question = WireMessage.FromString(left.question)
            check_question(question, self._fleet.node.node_id)
            self._push(question, left.answer, left.created or time.time())
        self._open.unlink()

    def _letter(self, question: WireMessage, tree: ObjectTree, stop: threading.Event) -> bytes:
        """Return a letter once all of it is there."""

        def pulled(name: str) -> bytes | None:
            request = PullObjectRequest(
                node=self._fleet.node, run_id=question.metadata.run_id, object_id=name
            )
            found = self._fleet.call(self._fleet.client.PullObject, request)
            if not found.object_found:
                raise WireError("a part of a letter is gone")
            return bytes(found.object_content) if found.object_available else None

        arrival = Arrival(tree, pulled, self._largest)
        deadline = time.monotonic() + _PART_SECONDS
        while (letter := arrival.take()) is None:
            if stop.wait(0.02):
                raise Stopped
            if time.monotonic() > deadline:
                raise WireError("a part of a letter did not come")
        return letter

    def _push(self, question: WireMessage, answer: bytes | None, created: float) -> None:
        """Send an answer; None says that there is none. Sent again, what has arrived is not sent
        twice.
        """
        ready = parcel(answer_metadata(question, created), answer)
        request = PushMessagesRequest(
            node=self._fleet.node,
            messages_list=[ready.head],
            message_object_trees=[ready.tree],
        )
        pushed = self._fleet.call(self._fleet.client.PushMessages, request)
        for name in pushed.objects_to_push:
            part = PushObjectRequest(
                node=self._fleet.node,
                run_id=question.metadata.run_id,
                object_id=name,
                object_content=ready.objects[name].deflate(),
                session_id=pushed.session_id,
            )
            self._fleet.call(self._fleet.client.PushObject, part)


def _private_key(path: Path) -> ec.EllipticCurvePrivateKey:
    try:
        key = load_pem_private_key(read_private(path), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise PeerError(
            f"{path}: needs to hold a site's private key, and does not; make one with `tacit site"
            " init`"
        )
    return key
