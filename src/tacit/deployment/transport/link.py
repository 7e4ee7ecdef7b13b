"""The SuperLink in a process of its own: how it is served, and how it is started and checked from
another.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import secrets
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.deployment.transport.address import joined, refuse_plain
from tacit.deployment.transport.place import (
    LINK,
    SECRET,
    SUPEREXEC_SECRET,
    Place,
    place,
    tell_place,
)
from tacit.deployment.transport.quiet import LOG, keep_quiet
from tacit.deployment.transport.sockets import listening_places
from tacit.deployment.transport.tls import (
    AUTHORITY,
    SERVER_CERTIFICATE,
    SERVER_KEY,
    private_folder,
    read_private,
)
from tacit.errors import PeerError
from tacit.files import replace_file

__all__ = ["BODY_LIMIT", "LinkSettings", "Place", "end_with_parent", "place", "serve", "started"]

BODY_LIMIT = 8 * 2**20
"""Bytes of one request; letters travel in chunks of 5 MiB, so this limits no letter."""
_START_SECONDS = 60.0
_STOP_SECONDS = 10.0


@dataclass(frozen=True)
class LinkSettings:
    """How a SuperLink is served. Port 0 lets the system choose one; the folder tells which."""

    folder: Path
    host: str
    port: int
    tls: bool
    body_limit: int = BODY_LIMIT


def serve(settings: LinkSettings) -> None:
    """Serve the SuperLink until SIGTERM or SIGINT."""
    folder = settings.folder
    if not settings.tls:
        refuse_plain(settings.host, "server")
    private_folder(folder)
    os.umask(0o077)
    certificates = _certificates(folder) if settings.tls else {}
    listening = _bound(settings)
    secret, superexec_secret = _secret(folder / SECRET), _secret(folder / SUPEREXEC_SECRET)
    host, port = listening.getsockname()[:2]

    # Imported here: it takes seconds, and a port that is taken should be told at once.
    import uvicorn

    from tacit.deployment.transport.front import Front
    from tacit.deployment.transport.gate import Gate, GatedServer, raise_file_limit
    from tacit.deployment.transport.heads import HastyProtocol
    from tacit.deployment.transport.superlink import superlink

    keep_quiet(folder)
    app, known = superlink(folder, host, port, superexec_secret)
    gate = Gate()
    front = Front(
        app, secret=secret.hex(), known=known, body_limit=settings.body_limit, prove=gate.prove
    )
    quiet: dict[str, Any] = {
        "log_config": None,
        "access_log": False,
        "server_header": False,
        "proxy_headers": False,
    }
    served = uvicorn.Config(
        front,
        http=HastyProtocol,
        ws="none",
        timeout_keep_alive=30,
        timeout_graceful_shutdown=2,
        **quiet,
        **certificates,
    )
    tell_place(folder, Place(host, port, settings.tls, os.getpid()))
    raise_file_limit()
    with _signals_end_here():
        GatedServer(served, gate).run(sockets=[listening])


@contextmanager
def started(settings: LinkSettings) -> Iterator[Place]:
    """Start the SuperLink in a process of its own and yield where it listens; it ends with the
    block, or with this process.
    """
    private_folder(settings.folder)
    (settings.folder / LINK).unlink(missing_ok=True)
    words = [
        "--folder",
        str(settings.folder),
        "--host",
        settings.host,
        "--port",
        str(settings.port),
    ]
    words += [
        "--body-limit",
        str(settings.body_limit),
        "--with-parent",
        *(["--tls"] if settings.tls else []),
    ]
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "tacit.deployment.transport.link", *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        found = _healthy(process, settings)
        _check_socket(process.pid, found, settings.host)
        yield found
    finally:
        _ended(process)


def _certificates(folder: Path) -> dict[str, Any]:
    for name in (AUTHORITY, SERVER_CERTIFICATE, SERVER_KEY):
        if not (folder / name).exists():
            raise PeerError(
                f"server(tls) needs {folder / name}, and it is missing; make it with `tacit certs`"
            )
    read_private(folder / SERVER_KEY)
    return {"ssl_certfile": folder / SERVER_CERTIFICATE, "ssl_keyfile": folder / SERVER_KEY}


def _bound(settings: LinkSettings) -> socket.socket:
    """Return a socket that is bound where asked; two servers never share a port."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((settings.host, settings.port))
        listening.listen(512)
    except (OSError, OverflowError) as error:
        listening.close()
        told = getattr(error, "strerror", None) or str(error)
        raise PeerError(
            f"server(port={settings.port}) cannot listen on {settings.host} ({told}); choose"
            " another port or host"
        ) from None
    return listening


def _secret(path: Path) -> bytes:
    if not path.exists():
        replace_file(path, secrets.token_bytes(32))
    return read_private(path)


def _healthy(process: subprocess.Popen[bytes], settings: LinkSettings) -> Place:
    """Wait until the process answers, and return where; tell what it said if it ended."""
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            said = process.stderr.read().decode(errors="replace").strip() if process.stderr else ""
            raise PeerError(
                said.splitlines()[-1]
                if said
                else f"the server ended at once; see {settings.folder / LOG}"
            )
        with contextlib.suppress(PeerError):
            found = place(settings.folder)
            if found.pid == process.pid and _answers(found, settings.folder):
                return found
        time.sleep(0.05)
    raise PeerError(
        f"the server did not answer within {_START_SECONDS:.0f} s; see {settings.folder / LOG}"
    )


def _answers(found: Place, folder: Path) -> bool:
    context = ssl.create_default_context(cafile=folder / AUTHORITY) if found.tls else None
    handler = [
        urllib.request.ProxyHandler({}),
        *([urllib.request.HTTPSHandler(context=context)] if context else []),
    ]
    try:
        scheme = "https" if found.tls else "http"
        with urllib.request.build_opener(*handler).open(
            f"{scheme}://{found.address}/health", timeout=2
        ) as answer:
            return bool(answer.status == 200)
    except ssl.SSLCertVerificationError as error:
        raise PeerError(
            f"the server's certificate does not hold ({error.verify_message}); make it again with"
            " `tacit certs`"
        ) from None
    except OSError:
        return False


def _check_socket(pid: int, found: Place, host: str) -> None:
    """Check that the process itself listens, on that port, and nowhere else than asked."""
    places = listening_places(pid)
    if places is not None and {joined(*each) for each in places} != {
        joined(found.host, found.port)
    }:
        raise PeerError(
            f"the server should listen on {joined(host, found.port)} only, but process {pid}"
            f" listens on {sorted(places)}"
        )


def _ended(process: subprocess.Popen[bytes]) -> None:
    if process.stdin:
        process.stdin.close()
    process.terminate()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stderr:
        process.stderr.close()


@contextmanager
def _signals_end_here() -> Iterator[None]:
    """Let a stop that was asked for end the server and nothing more; its library would raise the
    signal once again.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    earlier = {
        number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, before in earlier.items():
            signal.signal(number, before)


def end_with_parent() -> None:
    """End this process when the other end of its standard input is gone, whatever ended it."""

    def watch() -> None:
        while os.read(sys.stdin.fileno(), 1):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()


def _main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tacit.deployment.transport.link")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--body-limit", type=int, default=BODY_LIMIT)
    parser.add_argument("--tls", action="store_true")
    parser.add_argument(
        "--with-parent", action="store_true", help="end when standard input is closed"
    )
    words = parser.parse_args()
    if words.with_parent:
        end_with_parent()
    try:
        serve(LinkSettings(words.folder, words.host, words.port, words.tls, words.body_limit))
    except PeerError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(_main())
