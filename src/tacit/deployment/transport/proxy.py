"""The HTTPS proxy between this machine and a server, if there is one.

TLS stays end to end: the proxy is asked for a tunnel (CONNECT) and sees the server's host name and
the amount of traffic. The server's certificate is checked as without a proxy. Credentials of a proxy
are part of its URL and are never shown.
"""

from __future__ import annotations

import contextlib
import ipaddress
import urllib.parse
import urllib.request
from dataclasses import dataclass, field

from tacit.deployment.transport.address import is_loopback, join_address, split_address
from tacit.errors import PeerError

NO_PROXY = "none"
"""The setting that uses no proxy, whatever the environment says."""


@dataclass(frozen=True)
class Proxy:
    """An HTTP proxy: its URL, which may hold a password, its host and port, and where it is set."""

    url: str = field(repr=False)
    shown: str
    source: str


def find_proxy(address: str, setting: str | None = None) -> Proxy | None:
    """The proxy to reach a server by: `setting`, or else HTTPS_PROXY unless NO_PROXY lists the
    host. A server on this machine is always reached directly.
    """
    host, port = split_address(address)
    if is_loopback(host) or setting == NO_PROXY:
        return None
    if setting:
        return parse_proxy(setting, "the setting `proxy`")
    found = urllib.request.getproxies_environment()
    url = found.get("https") or found.get("all")
    if not url or _is_bypassed(host, port, found):
        return None
    return parse_proxy(url, "HTTPS_PROXY")


def _is_bypassed(host: str, port: int, found: dict[str, str]) -> bool:
    """Whether NO_PROXY lists a server: by host, host and port, domain, address or network."""
    is_listed = urllib.request.proxy_bypass_environment  # type: ignore[attr-defined]
    if is_listed(host, found) or is_listed(join_address(host, port), found):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    for entry in found.get("no", "").split(","):
        with contextlib.suppress(ValueError):
            if address in ipaddress.ip_network(entry.strip().strip("[]"), strict=False):
                return True
    return False


def parse_proxy(url: str, source: str) -> Proxy:
    """Check the URL of a proxy; errors never quote it, since it may hold a password."""
    wanted = (
        f'{source} must be the URL of an HTTP proxy, such as "http://proxy.example:3128", or'
        f' "{NO_PROXY}"; a user and password go before an @'
    )
    try:
        parts = urllib.parse.urlsplit(url if "://" in url else f"http://{url}")
        host, port = parts.hostname, parts.port or 3128
    except ValueError:
        raise PeerError(wanted) from None
    if parts.scheme != "http" or not host or parts.path.strip("/") or parts.query or "#" in url:
        raise PeerError(wanted)
    if not all(letter.isascii() and letter.isprintable() and letter != " " for letter in url):
        raise PeerError(wanted)
    try:
        split_address(join_address(host, port))
    except PeerError:
        raise PeerError(wanted) from None
    user = f"{parts.netloc.rpartition('@')[0]}@" if "@" in parts.netloc else ""
    place = join_address(host, port)
    return Proxy(url=f"http://{user}{place}", shown=place, source=source)


def describe_route(address: str, proxy: Proxy | None) -> str:
    """The server's address for messages, with the proxy in between."""
    return address if proxy is None else f"{address} (through the proxy {proxy.shown})"
