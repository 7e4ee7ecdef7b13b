"""The user at the other end of a connection within this machine, as the kernel of Linux names it."""

from __future__ import annotations

import ipaddress
import os
import socket
import sys
from collections.abc import Mapping
from pathlib import Path

from starlette.types import Scope

_TABLES = Path("/proc/net")
_LOGIN = Path("/proc/self/loginuid")
_NO_LOGIN = 2**32 - 1
_MAPPED = bytes(10) + b"\xff\xff"


def find_peer_user(scope: Scope) -> int | None:
    """The user whose process sent a request; None if it came from another machine, or if the kernel
    does not say. A socket that its process has closed has no user.
    """
    client, server = scope.get("client"), scope.get("server")
    if not client or not server or server[1] is None:
        return None
    try:
        if not ipaddress.ip_address(client[0]).is_loopback:
            return None
        ends = [_list_forms(*client), _list_forms(*server)]
    except (ValueError, OSError):
        return None
    wanted = set(zip(*ends, strict=False))
    for name in ("tcp", "tcp6"):
        try:
            lines = (_TABLES / name).read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            parts = line.split()
            if (parts[1], parts[2]) in wanted and parts[9] != "0":
                return int(parts[7])
    return None


def _list_forms(host: str, port: int) -> list[str]:
    """An end of a connection as the tables write it: an IPv4 address also as one of IPv6."""
    if ":" in host:
        return [_write(socket.inet_pton(socket.AF_INET6, host), port)]
    packed = socket.inet_aton(host)
    return [_write(packed, port), _write(_MAPPED + packed, port)]


def _write(packed: bytes, port: int) -> str:
    words = [packed[place : place + 4] for place in range(0, len(packed), 4)]
    return "".join(f"{int.from_bytes(one, sys.byteorder):08X}" for one in words) + f":{port:04X}"


def list_own_users(environment: Mapping[str, str] = os.environ) -> frozenset[int]:
    """The user of this process, and the one who logged in to this machine and started it."""
    found = {os.getuid()} if hasattr(os, "getuid") else set[int]()
    try:
        login = int(_LOGIN.read_text())
    except (OSError, ValueError):
        login = _NO_LOGIN
    if login != _NO_LOGIN:
        found.add(login)
    before = environment.get("SUDO_UID", "")
    return frozenset(found | ({int(before)} if before.isascii() and before.isdecimal() else set()))
