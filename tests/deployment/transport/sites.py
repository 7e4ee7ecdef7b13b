"""A server's folder, sites in threads, and what the tests of this room ask of them."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tacit.deployment.transport import certificates
from tacit.deployment.transport.server.channel import FlowerChannel
from tacit.deployment.transport.site.node import Node

LARGEST = 12_000_000


def server_folder(folder: Path) -> Path:
    certificates.make_authority(folder)
    certificates.make_server_certificate(folder, ["server.example"])
    return folder


def node(folder: Path, address: str, root: Path | None) -> Node:
    return Node(address=address, root_certificate=root, key=None, folder=folder, max_bytes=LARGEST)


@contextlib.contextmanager
def running(site: Node, handle: Callable[[bytes], bytes]) -> Iterator[list[str]]:
    """Let a site answer messages in a thread; yield the list of what it says it does."""
    states: list[str] = []
    stop = threading.Event()
    thread = threading.Thread(target=site.run, args=(handle, stop, states.append))
    thread.start()
    try:
        yield states
    finally:
        stop.set()
        thread.join()


def until(happened: Callable[[], object], seconds: float = 60.0) -> None:
    """Wait until something has happened."""
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.05)


def answers(channel: FlowerChannel, wanted: set[str]) -> dict[str, bytes | None]:
    """Return the answers to messages, by message id."""
    found: dict[str, bytes | None] = {}

    def all_there() -> bool:
        found.update(channel.collect())
        return wanted <= found.keys()

    until(all_there)
    return found
