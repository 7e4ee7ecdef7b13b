"""The server's side: letters to sites by name, and their answers.

For Flower this process is a server app that it started. In truth it asks Flower for a run with an
empty app, takes the task of that run itself, and sends and fetches messages under the task's token.
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

from tacit.deployment.transport.client import (
    SECRET_HEADER,
    Headers,
    connected,
    explained,
    is_passing,
    version_headers,
)
from tacit.deployment.transport.letters import Arrival, parcel, question_metadata
from tacit.deployment.transport.place import SECRET, SUPEREXEC_SECRET, root_certificate
from tacit.deployment.transport.quiet import keep_quiet
from tacit.deployment.transport.registry import sites
from tacit.deployment.transport.tls import read_private
from tacit.errors import PeerError, WireError, did_you_mean

_PATIENCE = 5.0
_PAUSE = 0.2
_ME = WireNode(node_id=SUPERLINK_NODE_ID)
_Request = TypeVar("_Request")
_Answer = TypeVar("_Answer")


class Post:
    """One run's letters. Every call raises PeerError if the SuperLink is away for longer than a few
    seconds; then open a new one.

    `folder` is the server's, with its secrets and registered sites; `name` is what Flower shows for
    the run; `largest` limits the bytes of a letter, both ways.
    """

    def __init__(self, *, folder: Path, address: str, name: str, largest: int) -> None:
        keep_quiet(folder)
        self._folder = folder
        self._address = address
        self._largest = largest
        self._nodes = {site: int(facts["node_id"]) for site, facts in sites(folder).items()}
        self._asked: set[str] = set()
        self._arriving: dict[str, tuple[str, Arrival]] = {}
        self._lost = False
        token, self._run = self._task(name)
        self._client = self._connected(RuntimeTokenHttpInterceptor(token))
        self._call(self._client.PullTaskInput, PullTaskInputRequest())
        self._heart = HeartbeatSender(self._beat)
        self._heart.start()

    def online(self) -> dict[str, bool]:
        """Return every registered site by name, and whether it is online; one that was killed
        counts as online for a minute.
        """
        there = {
            node.node_id for node in self._call(self._client.GetNodes, GetNodesRequest()).nodes
        }
        return {site: node in there for site, node in self._nodes.items()}

    def send(self, site: str, letter: bytes) -> str:
        """Send a letter to a site and return its id, by which `collect` names the answer."""
        if site not in self._nodes:
            raise PeerError(
                f"site {site!r} is not registered.{did_you_mean(site, list(self._nodes))}"
            )
        if len(letter) > self._largest:
            raise WireError(
                f"letter to {site} has {len(letter)} bytes, and {self._largest} are allowed"
            )
        ready = parcel(question_metadata(self._run, self._nodes[site]), letter)
        request = PushAppMessagesRequest(
            messages_list=[ready.head], message_object_trees=[ready.tree]
        )
        pushed = self._call(self._client.PushMessages, request)
        if not pushed.message_ids or not pushed.message_ids[0]:
            raise PeerError(
                f"letter to {site} was not taken: the site was never online, or the run is over for"
                " the server"
            )
        for name in pushed.objects_to_push:
            content = ready.objects[name].deflate()
            part = PushObjectRequest(
                node=_ME,
                run_id=self._run,
                object_id=name,
                object_content=content,
                session_id=pushed.session_id,
            )
            self._call(self._client.PushObject, part)
        letter_id = str(pushed.message_ids[0])
        self._asked.add(letter_id)
        return letter_id

    def collect(self) -> list[tuple[str, bytes | None]]:
        """Return the answers that have arrived since, by letter id; None where there will be none,
        so that it can be sent again.

        It does not wait: a large answer that is still coming in is returned by a later call.
        """
        done: list[tuple[str, bytes | None]] = []
        if self._asked:
            pulled = self._call(
                self._client.PullMessages, PullAppMessagesRequest(message_ids=sorted(self._asked))
            )
            for head, tree in zip(pulled.messages_list, pulled.message_object_trees, strict=True):
                letter_id = head.metadata.reply_to_message_id
                self._asked.discard(letter_id)
                if head.HasField("error"):
                    done.append((letter_id, self._finished(head.metadata.message_id, None)))
                    continue
                with self._malformed(letter_id, head.metadata.message_id, done):
                    self._arriving[letter_id] = (
                        head.metadata.message_id,
                        Arrival(tree, self._pulled, self._largest),
                    )
        for letter_id, (message_id, arrival) in list(self._arriving.items()):
            with self._malformed(letter_id, message_id, done):
                letter = arrival.take()
                if letter is not None:
                    done.append((letter_id, self._finished(message_id, letter)))
                    del self._arriving[letter_id]
        return done

    def close(self, done: bool) -> None:
        """End the run, as finished or as failed; it does not matter if the SuperLink is away."""
        if self._heart.is_running:
            self._heart.stop()
        status = SubStatus.COMPLETED if done else SubStatus.FAILED
        with contextlib.suppress(httpx.HTTPError, PeerError):
            self._client.PushTaskOutput(PushTaskOutputRequest(sub_status=status, details=""))
        self._client.close()

    def _task(self, name: str) -> tuple[str, int]:
        """Start a run and take its task; tasks that earlier processes left behind are ended on the
        way.
        """
        master = read_private(self._folder / SUPEREXEC_SECRET)
        auth = SuperExecAuthHttpInterceptor(
            master_secret=master, protected_methods=["/flwr.proto.Runtime/AcquireTask"]
        )
        secret = Headers({SECRET_HEADER: read_private(self._folder / SECRET).hex()})
        control = connected(
            ControlHttpClient, self._address, root_certificate(self._folder), [secret]
        )
        with (
            (self._folder / "post.lock").open("w") as lock,
            control,
            self._connected(auth) as runtime,
        ):
            fcntl.flock(lock, fcntl.LOCK_EX)
            run: int = self._call(
                control.StartRun, StartRunRequest(fab=Fab(content=_empty_app(name)))
            ).run_id
            while True:
                task = self._call(
                    runtime.AcquireTask,
                    AcquireTaskRequest(supported_task_types=[TaskType.SERVER_APP]),
                )
                if not task.token:
                    raise PeerError(f"server {self._address} did not accept the run; see its log")
                if task.task.run_id == run:
                    return task.token, run
                with self._connected(RuntimeTokenHttpInterceptor(task.token)) as left_behind:
                    self._call(
                        left_behind.PushTaskOutput,
                        PushTaskOutputRequest(sub_status=SubStatus.FAILED, details=""),
                    )

    def _connected(self, interceptor: ProtobufClientInterceptor) -> RuntimeHttpClient:
        secret = Headers({SECRET_HEADER: read_private(self._folder / SECRET).hex()})
        interceptors = [secret, version_headers("flwr-serverapp"), interceptor]
        return connected(
            RuntimeHttpClient, self._address, root_certificate(self._folder), interceptors
        )

    def _call(self, method: Callable[[_Request], _Answer], request: _Request) -> _Answer:
        """Call the SuperLink, again for a few seconds if it is away."""
        deadline = time.monotonic() + _PATIENCE
        while True:
            if self._lost:
                raise PeerError(f"server {self._address} has ended this run; open a new one")
            try:
                return method(request)
            except ValueError:
                raise PeerError(
                    f"server {self._address} gave an answer that cannot be read; is it a Tacit"
                    " server?"
                ) from None
            except httpx.HTTPError as error:
                if not is_passing(error) or time.monotonic() > deadline:
                    raise explained(error, self._address) from None
            time.sleep(_PAUSE)

    def _beat(self) -> bool:
        """Tell Flower that the run goes on, so that it does not end it; a beat that is missed is
        sent again.
        """
        try:
            self._lost = not self._client.SendTaskHeartbeat(SendTaskHeartbeatRequest()).success
        except httpx.HTTPStatusError as error:
            self._lost = not is_passing(error)
            return self._lost
        except (httpx.HTTPError, PeerError, ValueError):
            return False
        return True

    def _pulled(self, name: str) -> bytes | None:
        found = self._call(
            self._client.PullObject, PullObjectRequest(node=_ME, run_id=self._run, object_id=name)
        )
        if not found.object_found:
            raise WireError("a part of a letter is gone")
        return bytes(found.object_content) if found.object_available else None

    def _finished(self, message_id: str, letter: bytes | None) -> bytes | None:
        """Let Flower forget a message; if it cannot now, it forgets it with the run."""
        with contextlib.suppress(httpx.HTTPError):
            self._client.ConfirmMessageReceived(
                ConfirmMessageReceivedRequest(
                    node=_ME, run_id=self._run, message_object_id=message_id
                )
            )
        return letter

    @contextlib.contextmanager
    def _malformed(
        self, letter_id: str, message_id: str, done: list[tuple[str, bytes | None]]
    ) -> Iterator[None]:
        try:
            yield
        except WireError:
            self._arriving.pop(letter_id, None)
            done.append((letter_id, self._finished(message_id, None)))


def _empty_app(name: str) -> bytes:
    """Return the least that Flower takes for an app: names of components that do not exist, and no
    code.
    """
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
