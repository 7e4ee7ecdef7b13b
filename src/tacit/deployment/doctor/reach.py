"""Whether a server answers, and what its clock says."""

from __future__ import annotations

import socket
import ssl
import time
import urllib.error
import urllib.request
from email.utils import parsedate_to_datetime
from pathlib import Path

_SECONDS = 5.0


def reached(address: str, authority: Path | None) -> tuple[str, float | None]:
    """Return why a server does not answer, or nothing if it does; and by how many seconds this
    machine's clock is ahead of its.

    With an authority the server must show a certificate that it signed, for the name in the
    address.
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
        ) as answer:
            date = answer.headers.get("Date")
        here = (before + time.time()) / 2
    except urllib.error.URLError as error:
        return _why(error.reason), None
    except (OSError, ValueError) as error:
        return _why(error), None
    if date is None:
        return "", None
    try:
        there = parsedate_to_datetime(date).timestamp() + 0.5  # it names whole seconds
    except ValueError:
        return "", None
    return "", here - there


def _why(error: object) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate does not hold ({error.verify_message})"
    if isinstance(error, ssl.SSLError):
        return "it does not speak TLS as it should"
    if isinstance(error, socket.gaierror):
        return "its name is not known"
    return (getattr(error, "strerror", None) or str(error) or "no answer").lower()
