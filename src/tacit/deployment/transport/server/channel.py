"""The server's end of the transport: requests to sites by name, and their responses.

Flower takes this process for a server app that it started. The process starts a Flower run with an
empty app, acquires the task of that run itself, and exchanges messages under the token of the task.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import httpx
from flwr.common.constant import SUPERLINK_NODE_ID, SubStatus
from flwr.proto.message_pb2 import (
    ConfirmMessageReceivedRequest,
    PullObjectRequest,
    PushObjectRequest,
)
from flwr.proto.node_pb2 import Node as WireNode
from flwr.proto.runtime_pb2 import (
    GetNodesRequest,
    PullAppMessagesRequest,
    PullTaskInputRequest,
    PushAppMessagesRequest,
    PushTaskOutputRequest,
    SendTaskHeartbeatRequest,
)
from flwr.supercore.heartbeat import HeartbeatSender
from flwr.supercore.interceptors import RuntimeTokenHttpInterceptor
from flwr.supercore.protobuf.client import ProtobufClientInterceptor
from flwr.supercore.runtime import RuntimeHttpClient

from tacit.deployment.transport.direct_messages import OutgoingDirect, Reply
from tacit.deployment.transport.flower_log import redirect_flower_log
from tacit.deployment.transport.flower_messages import (
    IncomingMessage,
    build_request_metadata,
    pack_message,
)
from tacit.deployment.transport.http_client import is_transient
from tacit.deployment.transport.server.direct_line import DirectLine
from tacit.deployment.transport.server.registry import read_sites
from tacit.deployment.transport.server.run_start import (
    call_with_retries,
    connect_runtime,
    start_run,
)
from tacit.errors import PeerError, WireError, did_you_mean

_WAIT_SECONDS, _POLL_SECONDS = 0.5, 0.2
"""How long `collect` waits for a response, and how often it asks Flower's store."""
_ME = WireNode(node_id=SUPERLINK_NODE_ID)
_Request = TypeVar("_Request")
_Response = TypeVar("_Response")


