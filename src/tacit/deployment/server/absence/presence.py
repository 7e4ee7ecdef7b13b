"""Which sites can be reached, and for how long the others have been absent.

A site that leaves costs a short grace once. While it stays absent, later exchanges do not wait for
it; when it returns it is asked again.
"""

from __future__ import annotations

from collections.abc import Mapping

SECONDS_BETWEEN_LOOKS = 1.0
"""How often the transport is asked who is online while a request waits for replies."""


class Presence:
    """The sites that are absent, each with the time at which its absence was noticed."""

    def __init__(self, grace: float) -> None:
        self.grace = grace
        self._online: dict[str, bool] = {}
        self._absent_since: dict[str, float] = {}

    def update(self, online: Mapping[str, bool], now: float) -> None:
        """Take who is online now; a site that is not listed is not registered at the server."""
        self._online = dict(online)
        for site in [site for site in self._absent_since if online.get(site)]:
            del self._absent_since[site]
        for site in online:
            if not online[site]:
                self._absent_since.setdefault(site, now)

    def is_online(self, site: str) -> bool:
        """Whether a site could be reached at the last look."""
        return self._online.get(site, False)

    def is_registered(self, site: str) -> bool:
        """Whether the server admits the site."""
        return site in self._online

    def has_left(self, site: str, now: float) -> bool:
        """Whether a site has been absent for the whole grace, so that nobody waits for it."""
        return not self.is_registered(site) or (
            not self.is_online(site) and self.count_seconds_left(site, now) <= 0
        )

    def count_seconds_left(self, site: str, now: float) -> float:
        """How much of its grace a site has left."""
        return self.grace - (now - self._absent_since.get(site, now))
