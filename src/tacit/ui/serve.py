"""Serve an application with uvicorn until it is stopped."""

from __future__ import annotations

import socket
from collections.abc import Callable
from types import FrameType
from typing import Any

import uvicorn

from tacit.ui.access.addresses import ListenAddress, is_loopback
from tacit.ui.access.gate import LOGIN, PageAccess
from tacit.ui.access.peers import list_own_users
from tacit.ui.access.sessions import Sessions
from tacit.ui.application import PageSet, build_application
from tacit.ui.connections import PromptProtocol

_MAX_CONNECTIONS = 256
_SECONDS_TO_END = 2
_KEEP_ALIVE_SECONDS = 10


class PageServer(uvicorn.Server):
    """Uvicorn's server; it ends open event streams when it is asked to stop."""

    def __init__(
        self,
        config: uvicorn.Config,
        on_stop: Callable[[], None],
        on_start: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(config)
        self._on_stop, self._on_start = on_stop, on_start

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen; then show the link, so that nobody follows it to another user's port."""
        await super().startup(sockets)
        if self.started:
            self._on_start()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop, at SIGINT or SIGTERM."""
        self._on_stop()
        super().handle_exit(sig, frame)


def serve_pages(pages: PageSet, address: ListenAddress, tell: Callable[[str], None]) -> None:
    """Serve some pages until Ctrl-C; `tell` shows a line to the user."""
    access = build_access(address, tell)

    def greet() -> None:
        access.sessions.offer_link()
        if access.sessions.has_password:
            tell(f"open {address.origin}/ and log in with the password; stop with Ctrl-C")

    build_server(pages, access, greet).run()


def build_access(address: ListenAddress, tell: Callable[[str], None]) -> PageAccess:
    """Who may open the pages: on loopback by a one-time link, elsewhere by the password."""

    def show_link(token: str) -> None:
        tell(f"open once: {address.origin}{LOGIN}?token={token}")

    link = show_link if is_loopback(address.host) else None
    sessions = Sessions(address.password, link, own_users=list_own_users())
    return PageAccess(address=address, sessions=sessions)


def build_server(
    pages: PageSet, access: PageAccess, on_start: Callable[[], None] = lambda: None
) -> PageServer:
    """The server of some pages, not yet started; `on_start` is called once it listens."""
    application = build_application(pages, access)
    address = access.address
    settings: dict[str, Any] = {}
    if address.certificate and address.key:
        settings = {"ssl_certfile": str(address.certificate), "ssl_keyfile": str(address.key)}
    config = uvicorn.Config(
        application,
        host=address.host.strip("[]"),
        port=address.port,
        http=PromptProtocol,
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
    return PageServer(config, application.state.streams.stop, on_start)
