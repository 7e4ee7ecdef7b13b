"""Server addresses of the form host:port. Plain HTTP is allowed on the loopback interface only."""

from __future__ import annotations

import ipaddress

from tacit.errors import PeerError


def split_address(address: str) -> tuple[str, int]:
    """Split host:port; the brackets of an IPv6 address are removed."""
    host, colon, port = address.rpartition(":")
    if not colon or not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise PeerError(
            f"address must be host:port, such as server.example:8443 or 127.0.0.1:8443, got"
            f" {address!r}"
        )
    return host.removeprefix("[").removesuffix("]"), int(port)


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
