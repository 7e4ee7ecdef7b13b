"""Limits on open connections, so that idle connections cannot lock out sites.

A connection is unauthenticated until a request on it is signed by a registered site or carries the
server's secret. Unauthenticated clients have seconds for the TLS handshake and for the head of a
request (`http_protocol.py`). Their number is limited, per address and in total: the oldest
connection of the busiest address makes room for the next. A flood from one address therefore
displaces its own connections. Each site has its own limit.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import ipaddress
import resource
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field

import uvicorn

from tacit.deployment.transport.superlink.http_protocol import TimeLimitedProtocol
from tacit.deployment.transport.superlink.renewed_context import CallersCertificates, RenewedContext

HANDSHAKE_SECONDS = 5.0
MAX_UNAUTHENTICATED = 256
MAX_PER_ADDRESS = 32
MAX_PER_SITE = 64
_MAX_FILES = 65_536
_ACCEPT_BATCH = 64
"""Connections accepted before other work of the event loop gets its turn."""
_PAUSE_SECONDS = 0.05
"""How long no connection is accepted when the system has no file handle left and no unauthenticated
connection can be dropped.
"""

_PROBES = {"TCP_KEEPIDLE": 5, "TCP_KEEPINTVL": 3, "TCP_KEEPCNT": 3, "TCP_USER_TIMEOUT": 15_000}
"""When a silent connection is probed: after 5 seconds, every 3 seconds; after three lost probes it
ends, and so it does if sent data is not acknowledged within 15 seconds.
"""

Peer = tuple[str, int]
"""Address and port of the other side."""


@dataclass(eq=False)
class AcceptedConnection:
    """One accepted connection.

    `key` is the network it comes from while it is unauthenticated, then the site that authenticated
    on it.
    """

    socket: socket.socket
    peer: Peer
    key: object
    task: asyncio.Task[None] | None = None
    transport: asyncio.BaseTransport | None = None

    def drop(self) -> None:
        """End the connection immediately, in whatever state it is."""
        if isinstance(self.transport, asyncio.Transport):
            self.transport.abort()
            return
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        if self.task is not None:
            self.task.cancel()


@dataclass
class ConnectionTable:
    """Open connections, oldest first: unauthenticated ones by network, authenticated ones by key."""

    unauthenticated: dict[Peer, AcceptedConnection] = field(default_factory=dict)
    authenticated: dict[Peer, AcceptedConnection] = field(default_factory=dict)

    def add(self, new: AcceptedConnection) -> list[AcceptedConnection]:
        """Add an unauthenticated connection; return the connections to drop for it."""
        dropped = []
        same = [other for other in self.unauthenticated.values() if other.key == new.key]
        if len(same) >= MAX_PER_ADDRESS:
            dropped.append(same[0])
        elif len(self.unauthenticated) >= MAX_UNAUTHENTICATED:
            dropped += self.find_oldest_of_busiest()
        self._forget(dropped)
        self.unauthenticated[new.peer] = new
        return dropped

    def find_oldest_of_busiest(self) -> list[AcceptedConnection]:
        """The oldest connection of the network with the most unauthenticated connections, if there
        is any.
        """
        counts: dict[object, list[AcceptedConnection]] = {}
        for connection in self.unauthenticated.values():
            counts.setdefault(connection.key, []).append(connection)
        return [max(counts.values(), key=len)[0]] if counts else []

    def mark_authenticated(self, peer: Peer, site: object) -> list[AcceptedConnection]:
        """Note that a site, or the server's own command, authenticated on a connection.

        Returns the connections to drop for it.
        """
        connection = self.unauthenticated.pop(peer, None) or self.authenticated.pop(peer, None)
        if connection is None:
            return []
        connection.key = site
        same = [other for other in self.authenticated.values() if other.key == site]
        dropped = same[: max(0, len(same) + 1 - MAX_PER_SITE)]
        self._forget(dropped)
        self.authenticated[peer] = connection  # now the newest of its site
        return dropped

    def remove(self, connection: AcceptedConnection) -> None:
        """Forget a connection that has ended."""
        self._forget([connection])

    def _forget(self, dropped: list[AcceptedConnection]) -> None:
        for connection in dropped:
            for group in (self.unauthenticated, self.authenticated):
                if group.get(connection.peer) is connection:
                    del group[connection.peer]


class ConnectionLimiter:
    """Accepts connections on a socket. To uvicorn it is one of its servers.

    `on_close` is called when the server begins to stop, `on_bad_certificate` with the address of a
    client whose certificate TLS refuses, and why.
    """

    def __init__(
        self,
        on_close: Callable[[], None] = lambda: None,
        on_bad_certificate: Callable[[str, str], None] = lambda address, why: None,
    ) -> None:
        self.table = ConnectionTable()
        self._on_close, self._on_bad_certificate = on_close, on_bad_certificate
        self._listening: socket.socket | None = None

    def open(
        self,
        listening: socket.socket,
        protocol: Callable[[], TimeLimitedProtocol],
        get_context: Callable[[], ssl.SSLContext | None],
    ) -> None:
        """Start to accept connections in the running event loop; `get_context` returns the TLS
        context of a new connection.
        """
        self._loop = asyncio.get_running_loop()
        self._listening, self._protocol, self._get_context = listening, protocol, get_context
        listening.setblocking(False)
        self._loop.add_reader(listening, self._accept)

    def mark_authenticated(self, peer: object, site: object) -> None:
        """Note that a request on a connection was authenticated; `peer` is its address and port."""
        if isinstance(peer, tuple | list):
            self._drop(self.table.mark_authenticated((str(peer[0]), int(peer[1])), site))

    def close(self) -> None:
        """Stop accepting, and drop connections whose handshake is not complete."""
        self._on_close()
        if self._listening is not None:
            self._loop.remove_reader(self._listening)
            self._listening = None
        self._drop(
            [
                connection
                for connection in self.table.unauthenticated.values()
                if connection.transport is None
            ]
        )

    async def wait_closed(self) -> None:
        """Return at once: nothing is left to wait for."""

    def _accept(self) -> None:
        for _ in range(_ACCEPT_BATCH):
            if self._listening is None:
                return
            try:
                accepted, address = self._listening.accept()
            except OSError as error:
                if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM):
                    self._make_room()
                return
            accepted.setblocking(False)
            _probe_when_idle(accepted)
            peer = (str(address[0]), int(address[1]))
            new = AcceptedConnection(accepted, peer, find_network(peer[0]))
            self._drop(self.table.add(new))
            new.task = self._loop.create_task(self._admit(new))

    async def _admit(self, new: AcceptedConnection) -> None:
        """Perform the TLS handshake and pass the connection to the protocol; drop it on failure or
        timeout.
        """
        context = self._get_context()
        limit = HANDSHAKE_SECONDS if context else None
        try:
            new.transport, _ = await self._loop.connect_accepted_socket(
                lambda: self._build_protocol(new),
                new.socket,
                ssl=context,
                ssl_handshake_timeout=limit,
            )
        except (OSError, asyncio.CancelledError) as error:  # of TLS too
            if isinstance(error, ssl.SSLCertVerificationError):
                self._on_bad_certificate(new.peer[0], error.verify_message)
            self.table.remove(new)
            with contextlib.suppress(OSError):
                new.socket.close()

    def _build_protocol(self, new: AcceptedConnection) -> TimeLimitedProtocol:
        made = self._protocol()
        made.on_lost = lambda: self.table.remove(new)
        return made

    def _drop(self, dropped: list[AcceptedConnection]) -> None:
        for connection in dropped:
            self.table.remove(connection)
            connection.drop()

    def _make_room(self) -> None:
        """Drop an unauthenticated connection to free its file handle, and accept again after a
        pause.
        """
        assert self._listening is not None
        self._drop(self.table.find_oldest_of_busiest())
        self._loop.remove_reader(self._listening)
        self._loop.call_later(_PAUSE_SECONDS, self._resume)

    def _resume(self) -> None:
        if self._listening is not None:
            self._loop.add_reader(self._listening, self._accept)


class LimitedServer(uvicorn.Server):
    """uvicorn's server with a limiter that accepts its connections."""

    def __init__(
        self,
        config: uvicorn.Config,
        limiter: ConnectionLimiter,
        callers: CallersCertificates | None = None,
    ) -> None:
        super().__init__(config)
        self._limiter, self._callers = limiter, callers

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start the application, then accept connections on the only socket."""
        await self.lifespan.startup()
        if self.lifespan.should_exit:
            self.should_exit = True
            return
        (listening,) = sockets or []
        if self.config.ssl is None:
            self._limiter.open(listening, self._protocol, lambda: None)
        else:
            renewed = RenewedContext(self.config, self._callers)
            self._limiter.open(listening, self._protocol, renewed.get)
        self.servers = [self._limiter]  # type: ignore[list-item]
        self.started = True

    def _protocol(self) -> TimeLimitedProtocol:
        return TimeLimitedProtocol(self.config, self.server_state, self.lifespan.state)


def _probe_when_idle(accepted: socket.socket) -> None:
    """Let the system end the connection if the other machine no longer acknowledges anything.

    A busy or stopped process does not matter: its system acknowledges for it.
    """
    accepted.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _PROBES.items():
        if hasattr(socket, name):
            with contextlib.suppress(OSError):
                accepted.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def find_network(address: str) -> str:
    """The network of one owner: an IPv4 address itself, the first 64 bits of an IPv6 address."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv6Address):
        return str(found.ipv4_mapped or ipaddress.ip_network((found, 64), strict=False))
    return str(found)


def raise_file_limit() -> int:
    """Raise this process's limit of open files as far as the system allows, up to a bound; return
    it.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _MAX_FILES if hard == resource.RLIM_INFINITY else min(hard, _MAX_FILES)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        return most
    return soft
