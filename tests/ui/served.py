"""Applications of pages for tests: with a client in this process, or served to a browser."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from starlette.testclient import TestClient

from tacit.ui.access.addresses import ListenAddress, choose_address
from tacit.ui.access.gate import PageAccess
from tacit.ui.application import PageSet, build_application
from tacit.ui.serve import build_access, build_server

HERE = "http://127.0.0.1:8000"
FORM = {"origin": HERE}
"""Header of a form that a page of the application itself submits."""


@dataclass(frozen=True, kw_only=True)
class Served:
    """A served application and its log-in links, of which the last one is valid."""

    origin: str
    lines: list[str]

    @property
    def link(self) -> str:
        """The log-in link that works now."""
        return self.lines[-1].partition(": ")[2]


def build_client(
    pages: PageSet, *, log_in: bool = True, address: ListenAddress | None = None
) -> tuple[TestClient, PageAccess, list[str]]:
    """A client of an application, logged in by the one-time link; its access, and all links."""
    address = address or choose_address("127.0.0.1", 8000)
    links: list[str] = []
    access = build_access(address, links.append)
    access.sessions.offer_link()
    client = TestClient(
        build_application(pages, access),
        base_url=address.origin,
        follow_redirects=False,
        raise_server_exceptions=False,
        client=("127.0.0.1", 5000),
        headers={"accept": "text/html"},
    )
    if log_in:
        answer = client.get(read_path(links[-1]))
        assert answer.status_code == 303, answer.text
    return client, access, links


def read_path(line: str) -> str:
    """Path and query of a log-in link, from the line that shows it."""
    return "/" + line.partition("://")[2].partition("/")[2]


@contextmanager
def serve(pages: PageSet) -> Iterator[Served]:
    """Serve an application on a free port of this machine, in a thread."""
    links: list[str] = []
    access = build_access(choose_address("127.0.0.1", 0), links.append)
    server = build_server(pages, access)
    access.sessions.offer_link()
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.01)
    try:
        yield Served(origin=access.address.origin, lines=links)
    finally:
        server.should_exit = True
        thread.join(10)
