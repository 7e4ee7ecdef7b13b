"""Which connections a server holds open: few from strangers, so that silence cannot keep anybody
out.

A connection is a stranger's until a request on it was signed by a registered site or carried the
server's secret. Strangers have seconds for the TLS handshake and for the head of a request
(`heads.py`), and there is a limit to their number, per address and in all: the oldest of the
address with the most makes room for the next. So whoever floods the server displaces his own
connections. Sites have a limit each.
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

from tacit.deployment.transport.heads import HastyProtocol

HANDSHAKE_SECONDS = 5.0
MOST_STRANGERS = 256
MOST_PER_ADDRESS = 32
MOST_PER_SITE = 64
_MOST_FILES = 65_536
_AT_ONCE = 64
"""How many connections are accepted before others get their turn."""
_PAUSE_SECONDS = 0.05
"""How long nothing is accepted when the system has no file handle left and no stranger can make
room.
"""

Peer = tuple[str, int]
"""Address and port of the other side."""


@dataclass(eq=False)
class Connection:
    """One accepted connection. `key` is the network it comes from while it is a stranger's, then
    the site that spoke on it.
    """

    socket: socket.socket
    peer: Peer
    key: object
    task: asyncio.Task[None] | None = None
    transport: asyncio.BaseTransport | None = None

    def drop(self) -> None:
        """End it now, whatever state it is in."""
        if isinstance(self.transport, asyncio.Transport):
            self.transport.abort()
            return
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        if self.task is not None:
            self.task.cancel()


@dataclass
class Guests:
    """Who is connected: strangers by network and sites by key, each oldest first."""

    strangers: dict[Peer, Connection] = field(default_factory=dict)
    sites: dict[Peer, Connection] = field(default_factory=dict)

    def enter(self, new: Connection) -> list[Connection]:
        """Take in a stranger; return who must go for it."""
        gone = []
        same = [one for one in self.strangers.values() if one.key == new.key]
        if len(same) >= MOST_PER_ADDRESS:
            gone.append(same[0])
        elif len(self.strangers) >= MOST_STRANGERS:
            gone += self.oldest_of_the_most()
        self._forget(gone)
        self.strangers[new.peer] = new
        return gone

    def oldest_of_the_most(self) -> list[Connection]:
        """Return the oldest connection of the network that has the most strangers; none if there is
        no stranger.
        """
        counts: dict[object, list[Connection]] = {}
        for one in self.strangers.values():
            counts.setdefault(one.key, []).append(one)
        return [max(counts.values(), key=len)[0]] if counts else []

    def prove(self, peer: Peer, site: object) -> list[Connection]:
        """Note that a site, or the server's own command, spoke on a connection; return who must go
        for it.
        """
        known = self.strangers.pop(peer, None) or self.sites.pop(peer, None)
        if known is None:
            return []
        known.key = site
        same = [one for one in self.sites.values() if one.key == site]
        gone = same[: max(0, len(same) + 1 - MOST_PER_SITE)]
        self._forget(gone)
        self.sites[peer] = known  # now the newest of its site
        return gone

    def leave(self, one: Connection) -> None:
        """Forget a connection that has ended."""
        self._forget([one])

    def _forget(self, gone: list[Connection]) -> None:
        for one in gone:
            for known in (self.strangers, self.sites):
                if known.get(one.peer) is one:
                    del known[one.peer]


class Gate:
    """Accepts connections on a socket; to uvicorn it is a server like its own."""

    def __init__(self) -> None:
        self.guests = Guests()
        self._listening: socket.socket | None = None

    def open(
        self,
        listening: socket.socket,
        protocol: Callable[[], HastyProtocol],
        context: ssl.SSLContext | None,
    ) -> None:
        """Begin to accept, in the running loop."""
        self._loop = asyncio.get_running_loop()
        self._listening, self._protocol, self._context = listening, protocol, context
        listening.setblocking(False)
        self._loop.add_reader(listening, self._accept)

    def prove(self, peer: object, site: object) -> None:
        """Note that a request on a connection was signed or carried the secret; `peer` is its
        address and port.
        """
        if isinstance(peer, tuple | list):
            self._drop(self.guests.prove((str(peer[0]), int(peer[1])), site))

    def close(self) -> None:
        """Accept nothing more, and end what is no connection yet."""
        if self._listening is not None:
            self._loop.remove_reader(self._listening)
            self._listening = None
        self._drop([one for one in self.guests.strangers.values() if one.transport is None])

    async def wait_closed(self) -> None:
        """Return at once: nothing is left to wait for."""

    def _accept(self) -> None:
        for _ in range(_AT_ONCE):
            if self._listening is None:
                return
            try:
                accepted, address = self._listening.accept()
            except OSError as error:
                if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM):
                    self._make_room()
                return
            accepted.setblocking(False)
            peer = (str(address[0]), int(address[1]))
            new = Connection(accepted, peer, network_of(peer[0]))
            self._drop(self.guests.enter(new))
            new.task = self._loop.create_task(self._admit(new))

    async def _admit(self, new: Connection) -> None:
        """Shake hands and hand the connection to the protocol; one that fails or takes too long
        ends.
        """
        limit = HANDSHAKE_SECONDS if self._context else None
        try:
            new.transport, _ = await self._loop.connect_accepted_socket(
                lambda: self._made(new), new.socket, ssl=self._context, ssl_handshake_timeout=limit
            )
        except (OSError, asyncio.CancelledError):  # of TLS too
            self.guests.leave(new)
            with contextlib.suppress(OSError):
                new.socket.close()

    def _made(self, new: Connection) -> HastyProtocol:
        made = self._protocol()
        made.on_lost = lambda: self.guests.leave(new)
        return made

    def _drop(self, gone: list[Connection]) -> None:
        for one in gone:
            self.guests.leave(one)
            one.drop()

    def _make_room(self) -> None:
        """End a stranger's connection for its file handle, and look again in a moment."""
        assert self._listening is not None
        self._drop(self.guests.oldest_of_the_most())
        self._loop.remove_reader(self._listening)
        self._loop.call_later(_PAUSE_SECONDS, self._again)

    def _again(self) -> None:
        if self._listening is not None:
            self._loop.add_reader(self._listening, self._accept)


class GatedServer(uvicorn.Server):
    """uvicorn's server, whose connections come through a gate."""

    def __init__(self, config: uvicorn.Config, gate: Gate) -> None:
        super().__init__(config)
        self._gate = gate

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start the application, then accept connections on the one socket."""
        await self.lifespan.startup()
        if self.lifespan.should_exit:
            self.should_exit = True
            return
        (listening,) = sockets or []
        self._gate.open(listening, self._protocol, self.config.ssl)
        self.servers = [self._gate]  # type: ignore[list-item]
        self.started = True

    def _protocol(self) -> HastyProtocol:
        return HastyProtocol(self.config, self.server_state, self.lifespan.state)


def network_of(address: str) -> str:
    """Return what addresses of one holder have in common: an IPv4 address itself, the first 64 bits
    of an IPv6 address.
    """
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv6Address):
        return str(found.ipv4_mapped or ipaddress.ip_network((found, 64), strict=False))
    return str(found)


def raise_file_limit() -> int:
    """Let this process open as many files as the system lets it, up to a bound; return how many."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        return most
    return soft
