"""A coordinator's end of the transport: the messages of one run, carried from another machine than
the server's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import httpx
from flwr.proto.runtime_pb2 import SendTaskHeartbeatRequest
from flwr.supercore.protobuf.client import (
    ProtobufCall,
    ProtobufClientInterceptor,
    ProtobufRequestContext,
)
from flwr.supercore.runtime import RuntimeHttpClient

from tacit.deployment.transport.http_client import connect, is_transient, version_headers
from tacit.deployment.transport.person.server_route import ServerRoute
from tacit.deployment.transport.server.channel import FlowerChannel
from tacit.errors import PeerError, TacitError

_REFUSED = (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN, httpx.codes.GONE)


class RemoteChannel(FlowerChannel):
    """A channel whose server is reached by a person's certificate instead of the server's secrets.

    `open_task` opens the run at the server and returns the token and Flower's id of it. `read_nodes`
    returns Flower's ids of the admitted sites. `explain` is as in `ServerRoute.call`.
    """

    def __init__(
        self,
        route: ServerRoute,
        name: str,
        max_bytes: int,
        *,
        open_task: Callable[[], tuple[str, int]],
        read_nodes: Callable[[], Mapping[str, int]],
        explain: Callable[[bytes], Exception | None],
    ) -> None:
        self._route, self._open_task, self._list_nodes = route, open_task, read_nodes
        self._explain = explain
        super().__init__(folder=route.folder, address=route.address, name=name, max_bytes=max_bytes)

    def _read_nodes(self) -> dict[str, int]:
        return dict(self._list_nodes())

    def _start_run(self, name: str) -> tuple[str, int]:
        return self._open_task()

    def _connect(self, interceptor: ProtobufClientInterceptor) -> RuntimeHttpClient:
        return connect(
            RuntimeHttpClient,
            self._route.address,
            self._route.authority,
            [_RaiseRefusals(self._explain), version_headers("flwr-serverapp"), interceptor],
            own=self._route.own,
            proxy=self._route.proxy,
        )

    def _send_heartbeat(self) -> bool:
        """Keep the run alive at the server. What it refuses, the next call reports."""
        try:
            self._lost = not self._client.SendTaskHeartbeat(SendTaskHeartbeatRequest()).success
        except httpx.HTTPStatusError as error:
            self._lost = not is_transient(error)
            return self._lost
        except (httpx.HTTPError, PeerError, ValueError):
            return False
        except TacitError:
            return True
        return True


class _RaiseRefusals:
    """An interceptor that raises the server's own refusal of a call."""

    def __init__(self, explain: Callable[[bytes], Exception | None]) -> None:
        self._explain = explain

    def intercept(self, context: ProtobufRequestContext, call_next: ProtobufCall) -> httpx.Response:
        """Send the request and raise what the server refuses in words."""
        response = call_next(context)
        if response.status_code in _REFUSED:
            refusal = self._explain(response.read())
            if refusal is not None:
                raise refusal
        return response
