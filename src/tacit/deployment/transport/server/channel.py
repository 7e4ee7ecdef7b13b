"""The server's end of the transport: requests to sites by name, and their responses.

Flower takes this process for a server app that it started. The process starts a Flower run with an
empty app, acquires the task of that run itself, and exchanges messages under the token of the task.
"""

from __future__ import annotations

import contextlib
import fcntl
import io
import json
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import httpx
from flwr.common.constant import SUPERLINK_NODE_ID, SubStatus
from flwr.proto.control_pb2 import StartRunRequest
from flwr.proto.fab_pb2 import Fab
from flwr.proto.message_pb2 import (
    ConfirmMessageReceivedRequest,
    PullObjectRequest,
    PushObjectRequest,
)
from flwr.proto.node_pb2 import Node as WireNode
from flwr.proto.runtime_pb2 import (
    AcquireTaskRequest,
    GetNodesRequest,
    PullAppMessagesRequest,
    PullTaskInputRequest,
    PushAppMessagesRequest,
    PushTaskOutputRequest,
    SendTaskHeartbeatRequest,
)
from flwr.supercore.constant import TaskType
from flwr.supercore.control import ControlHttpClient
from flwr.supercore.heartbeat import HeartbeatSender
from flwr.supercore.interceptors import RuntimeTokenHttpInterceptor, SuperExecAuthHttpInterceptor
from flwr.supercore.protobuf.client import ProtobufClientInterceptor
from flwr.supercore.runtime import RuntimeHttpClient

from tacit.deployment.transport.certificates import read_private
from tacit.deployment.transport.flower_log import redirect_flower_log
from tacit.deployment.transport.flower_messages import (
    IncomingMessage,
    build_request_metadata,
    pack_message,
)
from tacit.deployment.transport.http_client import (
    SECRET_HEADER,
    Headers,
    connect,
    explain_error,
    is_transient,
    version_headers,
)
from tacit.deployment.transport.server.endpoint import (
    SECRET,
    SUPEREXEC_SECRET,
    find_root_certificate,
)
from tacit.deployment.transport.server.registry import read_sites
from tacit.errors import PeerError, WireError, did_you_mean

_RETRY_SECONDS = 5.0
_PAUSE = 0.2
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
        self._nodes = {site: int(facts["node_id"]) for site, facts in read_sites(folder).items()}
        self._awaited: set[str] = set()
        self._arriving: dict[str, tuple[str, IncomingMessage]] = {}
        self._lost = False
        token, self._run = self._start_run(name)
        self._client = self._connect(RuntimeTokenHttpInterceptor(token))
        self._call(self._client.PullTaskInput, PullTaskInputRequest())
        self._heartbeat = HeartbeatSender(self._send_heartbeat)
        self._heartbeat.start()

    def online(self) -> dict[str, bool]:
        """Whether each registered site is online. A killed site counts as online for one more
        minute, a revoked one no longer.
        """
        admitted = read_sites(self._folder)
        there = {
            node.node_id for node in self._call(self._client.GetNodes, GetNodesRequest()).nodes
        }
        return {site: site in admitted and node in there for site, node in self._nodes.items()}

    def send(self, site: str, message: bytes) -> str:
        """Send a message to a site and return its id, by which `collect` names the response."""
        if site not in self._nodes:
            raise PeerError(
                f"site {site!r} is not registered.{did_you_mean(site, list(self._nodes))}"
            )
        if len(message) > self._max_bytes:
            raise WireError(
                f"the message to {site} has {len(message)} bytes; at most {self._max_bytes} are"
                " allowed"
            )
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
        return request_id

    def collect(self) -> list[tuple[str, bytes | None]]:
        """Fetch the responses that arrived since the last call, by the id of their request.

        None stands for a response that will not come: the site refused, or sent a malformed one.
        The call does not wait: a large response that is still arriving is returned later.
        """
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

    def _start_run(self, name: str) -> tuple[str, int]:
        """Start a run and acquire its task. Tasks that earlier processes left behind are ended as
        failed.
        """
        master = read_private(self._folder / SUPEREXEC_SECRET)
        auth = SuperExecAuthHttpInterceptor(
            master_secret=master, protected_methods=["/flwr.proto.Runtime/AcquireTask"]
        )
        secret = Headers({SECRET_HEADER: read_private(self._folder / SECRET).hex()})
        control = connect(
            ControlHttpClient, self._address, find_root_certificate(self._folder), [secret]
        )
        with (
            (self._folder / "post.lock").open("w") as lock,
            control,
            self._connect(auth) as runtime,
        ):
            fcntl.flock(lock, fcntl.LOCK_EX)
            run: int = self._call(
                control.StartRun, StartRunRequest(fab=Fab(content=_build_empty_app(name)))
            ).run_id
            while True:
                task = self._call(
                    runtime.AcquireTask,
                    AcquireTaskRequest(supported_task_types=[TaskType.SERVER_APP]),
                )
                if not task.token:
                    raise PeerError(
                        f"server {self._address} did not accept the run; see its flower.log"
                    )
                if task.task.run_id == run:
                    return task.token, run
                with self._connect(RuntimeTokenHttpInterceptor(task.token)) as left_behind:
                    self._call(
                        left_behind.PushTaskOutput,
                        PushTaskOutputRequest(sub_status=SubStatus.FAILED, details=""),
                    )

    def _connect(self, interceptor: ProtobufClientInterceptor) -> RuntimeHttpClient:
        secret = Headers({SECRET_HEADER: read_private(self._folder / SECRET).hex()})
        interceptors = [secret, version_headers("flwr-serverapp"), interceptor]
        return connect(
            RuntimeHttpClient, self._address, find_root_certificate(self._folder), interceptors
        )

    def _call(self, method: Callable[[_Request], _Response], request: _Request) -> _Response:
        """Call the SuperLink; retry for a few seconds while it is unreachable."""
        deadline = time.monotonic() + _RETRY_SECONDS
        while True:
            if self._lost:
                raise PeerError(
                    f"server {self._address} has ended this run; start it again with `tacit deploy --resume`"
                )
            try:
                return method(request)
            except ValueError:
                raise PeerError(
                    f"server {self._address} sent an unreadable response; check that the"
                    " address is that of a Tacit server"
                ) from None
            except httpx.HTTPError as error:
                if not is_transient(error) or time.monotonic() > deadline:
                    raise explain_error(error, self._address) from None
            time.sleep(_PAUSE)

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


def _build_empty_app(name: str) -> bytes:
    """The smallest app that Flower accepts: names of components that do not exist, and no code."""
    described = json.dumps(name[:200])
    text = (
        '[project]\nname = "tacit"\nversion = "1"\ndescription ='
        f" {described}\n\n[tool.flwr.app]\npublisher ="
        ' "tacit"\n\n[tool.flwr.app.components]\nserverapp = "none:none"\nclientapp ='
        ' "none:none"\n'
    )
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as bundle:
        bundle.writestr(zipfile.ZipInfo("pyproject.toml"), text)
    return packed.getvalue()
