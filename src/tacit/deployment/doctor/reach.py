"""Whether a server responds, and the offset of its clock."""

from __future__ import annotations

import socket
import ssl
import time
import urllib.error
import urllib.request
from email.utils import parsedate_to_datetime
from pathlib import Path

_SECONDS = 5.0


def probe_server(address: str, authority: Path | None) -> tuple[str, float | None]:
    """Request /health. Return why the server does not respond (empty if it does) and the clock offset.

    The offset is how many seconds this machine's clock is ahead. With `authority` the server must
    show a certificate that it signed for the host in the address.
    """
    handlers: list[urllib.request.BaseHandler] = [urllib.request.ProxyHandler({})]
    try:
        if authority is not None:
            handlers.append(
                urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=authority))
            )
        before = time.time()
        scheme = "http" if authority is None else "https"
        with urllib.request.build_opener(*handlers).open(
            f"{scheme}://{address}/health", timeout=_SECONDS
        ) as response:
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


def _explain(error: object) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not valid ({error.verify_message})"
    if isinstance(error, ssl.SSLError):
        return "TLS handshake failed"
    if isinstance(error, socket.gaierror):
        return "its host name is unknown"
    return (getattr(error, "strerror", None) or str(error) or "no response").lower()
