"""Sessions of the pages: a one-time link or a password becomes a cookie."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Collection

MAX_SESSIONS = 64
SESSION_SECONDS = 12 * 3600.0
_LINK_BYTES = 32


class Sessions:
    """Open sessions, stored by the SHA-256 of their cookie; the oldest makes room for a new one.

    A session belongs to the user of this machine who opened it, where the kernel names that user:
    browsers send cookies to all ports, and another user may listen on one of them. `own_users` may
    open the one-time link. `on_link` receives every new one-time token, first when the pages start and again whenever one
    was used.
    """

    def __init__(
        self,
        password: str = "",
        on_link: Callable[[str], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
        own_users: Collection[int] = (),
    ) -> None:
        self._password, self._own_users = password, own_users
        self._on_link, self._clock = on_link, clock
        self._open: OrderedDict[bytes, tuple[float, int | None]] = OrderedDict()
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

    def open_with_token(self, token: str, user: int | None = None) -> str | None:
        """Open a session with the one-time token, which is then invalid; None if it is wrong, or if
        another user of this machine sends it.
        """
        if not self._token or not hmac.compare_digest(_digest(token), self._token):
            return None
        if user is not None and self._own_users and user not in self._own_users:
            return None
        self._token = b""
        cookie = self._open_session(user)
        self.offer_link()
        return cookie

    def open_with_password(self, password: str, user: int | None = None) -> str | None:
        """Open a session with the password; None if it is wrong."""
        return self._open_session(user) if self.is_password(password) else None

    def is_password(self, text: str) -> bool:
        """Whether a text is the password; never if there is none."""
        return bool(self._password) and hmac.compare_digest(_digest(text), _digest(self._password))

    def is_open(self, cookie: str) -> bool:
        """Whether a cookie belongs to an open session that has not expired."""
        found = self._open.get(_digest(cookie))
        return found is not None and self._clock() - found[0] < SESSION_SECONDS

    def belongs_to(self, cookie: str, find_user: Callable[[], int | None]) -> bool:
        """Whether an open session may be used by the caller; `find_user` names it."""
        found = self._open.get(_digest(cookie))
        if found is None or not self.is_open(cookie):
            return False
        return found[1] is None or found[1] == find_user()

    def close(self, cookie: str) -> None:
        """End a session."""
        self._open.pop(_digest(cookie), None)

    def _open_session(self, user: int | None) -> str:
        cookie = secrets.token_urlsafe(_LINK_BYTES)
        self._open[_digest(cookie)] = self._clock(), user
        while len(self._open) > MAX_SESSIONS:
            self._open.popitem(last=False)
        return cookie


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
