"""The gate in front of every page: it checks host, origin, method, session and size of a request, and
adds the security headers to every response.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tacit.ui.access.addresses import ListenAddress
from tacit.ui.access.peers import find_peer_user
from tacit.ui.access.rate_limit import LoginLimit
from tacit.ui.access.sessions import Sessions

LOGIN = "/login"
STATIC = "/static/"
METRICS = "/metrics"
MAX_BODY_BYTES = 64 * 1024
BODY_SECONDS = 10.0
"""Longest time that a form may take to arrive."""
_FORM = "application/x-www-form-urlencoded"
_EMPTY_STYLE = "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
"""Plotly adds an empty style element and fills it with rules; this is the hash of no text at all."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' "
    + _EMPTY_STYLE
    + "; img-src 'self' data: blob:; connect-src 'self'; form-action 'self'; base-uri 'none';"
    " frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    # Not no-referrer, with which browsers send the origin "null" with forms.
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


@dataclass(kw_only=True)
class PageAccess:
    """Everything that decides who may open the pages."""

    address: ListenAddress
    sessions: Sessions
    limit: LoginLimit = field(default_factory=LoginLimit)

    @property
    def cookie(self) -> str:
        """Name of the cookie; browsers send cookies to all ports of a machine."""
        prefix = "__Host-" if self.address.certificate else ""
        return f"{prefix}tacit-{self.address.port}"


class Gate:
    """ASGI middleware that refuses requests before any page sees them."""

    def __init__(self, app: ASGIApp, access: PageAccess) -> None:
        self.app, self.access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request, or pass it to the pages."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        refusal = self._refuse(scope)
        answer = refusal or self.app
        await answer(scope, _LimitedBody(receive), _add_headers(send, scope["path"]))

    def _refuse(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in self.access.address.hosts:
            return _refusal(421, "This page is not available under that host name.")
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return _refusal(405, "Only GET and POST are allowed.")
        refused = _refuse_other_sites(scope, headers, self.access.address.scheme, hosts[0])
        if refused:
            return refused
        if scope["method"] == "POST":
            refused = _refuse_form(headers)
            if refused:
                return refused
        path = scope["path"]
        if path == METRICS:
            return self._refuse_metrics(scope, headers)
        if path == LOGIN or path.startswith(STATIC) or find_session(self.access, scope):
            return None
        if scope["method"] == "POST" or "text/html" not in headers.get("accept", ""):
            return _refusal(401, "Log in first.")
        return RedirectResponse(LOGIN, status_code=303)

    def _refuse_metrics(self, scope: Scope, headers: Headers) -> Response | None:
        """Metrics have no log-in page: without a password the address is a loopback one, and anybody
        on this machine may read them; with one, each request carries it as a bearer token.
        """
        sessions, limit = self.access.sessions, self.access.limit
        if not sessions.has_password or find_session(self.access, scope):
            return None
        address = (scope.get("client") or ("",))[0]
        if limit.seconds_to_wait(address) > 0:
            return _refusal(429, "Too many failed log-ins. Wait a minute, then try again.")
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and sessions.is_password(given.strip()):
            return None
        if given:
            limit.count_failure(address)
        return _refusal(401, "Send the password as a bearer token.")


def find_session(access: PageAccess, scope: Scope) -> str | None:
    """The cookie of the caller's open session, if there is one."""
    for line in Headers(scope=scope).getlist("cookie"):
        try:
            found = SimpleCookie(line).get(access.cookie)
        except CookieError:
            continue
        if found is not None and access.sessions.belongs_to(
            found.value, lambda: find_peer_user(scope)
        ):
            return found.value
    return None


def _refuse_other_sites(scope: Scope, headers: Headers, scheme: str, host: str) -> Response | None:
    """Refuse what a page of another origin sends; a link to a page here is allowed."""
    refusal = _refusal(403, "Another site sent this request.")
    origin = headers.get("origin")
    own = f"{scheme}://{host.lower()}"
    if scope["method"] == "POST" and origin is None:
        return refusal
    if origin is not None and origin.lower() != own:
        return refusal
    sender = headers.get("sec-fetch-site", "none")
    is_link = (
        scope["method"] == "GET"
        and headers.get("sec-fetch-mode") == "navigate"
        and headers.get("sec-fetch-dest", "document") == "document"
    )
    if sender not in ("same-origin", "none") and not is_link:
        return refusal
    return None


def _refuse_form(headers: Headers) -> Response | None:
    if headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM:
        return _refusal(415, f"A form must be {_FORM}.")
    size = headers.get("content-length", "")
    if not size.isdecimal() or len(size) > 9 or int(size) > MAX_BODY_BYTES:
        return _refusal(413, f"A form must state its length, at most {MAX_BODY_BYTES} bytes.")
    return None


def _refusal(status: int, sentence: str) -> Response:
    return PlainTextResponse(sentence + "\n", status_code=status)


class _LimitedBody:
    """Receives a request body up to a limit of size and time; a longer one ends as if the caller had
    gone.
    """

    def __init__(self, receive: Receive) -> None:
        self._receive, self._bytes, self._is_whole = receive, 0, False
        self._until = time.monotonic() + BODY_SECONDS

    async def __call__(self) -> Message:
        if self._is_whole:
            return await self._receive()
        left = self._until - time.monotonic()
        try:
            message = await asyncio.wait_for(self._receive(), max(0.0, left))
        except TimeoutError:
            return {"type": "http.disconnect"}
        self._bytes += len(message.get("body", b""))
        self._is_whole = not message.get("more_body", False)
        return {"type": "http.disconnect"} if self._bytes > MAX_BODY_BYTES else message


def _add_headers(send: Send, path: str) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers[name] = value
            headers.setdefault("cache-control", "no-store")
        await send(message)

    return send_with_headers
