"""The registered sites of a server: name, public key and Flower's node id."""

from __future__ import annotations

import fcntl
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_ssh_public_key
from flwr.proto.control_pb2 import ListNodesRequest, RegisterNodeRequest, UnregisterNodeRequest
from flwr.supercore.constant import NodeStatus
from flwr.supercore.control import ControlHttpClient
from flwr.supercore.primitives.asymmetric import public_key_to_bytes

from tacit.deployment.transport.certificates import read_private
from tacit.deployment.transport.flower_log import redirect_flower_log
from tacit.deployment.transport.http_client import SECRET_HEADER, Headers, connect, explain_error
from tacit.deployment.transport.server.endpoint import SECRET, find_root_certificate, read_endpoint
from tacit.errors import PeerError, did_you_mean
from tacit.files import replace_file

SITES = "sites.json"
"""Every registered site: {name: {public_key, node_id}}."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_TAKEN = httpx.codes.PRECONDITION_FAILED


def read_sites(folder: Path) -> dict[str, dict[str, str]]:
    """Registered sites of a server's folder, by name."""
    try:
        found: dict[str, dict[str, str]] = json.loads((folder / SITES).read_text())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise PeerError(
            f"{folder / SITES}: cannot be read ({type(error).__name__}); restore it, or register"
            " the sites again"
        ) from None
    return found


def find_online_sites(folder: Path) -> dict[str, bool]:
    """Whether each registered site is online. A killed site counts as online for one more minute."""
    known = read_sites(folder)
    with _connect_control(folder) as control:
        try:
            nodes = control.ListNodes(ListNodesRequest()).nodes_info
        except httpx.HTTPError as error:
            raise explain_error(error, read_endpoint(folder).address) from None
    online = {str(node.node_id) for node in nodes if node.status == NodeStatus.ONLINE}
    return {name: facts["node_id"] in online for name, facts in known.items()}


def register(folder: Path, name: str, public_key: bytes) -> None:
    """Admit a site with its public key (one OpenSSH line). The server must be running.

    Registering the same name and key again changes nothing.
    """
    if not _NAME.fullmatch(name):
        raise PeerError(
            f"site {name!r}: a name must have 1 to 64 letters, digits, dots, dashes or underscores"
        )
    line = " ".join(public_key.decode("ascii", "replace").split()[:2])
    pem = _convert_public_key(name, line)
    with _lock_registry(folder):
        known = read_sites(folder)
        for other, facts in known.items():
            if (other == name) != (facts["public_key"] == line):
                problem = (
                    "is already registered with another key"
                    if other == name
                    else f"is already registered with the key of {name}"
                )
                raise PeerError(
                    f"site {other} {problem}; to replace it, revoke {other} first with `tacit"
                    f" server revoke {other}`"
                )
        if name not in known:
            known[name] = {"public_key": line, "node_id": str(_register_key(folder, name, pem))}
            replace_file(folder / SITES, json.dumps(known, indent=1).encode())


def unregister(folder: Path, name: str) -> None:
    """Revoke a site. The server must be running."""
    with _lock_registry(folder):
        known = read_sites(folder)
        if name not in known:
            raise PeerError(f"site {name!r} is not registered.{did_you_mean(name, list(known))}")
        with _connect_control(folder) as control:
            try:
                control.UnregisterNode(UnregisterNodeRequest(node_id=int(known[name]["node_id"])))
            except httpx.HTTPError as error:
                if not (
                    isinstance(error, httpx.HTTPStatusError)
                    and error.response.status_code == httpx.codes.NOT_FOUND
                ):
                    raise explain_error(error, read_endpoint(folder).address) from None
        del known[name]
        replace_file(folder / SITES, json.dumps(known, indent=1).encode())


def _convert_public_key(name: str, line: str) -> bytes:
    try:
        key = load_ssh_public_key(line.encode())
    except (ValueError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, ec.SECP384R1):
        raise PeerError(
            f"site {name}: the public key must be the line of its .pub file (ecdsa-sha2-nistp384 …)"
        )
    return public_key_to_bytes(key)


def _register_key(folder: Path, name: str, pem: bytes) -> int:
    """Register a key with Flower and return its node id.

    Flower may know the key already, if an earlier registration was interrupted; then its id is
    looked up.
    """
    with _connect_control(folder) as control:
        try:
            return int(control.RegisterNode(RegisterNodeRequest(public_key=pem, name=name)).node_id)
        except httpx.HTTPError as error:
            if not (
                isinstance(error, httpx.HTTPStatusError) and error.response.status_code == _TAKEN
            ):
                raise explain_error(error, read_endpoint(folder).address) from None
            for node in control.ListNodes(ListNodesRequest()).nodes_info:
                if node.public_key == pem and not node.unregistered_at:
                    return int(node.node_id)
            raise PeerError(
                f"site {name}: its key was revoked and cannot be admitted again; make a new key with"
                " `tacit site init`"
            ) from None


def _connect_control(folder: Path) -> ControlHttpClient:
    redirect_flower_log(folder)
    secret = Headers({SECRET_HEADER: read_private(folder / SECRET).hex()})
    return connect(
        ControlHttpClient, read_endpoint(folder).address, find_root_certificate(folder), [secret]
    )


@contextmanager
def _lock_registry(folder: Path) -> Iterator[None]:
    with (folder / "sites.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
