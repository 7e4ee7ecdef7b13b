"""Sessions of the pages: a one-time link or a password becomes a cookie."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable

MAX_SESSIONS = 64
SESSION_SECONDS = 12 * 3600.0
_LINK_BYTES = 32


class Sessions:
    """Open sessions, stored by the SHA-256 of their cookie; the oldest makes room for a new one.

    `on_link` receives every new one-time token, first when the pages start and again whenever one
    was used.
    """

    def __init__(
        self,
        password: str = "",
        on_link: Callable[[str], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._password = password
        self._on_link, self._clock = on_link, clock
        self._open: OrderedDict[bytes, float] = OrderedDict()
        self._token = b""

    @property
    def has_password(self) -> bool:
        """Whether one logs in with a password."""
        return bool(self._password)

    def offer_link(self) -> None:
        """Make a new one-time token, if this machine's user may open a link."""
        if self._on_link is not None:
            token = secrets.token_urlsafe(_LINK_BYTES)
            self._token = _digest(token)
            self._on_link(token)

    def open_with_token(self, token: str) -> str | None:
        """Open a session with the one-time token, which is then invalid; None if it is wrong."""
        if not self._token or not hmac.compare_digest(_digest(token), self._token):
            return None
        self._token = b""
        cookie = self._open_session()
        self.offer_link()
        return cookie

    def open_with_password(self, password: str) -> str | None:
        """Open a session with the password; None if it is wrong."""
        return self._open_session() if self.is_password(password) else None

    def is_password(self, text: str) -> bool:
        """Whether a text is the password; never if there is none."""
        return bool(self._password) and hmac.compare_digest(_digest(text), _digest(self._password))

    def is_open(self, cookie: str) -> bool:
        """Whether a cookie belongs to an open session that has not expired."""
        began = self._open.get(_digest(cookie))
        return began is not None and self._clock() - began < SESSION_SECONDS

    def close(self, cookie: str) -> None:
        """End a session."""
        self._open.pop(_digest(cookie), None)

    def _open_session(self) -> str:
        cookie = secrets.token_urlsafe(_LINK_BYTES)
        self._open[_digest(cookie)] = self._clock()
        while len(self._open) > MAX_SESSIONS:
            self._open.popitem(last=False)
        return cookie


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
