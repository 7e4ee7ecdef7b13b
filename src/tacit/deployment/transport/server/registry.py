"""The registered sites of a server: name, public keys, Flower's node id, and whether the site is
revoked.
"""

from __future__ import annotations

import fcntl
import json
import re
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
from flwr.proto.control_pb2 import ListNodesRequest, RegisterNodeRequest, UnregisterNodeRequest
from flwr.supercore.constant import NodeStatus
from flwr.supercore.control import ControlHttpClient
from flwr.supercore.primitives.asymmetric import public_key_to_bytes

from tacit.deployment.transport.certificates import parse_node_key, read_private
from tacit.deployment.transport.flower_log import redirect_flower_log
from tacit.deployment.transport.http_client import SECRET_HEADER, Headers, connect, explain_error
from tacit.deployment.transport.server.endpoint import SECRET, find_root_certificate, read_endpoint
from tacit.errors import PeerError, did_you_mean
from tacit.files import replace_file

SITES = "sites.json"
"""Every registered site: {name: {public_key, node_id}}, with `signing_key` if its request gave one
and with the time `revoked` if it is revoked.
"""

_HELD = threading.local()
"""The folders whose lock a thread holds."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_TAKEN = httpx.codes.PRECONDITION_FAILED


def read_sites(folder: Path) -> dict[str, dict[str, str]]:
    """Admitted sites of a server's folder, by name: those that are registered and not revoked."""
    return {name: facts for name, facts in read_registry(folder).items() if "revoked" not in facts}


def read_registry(folder: Path) -> dict[str, dict[str, str]]:
    """Registered sites of a server's folder, by name, the revoked ones included."""
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


def register(
    folder: Path,
    name: str,
    public_key: bytes,
    *,
    signing_key: str | None = None,
    replaces: str | None = None,
) -> None:
    """Admit a site with its public key (one OpenSSH line). The server must be running.

    Registering the same name and key again changes nothing. A new key takes the place of the one
    given as `replaces`, or of the key of a revoked site; that key is then refused for good.
    """
    if not _NAME.fullmatch(name):
        raise PeerError(
            f"site {name!r}: a name must have 1 to 64 letters, digits, dots, dashes or underscores"
        )
    line = " ".join(public_key.decode("ascii", "replace").split()[:2])
    pem = _convert_public_key(name, line)
    with lock_registry(folder):
        known = read_registry(folder)
        refuse_similar_name(known, name)
        former = known.get(name)
        if (
            former is not None
            and former["public_key"] != line
            and (former["public_key"] == replaces or "revoked" in former)
        ):
            del known[name]
        else:
            former = None
        _refuse_known_keys(known, name, line, signing_key)
        if name not in known:
            known[name] = {"public_key": line, "node_id": str(_register_key(folder, name, pem))}
            if signing_key is not None:
                known[name]["signing_key"] = signing_key
            _write_registry(folder, known)
        if former is not None:
            _unregister_node(folder, former["node_id"])


def refuse_similar_name(known: Iterable[str], name: str) -> None:
    """Raise PeerError for a name that differs from a registered one in upper and lower case only:
    people who compare fingerprints would take one site for the other.
    """
    similar = [one for one in known if one != name and one.casefold() == name.casefold()]
    if similar:
        raise PeerError(
            f"{name}: {similar[0]} is registered, and the names differ in upper and lower case"
            " only; choose another name"
        )


def _refuse_known_keys(
    known: dict[str, dict[str, str]], name: str, line: str, signing_key: str | None
) -> None:
    """Raise PeerError if the name has another key, or another site has one of these keys."""
    for other, facts in known.items():
        is_same = facts["public_key"] == line or (
            other != name and signing_key is not None and facts.get("signing_key") == signing_key
        )
        if (other == name) != is_same:
            problem = (
                "is already registered with another key"
                if other == name
                else f"is already registered with the key of {name}"
            )
            raise PeerError(
                f"site {other} {problem}; to replace it, revoke {other} first with `tacit"
                f" server revoke {other}`"
            )


def revoke(folder: Path, name: str) -> None:
    """Revoke a site: from now on the server refuses its requests. `restore` undoes it."""
    with lock_registry(folder):
        known = read_registry(folder)
        _find_site(known, name)["revoked"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        _write_registry(folder, known)


def restore(folder: Path, name: str) -> None:
    """Admit a revoked site again, with the keys it had."""
    with lock_registry(folder):
        known = read_registry(folder)
        if _find_site(known, name).pop("revoked", None) is None:
            raise PeerError(f"site {name} is not revoked; nothing was changed")
        _write_registry(folder, known)


def _find_site(known: dict[str, dict[str, str]], name: str) -> dict[str, str]:
    if name not in known:
        raise PeerError(f"site {name!r} is not registered.{did_you_mean(name, list(known))}")
    return known[name]


def _write_registry(folder: Path, known: dict[str, dict[str, str]]) -> None:
    replace_file(folder / SITES, json.dumps(known, indent=1).encode())


def _unregister_node(folder: Path, node_id: str) -> None:
    """Make Flower refuse a node for good. The server must be running."""
    with _connect_control(folder) as control:
        try:
            control.UnregisterNode(UnregisterNodeRequest(node_id=int(node_id)))
        except httpx.HTTPError as error:
            if not (
                isinstance(error, httpx.HTTPStatusError)
                and error.response.status_code == httpx.codes.NOT_FOUND
            ):
                raise explain_error(error, read_endpoint(folder).address) from None


def _convert_public_key(name: str, line: str) -> bytes:
    try:
        return public_key_to_bytes(parse_node_key(line))
    except ValueError:
        raise PeerError(
            f"site {name}: the public key must be the line of its .pub file (ecdsa-sha2-nistp384 …)"
        ) from None


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
                f"site {name}: its key was replaced by another one and cannot be admitted again; make"
                " a new key with `tacit site rekey`"
            ) from None


def _connect_control(folder: Path) -> ControlHttpClient:
    redirect_flower_log(folder)
    secret = Headers({SECRET_HEADER: read_private(folder / SECRET).hex()})
    return connect(
        ControlHttpClient, read_endpoint(folder).address, find_root_certificate(folder), [secret]
    )


@contextmanager
def lock_registry(folder: Path) -> Iterator[None]:
    """Keep other commands from changing the registered sites while the block runs. Blocks of one
    thread may be nested.
    """
    held: set[Path] = _HELD.__dict__.setdefault("folders", set())
    place = folder.resolve()
    if place in held:
        yield
        return
    with (folder / "sites.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        held.add(place)
        try:
            yield
        finally:
            held.discard(place)