class FlowerChannel:
    """The messages of one run.

    Every call raises PeerError if the SuperLink is unreachable for more than a few seconds; then
    open a new channel. `folder` is the server's, with its secrets and registered sites. Flower
    shows `name` for the run. `max_bytes` limits a message in either direction.
    """

    def __init__(self, *, folder: Path, address: str, name: str, max_bytes: int) -> None:
        redirect_flower_log(folder)
        self._folder = folder
        self._address = address
        self._max_bytes = max_bytes
        self._nodes = self._read_nodes()
        self._awaited: set[str] = set()
        self._arriving: dict[str, tuple[str, IncomingMessage]] = {}
        self._lost = False
        token, self._run = self._start_run(name)
        self._client = self._connect(RuntimeTokenHttpInterceptor(token))
        self._call(self._client.PullTaskInput, PullTaskInputRequest())
        self._direct = DirectLine(self._client, self._call)
        self._replied: list[tuple[OutgoingDirect, Reply]] = []
        self._marks: dict[str, str] = {}
        self._by_store: set[int] = set()
        self._heartbeat = HeartbeatSender(self._send_heartbeat)
        self._heartbeat.start()

    def online(self) -> dict[str, bool]:
        """Whether each registered site is online. A killed site counts as online for two more
        seconds, a frozen one for up to a minute, a revoked one no longer.
        """
        admitted = self._read_nodes()
        self._replied += self._direct.exchange(0.0)
        there = self._direct.connected
        if not {*self._nodes.values()} <= there:
            nodes = self._call(self._client.GetNodes, GetNodesRequest()).nodes
            there = there | {node.node_id for node in nodes}
        return {site: site in admitted and node in there for site, node in self._nodes.items()}

    def send(self, site: str, message: bytes) -> str:
        """Send a message to a site and return its id, by which `collect` names the response. A short
        message to a connected site leaves with the next call of `collect` or `online`.
        """
        if site not in self._nodes:
            raise PeerError(
                f"site {site!r} is not registered.{did_you_mean(site, list(self._nodes))}"
            )
        if len(message) > self._max_bytes:
            raise WireError(
                f"the message to {site} has {len(message)} bytes; at most {self._max_bytes} are"
                " allowed"
            )
        node = self._nodes[site]
        if node not in self._by_store and self._direct.reaches(node, message):
            return self._direct.send(node, message)
        return self._store(site, message)

    def _store(self, site: str, message: bytes) -> str:
        """Leave a message for a site in Flower's store."""
        packed = pack_message(build_request_metadata(self._run, self._nodes[site]), message)
        request = PushAppMessagesRequest(
            messages_list=[packed.head], message_object_trees=[packed.tree]
        )
        pushed = self._call(self._client.PushMessages, request)
        if not pushed.message_ids or not pushed.message_ids[0]:
            raise PeerError(
                f"the server did not accept the message to {site}: the site was never online, or"
                " the run has ended on the server"
            )
        for name in pushed.objects_to_push:
            part = PushObjectRequest(
                node=_ME,
                run_id=self._run,
                object_id=name,
                object_content=packed.objects[name].deflate(),
                session_id=pushed.session_id,
            )
            self._call(self._client.PushObject, part)
        request_id = str(pushed.message_ids[0])
        self._awaited.add(request_id)
        self._direct.announce(self._nodes[site])
        return request_id

    def collect(self) -> list[tuple[str, bytes | None]]:
        """Fetch the responses that arrived since the last call, by the id of their request.

        None stands for a response that will not come: the site refused, was lost, or sent a
        malformed one. If there is none, the call waits for one for up to half a second. A large
        response that is still arriving is returned later.
        """
        done = self._collect_stored()
        wait = _POLL_SECONDS if self._awaited or self._arriving else _WAIT_SECONDS
        self._replied += self._direct.exchange(0.0 if done or self._replied else wait)
        if not self._direct.is_supported and not done:
            time.sleep(_POLL_SECONDS)
        sites = {node: site for site, node in self._nodes.items()}
        for sent, reply in self._replied:
            if reply.wants_store and sent.node in sites:
                self._by_store.add(sent.node)
                self._marks[self._store(sites[sent.node], sent.message)] = reply.mark
            else:
                done.append((reply.mark, reply.message))
        self._replied = []
        return [(self._marks.pop(mark, mark), message) for mark, message in done]

    def _collect_stored(self) -> list[tuple[str, bytes | None]]:
        """Fetch the responses that Flower's store has."""
        done: list[tuple[str, bytes | None]] = []
        if self._awaited:
            pulled = self._call(
                self._client.PullMessages, PullAppMessagesRequest(message_ids=sorted(self._awaited))
            )
            for head, tree in zip(pulled.messages_list, pulled.message_object_trees, strict=True):
                request_id = head.metadata.reply_to_message_id
                response_id = head.metadata.message_id
                self._awaited.discard(request_id)
                if head.HasField("error"):
                    self._confirm(response_id)
                    done.append((request_id, None))
                    continue
                with self._drop_malformed(request_id, response_id, done):
                    incoming = IncomingMessage(tree, self._pull_object, self._max_bytes)
                    self._arriving[request_id] = (response_id, incoming)
        for request_id, (response_id, incoming) in list(self._arriving.items()):
            with self._drop_malformed(request_id, response_id, done):
                message = incoming.read()
                if message is not None:
                    self._confirm(response_id)
                    done.append((request_id, message))
                    del self._arriving[request_id]
        return done

    def close(self, done: bool) -> None:
        """End the Flower run as completed or failed. An unreachable SuperLink is ignored."""
        if self._heartbeat.is_running:
            self._heartbeat.stop()
        status = SubStatus.COMPLETED if done else SubStatus.FAILED
        with contextlib.suppress(httpx.HTTPError, PeerError):
            self._client.PushTaskOutput(PushTaskOutputRequest(sub_status=status, details=""))
        self._client.close()

    def _read_nodes(self) -> dict[str, int]:
        """Flower's node id of each site that is admitted now."""
        return {site: int(facts["node_id"]) for site, facts in read_sites(self._folder).items()}

    def _start_run(self, name: str) -> tuple[str, int]:
        """Start a Flower run; return the token of its task and its id."""
        return start_run(self._folder, self._address, name)

    def _connect(self, interceptor: ProtobufClientInterceptor) -> RuntimeHttpClient:
        return connect_runtime(self._folder, self._address, interceptor)

    def _call(self, method: Callable[[_Request], _Response], request: _Request) -> _Response:
        """Call the SuperLink; retry for a few seconds while it is unreachable."""
        return call_with_retries(method, request, self._address, lambda: self._lost)

    def _send_heartbeat(self) -> bool:
        """Keep the Flower run alive. False asks for another attempt."""
        try:
            self._lost = not self._client.SendTaskHeartbeat(SendTaskHeartbeatRequest()).success
        except httpx.HTTPStatusError as error:
            self._lost = not is_transient(error)
            return self._lost
        except (httpx.HTTPError, PeerError, ValueError):
            return False
        return True

    def _pull_object(self, name: str) -> bytes | None:
        found = self._call(
            self._client.PullObject, PullObjectRequest(node=_ME, run_id=self._run, object_id=name)
        )
        if not found.object_found:
            raise WireError("the server no longer has a part of the message")
        return bytes(found.object_content) if found.object_available else None

    def _confirm(self, response_id: str) -> None:
        """Allow Flower to delete a response. If this call fails, Flower deletes it with the run."""
        with contextlib.suppress(httpx.HTTPError):
            self._client.ConfirmMessageReceived(
                ConfirmMessageReceivedRequest(
                    node=_ME, run_id=self._run, message_object_id=response_id
                )
            )

    @contextlib.contextmanager
    def _drop_malformed(
        self, request_id: str, response_id: str, done: list[tuple[str, bytes | None]]
    ) -> Iterator[None]:
        try:
            yield
        except WireError:
            self._arriving.pop(request_id, None)
            self._confirm(response_id)
            done.append((request_id, None))
