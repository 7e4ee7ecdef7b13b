"""Listening sockets of a process, read from /proc."""

from __future__ import annotations

import os
import socket
import struct
from pathlib import Path

_LISTENING = "0A"


def list_listening_sockets(pid: int) -> set[tuple[str, int]] | None:
    """Hosts and ports on which a process listens; None on systems without /proc."""
    if not Path("/proc/net/tcp").exists():
        return None
    mine = _sockets(pid)
    return {
        (_host(fields[1].split(":")[0]), int(fields[1].split(":")[1], 16))
        for table in (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
        if table.exists()
        for fields in (line.split() for line in table.read_text().splitlines()[1:])
        if fields[3] == _LISTENING and fields[9] in mine
    }


def _sockets(pid: int) -> set[str]:
    found = set()
    for handle in Path(f"/proc/{pid}/fd").iterdir():
        try:
            target = os.readlink(handle)
        except OSError:  # closed meanwhile
            continue
        if target.startswith("socket:["):
            found.add(target[8:-1])
    return found


def _host(digits: str) -> str:
    """Convert the kernel's hexadecimal address: four-byte words in the machine's byte order."""
    words = [
        struct.pack("=I", int(digits[place : place + 8], 16)) for place in range(0, len(digits), 8)
    ]
    return socket.inet_ntop(socket.AF_INET if len(words) == 1 else socket.AF_INET6, b"".join(words))
