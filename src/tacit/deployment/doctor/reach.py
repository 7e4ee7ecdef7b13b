"""Whether a server responds, and the offset of its clock."""

from __future__ import annotations

import base64
import socket
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from email.utils import parsedate_to_datetime
from pathlib import Path

from tacit.deployment.transport.proxy import Proxy

_SECONDS = 5.0


def probe_server(
    address: str, authority: Path | None, proxy: Proxy | None = None
) -> tuple[str, float | None]:
    """Request /health. Return why the server does not respond (empty if it does) and the clock offset.

    The offset is how many seconds this machine's clock is ahead. With `authority` the server must
    show a certificate that it signed for the host in the address. The request passes `proxy`, and no
    other one.
    """
    handlers: list[urllib.request.BaseHandler] = [urllib.request.ProxyHandler({})]
    try:
        if authority is not None:
            handlers.append(
                urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=authority))
            )
        before = time.time()
        scheme = "http" if authority is None else "https"
        request = urllib.request.Request(f"{scheme}://{address}/health")
        if proxy is not None:
            _send_through(request, proxy)
        with urllib.request.build_opener(*handlers).open(request, timeout=_SECONDS) as response:
            date = response.headers.get("Date")
        here = (before + time.time()) / 2
    except urllib.error.URLError as error:
        return _explain(error.reason), None
    except (OSError, ValueError) as error:
        return _explain(error), None
    if date is None:
        return "", None
    try:
        there = parsedate_to_datetime(date).timestamp() + 0.5  # Date has a resolution of one second
    except ValueError:
        return "", None
    return "", here - there


def _send_through(request: urllib.request.Request, proxy: Proxy) -> None:
    """Let a request pass a proxy by a tunnel, whatever the environment says about proxies."""
    parts = urllib.parse.urlsplit(proxy.url)
    if parts.username is not None:
        user = (
            f"{urllib.parse.unquote(parts.username)}:{urllib.parse.unquote(parts.password or '')}"
        )
        encoded = base64.b64encode(user.encode()).decode()
        request.add_unredirected_header("Proxy-Authorization", f"Basic {encoded}")
    request.set_proxy(proxy.shown, "https")


def _explain(error: object) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not valid ({error.verify_message})"
    if isinstance(error, ssl.SSLError):
        return "TLS handshake failed"
    if isinstance(error, socket.gaierror):
        return "its host name is unknown"
    return (getattr(error, "strerror", None) or str(error) or "no response").lower()
