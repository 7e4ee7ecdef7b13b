"""Addresses of the server: written host:port, and in the clear only where nobody else can
listen.
"""

from __future__ import annotations

import ipaddress

from tacit.errors import PeerError


def split(address: str) -> tuple[str, int]:
    """Return host and port of an address."""
    host, colon, port = address.rpartition(":")
    if not colon or not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise PeerError(
            f"address = {address!r}: needs a host and a port such as 'server.example:8443' or"
            " '127.0.0.1:8443'"
        )
    return host.removeprefix("[").removesuffix("]"), int(port)


def joined(host: str, port: int) -> str:
    """Return an address from its two parts."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine itself, so that nothing said to it can be overheard."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def refuse_plain(host: str, who: str) -> None:
    """Refuse to speak without TLS to or on any other machine."""
    if not is_loopback(host):
        raise PeerError(
            f"{who}({host}) needs TLS: without it only this machine itself (127.0.0.1) may be used;"
            " make certificates with `tacit certs`"
        )
