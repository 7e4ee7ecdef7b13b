"""The SuperLink in a process of its own: serving it, and starting and checking it from another
process.
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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.deployment.transport.address import join_address, require_loopback
from tacit.deployment.transport.certificates import (
    AUTHORITY,
    SERVER_CERTIFICATE,
    SERVER_KEY,
    make_private_folder,
    read_private,
)
from tacit.deployment.transport.flower_log import LOG, redirect_flower_log
from tacit.deployment.transport.server.endpoint import (
    LINK,
    SECRET,
    SUPEREXEC_SECRET,
    ServerEndpoint,
    read_endpoint,
    write_endpoint,
)
from tacit.deployment.transport.superlink.listening_sockets import list_listening_sockets
from tacit.errors import PeerError
from tacit.files import replace_file

if TYPE_CHECKING:
    import uvicorn

__all__ = [
    "BODY_LIMIT",
    "ServerEndpoint",
    "SuperLinkSettings",
    "end_with_parent",
    "serve",
    "start_superlink",
]

BODY_LIMIT = 8 * 2**20
"""Largest request body. Messages travel in chunks of 5 MiB, so this does not limit a message."""
_START_SECONDS = 60.0
_STOP_SECONDS = 10.0


@dataclass(frozen=True)
class SuperLinkSettings:
    """Where a SuperLink listens and how. Port 0 lets the system choose; `link.json` in the folder
    names the port.
    """

    folder: Path
    host: str
    port: int
    tls: bool
    body_limit: int = BODY_LIMIT


def serve(
    settings: SuperLinkSettings,
    tell: Callable[[str], None] = lambda sentence: None,
    on_listening: Callable[[], None] = lambda: None,
) -> None:
    """Serve the SuperLink until SIGTERM or SIGINT. `tell` receives the lines of the access log too;
    `on_listening` is called once, when other commands find the server.
    """
    folder = settings.folder
    if not settings.tls:
        require_loopback(settings.host, "server")
    make_private_folder(folder)
    os.umask(0o077)
    certificates = _find_certificates(folder) if settings.tls else {}
    listening = _bind(settings)
    secret, superexec_secret = (
        _load_secret(folder / SECRET),
        _load_secret(folder / SUPEREXEC_SECRET),
    )
    host, port = listening.getsockname()[:2]

    # Imported here: it takes seconds, and a port in use should be reported at once.
    import uvicorn

    from tacit.deployment.access.gateway import Gateway
    from tacit.deployment.transport.superlink.admitted_sites import AdmittedSites
    from tacit.deployment.transport.superlink.app import create_mailboxes, create_superlink
    from tacit.deployment.transport.superlink.connections import (
        ConnectionLimiter,
        LimitedServer,
        raise_file_limit,
    )
    from tacit.deployment.transport.superlink.http_protocol import TimeLimitedProtocol
    from tacit.deployment.transport.superlink.request_filter import RequestFilter

    redirect_flower_log(folder)
    app, is_registered = create_superlink(folder, host, port, superexec_secret)
    admitted, mailboxes = AdmittedSites(folder), create_mailboxes(app)
    gateway = Gateway(folder, settings.body_limit, tell) if settings.tls else None
    on_bad_certificate = gateway.refuse_handshake if gateway else lambda address, why: None
    limiter = ConnectionLimiter(mailboxes.close, on_bad_certificate)
    request_filter = RequestFilter(
        app,
        secret=secret.hex(),
        is_registered=admitted.confirm_with(is_registered),
        body_limit=settings.body_limit,
        on_authenticated=limiter.mark_authenticated,
        read_roster=admitted.read_roster,
        mailboxes=mailboxes,
        find_node=admitted.find_node,
        people=gateway,
    )
    log_settings: dict[str, Any] = {
        "log_config": None,
        "access_log": False,
        "server_header": False,
        "proxy_headers": False,
    }
    config = uvicorn.Config(
        request_filter,
        http=TimeLimitedProtocol,
        ws="none",
        timeout_keep_alive=30,
        timeout_graceful_shutdown=2,
        **log_settings,
        **certificates,
    )
    server = LimitedServer(config, limiter, gateway.people if gateway else None)
    raise_file_limit()
    with _stop_on_signals(server):  # before others find the server: they may stop it at once
        write_endpoint(folder, ServerEndpoint(host, port, settings.tls, os.getpid()))
        on_listening()
        server.run(sockets=[listening])
    if gateway:
        gateway.log.flush()


@contextmanager
def start_superlink(settings: SuperLinkSettings) -> Iterator[ServerEndpoint]:
    """Start the SuperLink in its own process and yield its endpoint.

    The process ends with the block, or with this process.
    """
    make_private_folder(settings.folder)
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
        [sys.executable, "-P", "-m", "tacit.deployment.transport.superlink.process", *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        endpoint = _wait_until_healthy(process, settings)
        _check_sockets(process.pid, endpoint, settings.host)
        yield endpoint
    finally:
        _stop_process(process)


def _find_certificates(folder: Path) -> dict[str, Any]:
    for name in (AUTHORITY, SERVER_CERTIFICATE, SERVER_KEY):
        if not (folder / name).exists():
            raise PeerError(
                f"TLS needs {folder / name}, which is missing; make it with `tacit server certs create {folder}`"
            )
    read_private(folder / SERVER_KEY)
    return {"ssl_certfile": folder / SERVER_CERTIFICATE, "ssl_keyfile": folder / SERVER_KEY}


def _bind(settings: SuperLinkSettings) -> socket.socket:
    """Bind a listening socket; two servers never share a port."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((settings.host, settings.port))
        listening.listen(512)
    except (OSError, OverflowError) as error:
        listening.close()
        reason = getattr(error, "strerror", None) or str(error)
        raise PeerError(
            f"the server cannot listen on {join_address(settings.host, settings.port)} ({reason});"
            " choose another port or host"
        ) from None
    return listening


