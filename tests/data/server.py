"""A small web server on this machine whose manners a test can choose."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Manners:
    content: bytes
    ranges: bool = True
    die_after: list[int] = field(
        default_factory=list
    )  # bytes sent before each of the next answers breaks off
    status: int = 200
    asked: list[str | None] = field(default_factory=list)  # the Range header of each request
    url: str = ""


@contextlib.contextmanager
def serving(manners: Manners, name: str = "file.bin") -> Iterator[Manners]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

        def do_GET(self) -> None:
            wanted = self.headers.get("Range")
            manners.asked.append(wanted)
            if manners.status != 200:
                self.send_error(manners.status)
                return
            start = (
                int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and manners.ranges else 0
            )
            if start >= len(manners.content):
                self.send_error(416)
                return
            body = manners.content[start:]
            self.send_response(206 if start else 200)
            if start:
                self.send_header(
                    "Content-Range",
                    f"bytes {start}-{len(manners.content) - 1}/{len(manners.content)}",
                )
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if manners.die_after:
                body = body[: manners.die_after.pop(0)]
            self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
    )
    thread.start()
    manners.url = f"http://127.0.0.1:{server.server_address[1]}/{name}"
    try:
        yield manners
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
