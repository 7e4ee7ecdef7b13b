"""Flower's SuperLink as an ASGI application: state in one SQLite file, node authentication always
on.

It starts no process and no gRPC server.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from flwr.common.constant import (
    HEARTBEAT_DEFAULT_INTERVAL,
    ISOLATION_MODE_PROCESS,
    TRANSPORT_TYPE_GRPC_RERE,
)
from flwr.superlink.auth_plugin import NoOpControlAuthnPlugin
from flwr.superlink.config_loader import SuperLinkLifespanConfig
from flwr.superlink.main import create_app

from tacit.deployment.transport.superlink.mailboxes import Mailboxes

DATABASE = "flower.db"


class _NoServers:
    """Replaces Flower's gRPC servers and SuperExec, which Tacit does not use."""

    def __init__(self, config: SuperLinkLifespanConfig, state_factory: Any) -> None:
        self._state = state_factory

    def startup(self) -> None:
        """Open the database."""
        self._state.state()

    def shutdown(self) -> None:
        """Do nothing: nothing was started."""


def create_superlink(
    folder: Path, host: str, port: int, superexec_secret: bytes
) -> tuple[Any, Callable[[bytes], bool]]:
    """Create the application, and a function that checks whether a public key is registered there."""
    config = SuperLinkLifespanConfig(
        control_address="",
        health_server_address=None,
        host=host,
        port=port,
        insecure=True,  # the server around this application terminates TLS
        certificates=None,
        superexec_auth_secret=superexec_secret,
        authn_plugin=NoOpControlAuthnPlugin(),
        event_log_plugin=None,
        fleet_event_log_plugin=None,
        enable_event_log=False,
        artifact_provider=None,
        enable_supernode_auth=True,
        fleet_api_type=TRANSPORT_TYPE_GRPC_RERE,
        fleet_api_address=None,
        simulation=False,
        ssl_ca_certfile=None,
        ssl_certfile=None,
        ssl_keyfile=None,
        database=str(folder / DATABASE),
        isolation=ISOLATION_MODE_PROCESS,
        runtime_dependency_install=False,
    )
    app = create_app(config, _NoServers)  # type: ignore[arg-type]
    factory = app.state.linkstate_factory
    return app, lambda public_key: factory.state().get_node_id_by_public_key(public_key) is not None


def create_mailboxes(app: Any) -> Mailboxes:
    """Create the mailboxes, which tell the application's database who is online."""
    factory = app.state.linkstate_factory
    return Mailboxes(
        lambda node: factory.state().acknowledge_node_heartbeat(node, HEARTBEAT_DEFAULT_INTERVAL),
        lambda node: factory.state().deactivate_node(node),
    )