def _load_secret(path: Path) -> bytes:
    if not path.exists():
        replace_file(path, secrets.token_bytes(32))
    return read_private(path)


def _wait_until_healthy(
    process: subprocess.Popen[bytes], settings: SuperLinkSettings
) -> ServerEndpoint:
    """Wait until the process responds; if it ended, raise its last line of output."""
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            output = (
                process.stderr.read().decode(errors="replace").strip() if process.stderr else ""
            )
            raise PeerError(
                output.splitlines()[-1]
                if output
                else f"the server ended during startup; see {settings.folder / LOG}"
            )
        with contextlib.suppress(PeerError):
            endpoint = read_endpoint(settings.folder)
            if endpoint.pid == process.pid and _is_healthy(endpoint, settings.folder):
                return endpoint
        time.sleep(0.05)
    raise PeerError(
        f"the server did not respond within {_START_SECONDS:.0f} s; see {settings.folder / LOG}"
    )


def _is_healthy(endpoint: ServerEndpoint, folder: Path) -> bool:
    context = ssl.create_default_context(cafile=folder / AUTHORITY) if endpoint.tls else None
    handler = [
        urllib.request.ProxyHandler({}),
        *([urllib.request.HTTPSHandler(context=context)] if context else []),
    ]
    try:
        scheme = "https" if endpoint.tls else "http"
        with urllib.request.build_opener(*handler).open(
            f"{scheme}://{endpoint.address}/health", timeout=2
        ) as response:
            return bool(response.status == 200)
    except ssl.SSLCertVerificationError as error:
        raise PeerError(
            f"the server's certificate is not valid ({error.verify_message}); make a new one with"
            f" `tacit server certs renew {folder}`"
        ) from None
    except OSError:
        return False


def _check_sockets(pid: int, endpoint: ServerEndpoint, host: str) -> None:
    """Check that the process itself listens on that port, and on no other."""
    sockets = list_listening_sockets(pid)
    if sockets is not None and {join_address(*each) for each in sockets} != {
        join_address(endpoint.host, endpoint.port)
    }:
        raise PeerError(
            f"the server must listen on {join_address(host, endpoint.port)} only, but process"
            f" {pid} listens on {sorted(sockets)}"
        )


def _stop_process(process: subprocess.Popen[bytes]) -> None:
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
def _stop_on_signals(server: uvicorn.Server) -> Iterator[None]:
    """Stop the server at SIGINT or SIGTERM, also before uvicorn handles them. After it has handled
    one, uvicorn raises it a second time, which changes nothing more.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: object) -> None:
        server.should_exit = True

    previous = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def end_with_parent() -> None:
    """End this process when its standard input is closed, however the parent ended."""

    def watch() -> None:
        while os.read(sys.stdin.fileno(), 1):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()


def _main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tacit.deployment.transport.superlink.process")
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
        serve(SuperLinkSettings(words.folder, words.host, words.port, words.tls, words.body_limit))
    except PeerError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(_main())
