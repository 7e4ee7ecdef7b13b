"""Server addresses of the form host:port. Plain HTTP is allowed on the loopback interface only."""

from __future__ import annotations

import ipaddress
import re

from tacit.errors import PeerError

_ADDRESS = re.compile(
    r"(?P<host>[A-Za-z0-9._-]{1,253}|\[?[0-9A-Fa-f:.]{2,45}(?:%[A-Za-z0-9._-]{1,32})?\]?):(?P<port>[0-9]{1,5})"
)
"""A host name or an IP address, and a port. Other characters could make an address look like more
than one line of a terminal.
"""


def split_address(address: str) -> tuple[str, int]:
    """Split host:port; the brackets of an IPv6 address are removed.

    Edge cases: an international host name is given in its ASCII form (xn--…).
    """
    found = _ADDRESS.fullmatch(address)
    if found is None or not 0 < int(found["port"]) < 65536:
        raise PeerError(
            f"address must be host:port, such as server.example:8443 or 127.0.0.1:8443, got"
            f" {address!a}"
        )
    return found["host"].removeprefix("[").removesuffix("]"), int(found["port"])


def join_address(host: str, port: int) -> str:
    """Join host and port; an IPv6 address gets brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def is_loopback(host: str) -> bool:
    """Whether `host` is this machine, so that nobody else can read the traffic."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def require_loopback(host: str, who: str) -> None:
    """Refuse plain HTTP to or from another machine."""
    if not is_loopback(host):
        raise PeerError(
            f"{who} {host} needs TLS: without it only this machine (127.0.0.1) may be used; make"
            " certificates with `tacit server certs create`"
        )
