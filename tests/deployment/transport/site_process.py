"""A site in a process of its own: says what it does on stdout, turns letters round, and never comes back from the letter `hang`."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path

from tacit.deployment.transport.node import Node


def answer(letter: bytes) -> bytes:
    if letter == b"hang":
        time.sleep(3600)
    return letter[::-1]


if __name__ == "__main__":
    address, root, folder = sys.argv[1:]
    site = Node(
        address=address, root_certificate=Path(root), key=None, folder=Path(folder), largest=1000
    )
    site.run(answer, threading.Event(), lambda state: print(state, flush=True))
