"""How the server's process begins a Flower run and acquires its task, and calls that are retried."""

from __future__ import annotations

import fcntl
import io
import json
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import httpx
from flwr.common.constant import SubStatus
from flwr.proto.control_pb2 import StartRunRequest
from flwr.proto.fab_pb2 import Fab
from flwr.proto.runtime_pb2 import AcquireTaskRequest, PushTaskOutputRequest
from flwr.supercore.constant import TaskType
from flwr.supercore.control import ControlHttpClient
from flwr.supercore.interceptors import RuntimeTokenHttpInterceptor, SuperExecAuthHttpInterceptor
from flwr.supercore.protobuf.client import ProtobufClientInterceptor
from flwr.supercore.runtime import RuntimeHttpClient

from tacit.deployment.transport.certificates import read_private
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
from tacit.errors import PeerError

_RETRY_SECONDS = 5.0
_PAUSE = 0.2
_Request = TypeVar("_Request")
_Response = TypeVar("_Response")


def start_run(folder: Path, address: str, name: str) -> tuple[str, int]:
    """Start a Flower run and acquire its task; return the token of the task and the id of the run.

    Tasks that earlier processes left behind are ended as failed.
    """
    master = read_private(folder / SUPEREXEC_SECRET)
    auth = SuperExecAuthHttpInterceptor(
        master_secret=master, protected_methods=["/flwr.proto.Runtime/AcquireTask"]
    )
    secret = Headers({SECRET_HEADER: read_private(folder / SECRET).hex()})
    control = connect(ControlHttpClient, address, find_root_certificate(folder), [secret])
    with (
        (folder / "post.lock").open("w") as lock,
        control,
        connect_runtime(folder, address, auth) as runtime,
    ):
        fcntl.flock(lock, fcntl.LOCK_EX)
        request = StartRunRequest(fab=Fab(content=_build_empty_app(name)))
        run: int = call_with_retries(control.StartRun, request, address).run_id
        while True:
            task = call_with_retries(
                runtime.AcquireTask,
                AcquireTaskRequest(supported_task_types=[TaskType.SERVER_APP]),
                address,
            )
            if not task.token:
                raise PeerError(f"server {address} did not accept the run; see its flower.log")
            if task.task.run_id == run:
                return task.token, run
            end_task(folder, address, task.token)


def end_task(folder: Path, address: str, token: str) -> None:
    """End the task of a token as failed, so that its messages are no longer delivered."""
    with connect_runtime(folder, address, RuntimeTokenHttpInterceptor(token)) as left_behind:
        call_with_retries(
            left_behind.PushTaskOutput,
            PushTaskOutputRequest(sub_status=SubStatus.FAILED, details=""),
            address,
        )


def connect_runtime(
    folder: Path, address: str, interceptor: ProtobufClientInterceptor
) -> RuntimeHttpClient:
    """A client of the SuperLink's runtime interface, with the secret of the server's folder."""
    secret = Headers({SECRET_HEADER: read_private(folder / SECRET).hex()})
    interceptors = [secret, version_headers("flwr-serverapp"), interceptor]
    return connect(RuntimeHttpClient, address, find_root_certificate(folder), interceptors)


def call_with_retries(
    method: Callable[[_Request], _Response],
    request: _Request,
    address: str,
    is_lost: Callable[[], bool] = lambda: False,
) -> _Response:
    """Call the SuperLink; retry for a few seconds while it is unreachable. `is_lost` says whether the
    run has ended there.
    """
    deadline = time.monotonic() + _RETRY_SECONDS
    while True:
        if is_lost():
            raise PeerError(
                f"server {address} has ended this run; start it again with `tacit deploy run --resume`"
            )
        try:
            return method(request)
        except ValueError:
            raise PeerError(
                f"server {address} sent an unreadable response; check that the"
                " address is that of a Tacit server"
            ) from None
        except httpx.HTTPError as error:
            if not is_transient(error) or time.monotonic() > deadline:
                raise explain_error(error, address) from None
        time.sleep(_PAUSE)


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
