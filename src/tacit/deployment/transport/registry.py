"""Which sites a server knows: a name for people, a public key to be known by, and Flower's number
for it.
"""

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

from tacit.deployment.transport.client import SECRET_HEADER, Headers, connected, explained
from tacit.deployment.transport.place import SECRET, place, root_certificate
from tacit.deployment.transport.quiet import keep_quiet
from tacit.deployment.transport.tls import read_private
from tacit.errors import PeerError, did_you_mean
from tacit.files import replace_file

SITES = "sites.json"
"""Every registered site: {name: {public_key, node_id}}."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_TAKEN = httpx.codes.PRECONDITION_FAILED


def sites(folder: Path) -> dict[str, dict[str, str]]:
    """Return the registered sites of a server's folder by name."""
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


def online(folder: Path) -> dict[str, bool]:
    """Return every registered site, and whether it is online; one that was killed counts as online
    for a minute.
    """
    known = sites(folder)
    with _control(folder) as control:
        try:
            nodes = control.ListNodes(ListNodesRequest()).nodes_info
        except httpx.HTTPError as error:
            raise explained(error, place(folder).address) from None
    there = {str(node.node_id) for node in nodes if node.status == NodeStatus.ONLINE}
    return {name: facts["node_id"] in there for name, facts in known.items()}


def register(folder: Path, name: str, public_key: bytes) -> None:
    """Let a site in, known by its public key (one OpenSSH line). The server must be running. Done
    twice, it changes nothing.
    """
    if not _NAME.fullmatch(name):
        raise PeerError(
            f"site {name!r}: a name needs 1 to 64 letters, digits, dots, dashes or underscores"
        )
    line = " ".join(public_key.decode("ascii", "replace").split()[:2])
    pem = _pem(name, line)
    with _locked(folder):
        known = sites(folder)
        for other, facts in known.items():
            if (other == name) != (facts["public_key"] == line):
                what = "has another key" if other == name else f"has the key of {name}"
                raise PeerError(f"site {other} {what}; unregister {other} first if that is meant")
        if name not in known:
            known[name] = {"public_key": line, "node_id": str(_registered(folder, name, pem))}
            replace_file(folder / SITES, json.dumps(known, indent=1).encode())


def unregister(folder: Path, name: str) -> None:
    """Let a site in no longer. The server must be running."""
    with _locked(folder):
        known = sites(folder)
        if name not in known:
            raise PeerError(f"site {name!r} is not registered.{did_you_mean(name, list(known))}")
        with _control(folder) as control:
            try:
                control.UnregisterNode(UnregisterNodeRequest(node_id=int(known[name]["node_id"])))
            except httpx.HTTPError as error:
                if not (
                    isinstance(error, httpx.HTTPStatusError)
                    and error.response.status_code == httpx.codes.NOT_FOUND
                ):
                    raise explained(error, place(folder).address) from None
        del known[name]
        replace_file(folder / SITES, json.dumps(known, indent=1).encode())


def _pem(name: str, line: str) -> bytes:
    try:
        key = load_ssh_public_key(line.encode())
    except (ValueError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, ec.SECP384R1):
        raise PeerError(
            f"site {name}: its public key needs to be the line of its .pub file"
            " (ecdsa-sha2-nistp384 …)"
        )
    return public_key_to_bytes(key)


def _registered(folder: Path, name: str, pem: bytes) -> int:
    """Register a key and return Flower's number for it; a key that it knows already, after a stop
    halfway, is looked up.
    """
    with _control(folder) as control:
        try:
            return int(control.RegisterNode(RegisterNodeRequest(public_key=pem, name=name)).node_id)
        except httpx.HTTPError as error:
            if not (
                isinstance(error, httpx.HTTPStatusError) and error.response.status_code == _TAKEN
            ):
                raise explained(error, place(folder).address) from None
            for node in control.ListNodes(ListNodesRequest()).nodes_info:
                if node.public_key == pem and not node.unregistered_at:
                    return int(node.node_id)
            raise PeerError(
                f"site {name}: its key was unregistered before and cannot come back; make a new key"
            ) from None


def _control(folder: Path) -> ControlHttpClient:
    keep_quiet(folder)
    secret = Headers({SECRET_HEADER: read_private(folder / SECRET).hex()})
    return connected(ControlHttpClient, place(folder).address, root_certificate(folder), [secret])


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    with (folder / "sites.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
