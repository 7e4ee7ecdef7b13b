"""Proxies in threads: one that passes CONNECT tunnels on to this machine, one that asks for a password, one that opens TLS."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass
class CountingProxy:
    """A CONNECT proxy that passes every tunnel to one port of this machine, whatever host it names.

    `user` is the USER:PASSWORD that it asks for. With `opens_tls` it does not pass TLS on, and answers with a certificate of
    its own. `cut_after` bytes of a server's answers it closes the connection, `cuts` times in all.
    """

    target: int
    user: str | None = None
    opens_tls: ssl.SSLContext | None = None
    refuses: bool = False
    cut_after: int = 0
    cuts: int = 0
    tunnels: list[str] = field(default_factory=list)
    heads: list[str] = field(default_factory=list)
    port: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            await self._serve(reader, writer)
        writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.heads.append(head)
        wanted = f"Basic {base64.b64encode(self.user.encode()).decode()}" if self.user else None
        if wanted and wanted not in head:
            writer.write(
                b"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\n"
                b"content-length: 0\r\n\r\n"
            )
            await writer.drain()
            return
        if self.refuses or not head.startswith("CONNECT "):
            writer.write(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n")
            await writer.drain()
            return
        self.tunnels.append(head.split()[1])
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await writer.drain()
        if self.opens_tls is not None:
            await writer.start_tls(self.opens_tls)
            await reader.read(100)
            return
        there, on = await asyncio.open_connection("127.0.0.1", self.target)
        await asyncio.gather(_copy(reader, on), self._copy_back(there, writer))

    async def _copy_back(self, there: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        passed = 0
        while data := await there.read(65_536):
            passed += len(data)
            if self.cuts and passed > self.cut_after:
                self.cuts -= 1
                break
            writer.write(data)
            await writer.drain()
        writer.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    writer.close()


@contextlib.contextmanager
def running_proxy(proxy: CountingProxy) -> Iterator[CountingProxy]:
    """Run a proxy in a thread of its own."""
    ready, loops = threading.Event(), list[asyncio.AbstractEventLoop]()

    stop = asyncio.Event()

    async def run() -> None:
        server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
        loops.append(asyncio.get_running_loop())
        proxy.port = server.sockets[0].getsockname()[1]
        ready.set()
        await stop.wait()

    def work() -> None:
        asyncio.run(run())

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    assert ready.wait(20)
    try:
        yield proxy
    finally:
        loops[0].call_soon_threadsafe(stop.set)
        thread.join(20)
