"""Serve an application with uvicorn until it is stopped."""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType
from typing import Any

import uvicorn

from tacit.ui.access.addresses import ListenAddress, is_loopback
from tacit.ui.access.gate import LOGIN, PageAccess
from tacit.ui.access.sessions import Sessions
from tacit.ui.application import PageSet, build_application

_MAX_CONNECTIONS = 256
_SECONDS_TO_END = 2
_KEEP_ALIVE_SECONDS = 20


class PageServer(uvicorn.Server):
    """Uvicorn's server; it ends open event streams when it is asked to stop."""

    def __init__(self, config: uvicorn.Config, on_stop: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_stop = on_stop

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop, at SIGINT or SIGTERM."""
        self._on_stop()
        super().handle_exit(sig, frame)


def serve_pages(pages: PageSet, address: ListenAddress, tell: Callable[[str], None]) -> None:
    """Serve some pages until Ctrl-C; `tell` shows a line to the user."""
    access = build_access(address, tell)
    server = build_server(pages, access)
    access.sessions.offer_link()
    if access.sessions.has_password:
        tell(f"open {address.origin}/ and log in with the password; stop with Ctrl-C")
    server.run()


def build_access(address: ListenAddress, tell: Callable[[str], None]) -> PageAccess:
    """Who may open the pages: on loopback by a one-time link, elsewhere by the password."""

    def show_link(token: str) -> None:
        tell(f"open once: {address.origin}{LOGIN}?token={token}")

    link = show_link if is_loopback(address.host) else None
    return PageAccess(address=address, sessions=Sessions(address.password, link))


def build_server(pages: PageSet, access: PageAccess) -> PageServer:
    """The server of some pages, not yet started."""
    application = build_application(pages, access)
    address = access.address
    settings: dict[str, Any] = {}
    if address.certificate and address.key:
        settings = {"ssl_certfile": str(address.certificate), "ssl_keyfile": str(address.key)}
    config = uvicorn.Config(
        application,
        host=address.host.strip("[]"),
        port=address.port,
        http="h11",
        ws="none",
        lifespan="on",
        access_log=False,
        log_level="warning",
        server_header=False,
        proxy_headers=False,  # the address of a caller is that of its connection
        limit_concurrency=_MAX_CONNECTIONS,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=_SECONDS_TO_END,
        **settings,
    )
    return PageServer(config, application.state.streams.stop)
