"""A site in a process of its own: says what it does on stdout, turns messages round, and never comes back from the message `hang`."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path

from tacit.deployment.transport.site.node import Node


def answer(message: bytes) -> bytes:
    if message == b"hang":
        time.sleep(3600)
    return message[::-1]


if __name__ == "__main__":
    address, root, folder = sys.argv[1:]
    site = Node(
        address=address, root_certificate=Path(root), key=None, folder=Path(folder), max_bytes=1000
    )
    site.run(answer, threading.Event(), lambda state: print(state, flush=True))
